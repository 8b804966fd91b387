/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: `fuzz_x DIR [ROUNDS]` gives it every
 * file of the corpus DIR as it is, then ROUNDS mutations of each (bit flips,
 * other bytes, truncations, splices with another file), the same ones every
 * time. Inputs have a heap block of exactly their size, so that a sanitizer
 * sees what reads behind them.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "testlib.h"

#define SEEDS_MAX 64
#define SEED_BYTES_MAX (1u << 20)
#define DEFAULT_ROUNDS 2000

struct seed {
	char name[256];
	u8 *data;
	size_t len;
};

struct corpus {
	struct seed seeds[SEEDS_MAX];
	size_t nr;
};

static void fatal(const char *what, const char *name)
{
	(void)fprintf(stderr, "%s: %s\n", name, what);
	exit(2);
}

static void seed_load(struct seed *s, const char *dir, const char *name)
{
	char path[1024];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	f = fopen(path, "rb");
	if (!f)
		fatal("cannot open", path);
	s->data = mem_alloc(SEED_BYTES_MAX);
	if (!s->data)
		fatal("no memory", path);
	s->len = fread(s->data, 1, SEED_BYTES_MAX, f);
	if (ferror(f) || !feof(f))
		fatal("cannot read, or too large", path);
	(void)fclose(f);
}

static int seed_compare(const void *a, const void *b)
{
	return strcmp(((const struct seed *)a)->name,
		      ((const struct seed *)b)->name);
}

static void corpus_load(struct corpus *c, const char *dir)
{
	struct dirent *de;
	DIR *d = opendir(dir);

	if (!d)
		fatal("no such corpus", dir);
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		if (c->nr == SEEDS_MAX)
			fatal("too many seeds", dir);
		seed_load(&c->seeds[c->nr++], dir, de->d_name);
	}
	(void)closedir(d);
	if (!c->nr)
		fatal("empty corpus", dir);
	/* The same order everywhere, so the same mutations. */
	qsort(c->seeds, c->nr, sizeof(c->seeds[0]), seed_compare);
}

static void replay(const u8 *data, size_t len)
{
	u8 *exact = mem_alloc(len);

	if (!exact)
		fatal("no memory", "replay");
	if (len)
		memcpy(exact, data, len);
	(void)LLVMFuzzerTestOneInput(exact, len);
	mem_free(exact);
}

/* @work has room for two seeds. */
static size_t mutate(const struct corpus *c, const struct seed *s,
		     struct rng *r, u8 *work)
{
	const struct seed *other = &c->seeds[rng_below(r, c->nr)];
	size_t len = s->len, at, i, k = 1 + rng_below(r, 4);

	memcpy(work, s->data, len);
	switch (rng_below(r, 5)) {
	case 0:
		for (i = 0; len && i < k; i++)
			work[rng_below(r, len)] ^= (u8)(1u << rng_below(r, 8));
		break;
	case 1:
		for (i = 0; len && i < k; i++)
			work[rng_below(r, len)] = (u8)rng_next(r);
		break;
	case 2:
		len = rng_below(r, len + 1);
		break;
	case 3:		/* a head of this, a tail of the other */
		at = rng_below(r, len + 1);
		i = rng_below(r, other->len + 1);
		memcpy(work + at, other->data + i, other->len - i);
		len = at + other->len - i;
		break;
	default:	/* a byte that means much: 0, 7f, 80, ff */
		if (len)
			work[rng_below(r, len)] =
				(u8[]){ 0, 0x7f, 0x80, 0xff }[k - 1];
	}
	return len;
}

int main(int argc, char **argv)
{
	static struct corpus c;
	struct rng r = { 1 };
	u64 rounds = DEFAULT_ROUNDS, n;
	size_t i;
	u8 *work;

	if (argc < 2)
		fatal("usage: fuzz_x CORPUS-DIRECTORY [ROUNDS]", argv[0]);
	if (argc > 2)
		rounds = strtoull(argv[2], NULL, 10);
	corpus_load(&c, argv[1]);
	work = mem_alloc(2 * SEED_BYTES_MAX);
	if (!work)
		fatal("no memory", argv[0]);
	replay(NULL, 0);
	for (i = 0; i < c.nr; i++) {
		replay(c.seeds[i].data, c.seeds[i].len);
		for (n = 0; n < rounds; n++)
			replay(work, mutate(&c, &c.seeds[i], &r, work));
	}
	for (i = 0; i < c.nr; i++)
		mem_free(c.seeds[i].data);
	mem_free(work);
	(void)printf("%zu seeds, %llu mutations of each\n", c.nr,
		     (unsigned long long)rounds);
	return 0;
}
