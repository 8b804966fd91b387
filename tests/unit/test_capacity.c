/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calculators: every row and cell of the published tables, exactly as printed;
 * block sizes, sharing, the pool's model, plans; numbers at their limits and
 * hostile input.
 */
#include "testlib.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capacity.h"
#include "capacity_json.h"
#include "capacity_pool.h"
#include "capacity_sun.h"
#include "capacity_units.h"
#include "capacity_zfs.h"
#include "cli_table.h"

#define OUT_BYTES (256 * 1024)

struct ran {
	int err;
	struct akin_diag diag;
	struct cap_text out;
	char text[OUT_BYTES];
};
static struct ran ran;

/* @line: words with blanks between; an estimate for plan, or NULL. */
static void calculate_with(const char *line, const char *estimate)
{
	struct cap_request r = { 0 };
	char *copy = strdup(line), *p;

	for (p = copy; *p; p++) {
		if (*p == ' ')
			*p = '\n';
	}
	memset(&ran.diag, 0, sizeof(ran.diag));
	cap_text_init(&ran.out, ran.text, sizeof(ran.text));
	ran.err = cap_request_parse(copy, &r, &ran.diag);
	r.estimate = estimate;
	r.estimate_len = estimate ? strlen(estimate) : 0;
	if (!ran.err)
		ran.err = cap_run(&r, &ran.out, &ran.diag);
	free(copy);
	assert_true(ran.err == 0 || ran.diag.code == ran.err);
	assert_false(ran.out.cut);
}

static void calculate(const char *line)
{
	calculate_with(line, NULL);
	if (ran.err)
		fail_msg("%s: %s", line, ran.diag.text);
}

static void assert_says(const char *part)
{
	if (!strstr(ran.text, part))
		fail_msg("no '%s' in:\n%s", part, ran.text);
}

static void assert_refused(const char *line, const char *part)
{
	calculate_with(line, NULL);
	if (ran.err != -AKIN_E_usage || !strstr(ran.diag.text, part))
		fail_msg("%s: %d '%s'\n%s", line, ran.err, ran.diag.text,
			 ran.text);
}

static FILE *open_vectors(const char *name)
{
	const char *root = getenv("AKIN_SOURCE_ROOT");
	char path[1024];
	FILE *f;

	if (!root) {
		print_message("# skipped: AKIN_SOURCE_ROOT is not set\n");
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/tests/vectors/%s", root, name);
	f = fopen(path, "r");
	assert_non_null(f);
	return f;
}

/* Sun Storage 7000 ----------------------------------------------------------*/

static void read_step(const char *word, struct cap_sun_step *s)
{
	char *end;

	s->nr_jbods = 0;
	for (;; word = end + 1) {
		s->disks[s->nr_jbods++] = (uint8_t)strtoul(word, &end, 10);
		if (*end != '+')
			break;
	}
}

static void check_sun_row(char *line)
{
	char jbods[128], profile[32], nspf[8], usable[16], text[32];
	unsigned width, spares, data, raw, i;
	struct cap_sun_layout l;
	struct cap_sun_step s;
	struct cap_text t;

	assert_int_equal(sscanf(line, "%127[^\t]\t%31[^\t]\t%7s %u %u %u %u "
				"%15s", jbods, profile, nspf, &width, &spares,
				&data, &raw, usable), 8);
	read_step(jbods, &s);
	for (i = 0; strcmp(cap_sun_rules[i].name, profile) != 0; i++)
		assert_true(i + 1 < CAP_SUN_NR_PROFILES);
	if (!cap_sun_allocate(&s, i, strcmp(nspf, "True") == 0, &l))
		fail_msg("not possible: %s", line);
	if (l.width != width || l.spares != spares || l.data != data ||
	    l.raw != raw)
		fail_msg("%u %u %u %u, not %s", l.width, l.spares, l.data,
			 l.raw, line);
	cap_text_init(&t, text, sizeof(text));
	cap_put(&t, "%F", cap_sun_usable_x64(raw * CAP_TB), 64 * CAP_TIB, 2);
	assert_string_equal(text, usable);
}

static void test_sun_vectors(void **state)
{
	FILE *f = open_vectors("sun7000_sizecalc.tsv");
	char line[512];
	unsigned nr = 0;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		check_sun_row(line);
		nr++;
	}
	fclose(f);
	assert_int_equal(nr, 61);
}

static void test_sun_nspf(void **state)
{
	struct cap_sun_step s;
	struct cap_sun_layout l;
	unsigned i;

	read_step("24", &s);
	for (i = 0; i < CAP_SUN_NR_PROFILES; i++)
		assert_false(cap_sun_allocate(&s, i, true, &l));
	read_step("24+24+24", &s);
	assert_false(cap_sun_allocate(&s, CAP_SUN_RAIDZ1, true, &l));
	assert_false(cap_sun_allocate(&s, CAP_SUN_STRIPE, true, &l));
	assert_true(cap_sun_allocate(&s, CAP_SUN_MIRROR, true, &l));
	/* One large JBOD and two tiny ones do not spread. */
	read_step("24+1+1", &s);
	assert_false(cap_sun_allocate(&s, CAP_SUN_MIRROR, true, &l));
	read_step("3", &s);
	assert_true(cap_sun_allocate(&s, CAP_SUN_MIRROR, false, &l));
	assert_false(cap_sun_allocate(&s, CAP_SUN_RAIDZ1, false, &l));
}

/* The table that was printed for two halves, the first with a log device, and
 * a full JBOD, one after another. */
static void test_sun_steps(void **state)
{
	calculate("sun7000 1 h1 add 1 h add 1");
	assert_says("11, then 12, then 24");
	assert_says("mirror        no         2       5           42"
		    "      21.00         18.80\n");
	assert_says("raidz1        no         4      11           36"
		    "      27.00         24.17\n");
	assert_says("raidz2        no     10-11       4           43"
		    "      35.00         31.33\n");
	assert_says("raidz2 wide   no     10-23       3           44"
		    "      38.00         34.02\n");
	assert_says("stripe        no         -       0           47"
		    "      47.00         42.08\n");
	assert_null(strstr(ran.text, "yes"));
	calculate("sun7000 12 4 4 --json");
	assert_says("{\"type\":\"profile\",\"profile\":\"raidz2 wide\","
		    "\"nspf\":true,\"width\":23,\"width_max\":23,\"spares\":4,"
		    "\"data_drives\":276,\"raw_tb\":252.00,"
		    "\"raw_bytes\":252000000000000,\"usable_tib\":225.61,");
	calculate("sun7000 12h --disk=2TB");
	assert_says("raidz2 wide   yes       20       4          140"
		    "     252.00        225.61\n");
}

static void test_sun_sas(void **state)
{
	calculate("sun7000 8/8/8 12/2/10");
	assert_says("Pool 1, data disks of each JBOD: 8+12");
	assert_says("Pool 3, data disks of each JBOD: 8+10");
	calculate("sun7000 8/8/8 12/2/10 --json");
	assert_says("\"pool\":2,\"profile\":\"mirror\",\"nspf\":false,"
		    "\"width\":2,\"width_max\":2,\"spares\":2,"
		    "\"data_drives\":8,");
	assert_refused("sun7000 8/8 12/2/10", "names 2 pools, '12/2/10' 3");
	assert_refused("sun7000 8/8/9", "needs 25 slots");
	assert_refused("sun7000 0/8", "pool 1 has no disks");
	assert_refused("sun7000 8/x", "'8/x' is no JBOD");
	assert_refused("sun7000 8/8 add 8/8", "'add' is no JBOD");
}

static void test_sun_refuses(void **state)
{
	assert_refused("sun7000", "how many JBODs?");
	assert_refused("sun7000 0", "'0' is no number of JBODs");
	assert_refused("sun7000 97", "'97' is no number");
	assert_refused("sun7000 1 4 4", "'4' is one JBOD more than the 1");
	assert_refused("sun7000 1 25", "'25' is no JBOD");
	assert_refused("sun7000 1 h13", "'h13' is no JBOD");
	assert_refused("sun7000 1 add", "behind 'add'");
	assert_refused("sun7000 1 24", "nothing but log devices");
	assert_refused("sun7000 1 --disk=4XB", "'4XB' is not a size");
	assert_refused("sun7000 1 --disk=0", "no bytes");
	assert_refused("sun7000 1 --ashift=12", "--ashift means nothing");
}

/* OpenZFS -------------------------------------------------------------------*/

static void check_zfs_row(char *line)
{
	struct cap_zfs_config c = { .nr_groups = 1, .ashift = 12,
				    .slop_shift = 5, .recordsize = 131072 };
	struct cap_zfs_group *g = &c.groups[0];
	char disk[16], layout[32], usable[16], text[32];
	struct cap_zfs_pool pool;
	unsigned bad;
	struct cap_text t;
	size_t n;

	assert_int_equal(sscanf(line, "%13[^\t]\t%31[^\t]\t%u %15s", disk,
				layout, &g->nr_vdevs, usable), 4);
	memcpy(disk + strlen(disk), "TB", 3);
	assert_int_equal(cap_parse_size(disk, &g->disk), 0);
	g->layout = CAP_ZFS_RAIDZ;
	if (sscanf(layout, "%u-wide raidz%u", &g->children, &g->parity) != 2) {
		assert_int_equal(sscanf(layout, "%u-way m", &g->children), 1);
		g->layout = CAP_ZFS_MIRROR;
	}
	assert_int_equal(cap_zfs_calculate(&c, &pool, &bad), 0);
	cap_text_init(&t, text, sizeof(text));
	cap_put(&t, "%F", pool.available, CAP_TIB, 3);
	/* The table drops trailing zeros. */
	for (n = strlen(text); text[n - 1] == '0'; n--)
		text[n - 1] = 0;
	if (strcmp(text, usable) != 0)
		fail_msg("%s, not %s", text, line);
}

static void test_zfs_vectors(void **state)
{
	FILE *f = open_vectors("openzfs_capacity_24disks.tsv");
	char line[512];
	unsigned nr = 0;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		check_zfs_row(line);
		nr++;
	}
	fclose(f);
	assert_int_equal(nr, 104);
}

static void test_zfs_blocks(void **state)
{
	static const unsigned sizes[] = { 4, 8, 16, 32, 64, 128, 1024 };
	static const struct {
		unsigned width, parity, deflate, allocated[7];
	} rows[] = {
		{ 3, 1, 341, { 8192, 16384, 24576, 49152, 98304, 196608,
			       1572864 } },
		{ 5, 1, 409, { 8192, 16384, 24576, 40960, 81920, 163840,
			       1310720 } },
		{ 6, 2, 341, { 12288, 24576, 24576, 49152, 98304, 196608,
			       1572864 } },
		{ 7, 2, 341, { 12288, 24576, 24576, 49152, 98304, 196608,
			       1474560 } },
		{ 10, 2, 390, { 12288, 24576, 24576, 49152, 86016, 172032,
				1314816 } },
		{ 11, 3, 372, { 16384, 32768, 32768, 49152, 98304, 180224,
				1441792 } },
	};
	struct cap_zfs_group g = { .layout = CAP_ZFS_RAIDZ };
	struct cap_zfs_block b;
	size_t i, j;

	for (i = 0; i < CAP_ARRAY_SIZE(rows); i++) {
		g.children = rows[i].width;
		g.parity = rows[i].parity;
		for (j = 0; j < 7; j++) {
			cap_zfs_block(&g, 12, sizes[j] * 1024, &b);
			assert_int_equal(b.allocated, rows[i].allocated[j]);
		}
		assert_int_equal(131072 / (rows[i].allocated[5] / 512),
				 rows[i].deflate);
	}
	g = (struct cap_zfs_group){ .layout = CAP_ZFS_DRAID, .children = 24,
				    .parity = 2, .data = 8, .spares = 1 };
	cap_zfs_block(&g, 12, 4096, &b);
	assert_int_equal(b.allocated, 10 * 4096);
	assert_int_equal(b.padding, 7);
	cap_zfs_block(&g, 12, 131072, &b);
	assert_int_equal(b.allocated, 40 * 4096);
}

/* By hand: draid2:8d:24c:1s of 4 TB. */
static void test_zfs_draid(void **state)
{
	uint64_t leaf = 4000000000000u / 262144 * 262144 - (4608u << 10);
	uint64_t child = (leaf - (32u << 20)) >> 24 << 24;
	uint64_t asize = child * 23 / (10u << 24) * (10u << 24);
	uint64_t got = 0, usable = 0, start, i, nr = asize >> 34;
	char *at;

	calculate("zfs draid2:8d:24c:1s@4TB --explain --json");
	at = strstr(ran.text, "(8 + 2) x 16 MiB: ");
	assert_non_null(at);
	for (at += 18; *at != ' '; at++) {
		if (*at != ',')
			got = got * 10 + (uint64_t)(*at - '0');
	}
	assert_int_equal(got, asize);
	/* Metaslabs of 16 GiB, from and to rows of ten sectors. */
	for (i = 0; i < nr; i++) {
		start = ((i << 34) + 40959) / 40960 * 40960;
		usable += (((i + 1) << 34) - start) / 40960 * 40960;
	}
	at = strstr(ran.text, "\"usable_bytes\":");
	assert_int_equal(strtoull(at + 15, NULL, 10), usable);
	assert_says("\"metaslab_bytes\":17179869184");
	calculate("zfs draid2:24c:1s@4TB --json");
	assert_says("\"vdev\":\"draid2:8d:24c:1s\"");
	calculate("zfs draid:4c@4TB --json");
	assert_says("\"vdev\":\"draid1:3d:4c:0s\"");
}

static void test_zfs_pools(void **state)
{
	calculate("zfs 2xraidz2:6@4TB 2xraidz2:6@4TB");
	assert_says("57.985 TiB");
	calculate("zfs 4xraidz2:6 --disk=4TB --explain");
	assert_says("1. a disk: 4,000,000,000,000 B");
	assert_says("341 of 512");
	calculate("zfs stripe:3 --disk=64MiB --json");
	assert_says("\"type\":\"summary\"");
	/* A TrueNAS disk loses 2 GiB to swap. */
	calculate("zfs mirror@18TB --disk-loss=2147483648 --explain");
	assert_says("2,147,483,648 B lost");
	calculate("zfs raidz3:255@1024ZiB");
	assert_says("YiB");
	calculate("zfs raidz1:3@4TB --ashift=16 --recordsize=16M");
	calculate("zfs raidz1:3@4TB --ashift=9 --recordsize=512");
}

static void test_zfs_refuses(void **state)
{
	assert_refused("zfs", "which vdevs?");
	assert_refused("zfs raidz2:6", "how large are the disks");
	assert_refused("zfs raidz2 --disk=4TB", "how many disks");
	assert_refused("zfs raidz3:3 --disk=4TB", "more than it has parity");
	assert_refused("zfs raidz4:9 --disk=4TB", "");
	assert_refused("zfs mirror:0 --disk=4TB", "1 to 255");
	assert_refused("zfs mirror:256 --disk=4TB", "1 to 255");
	assert_refused("zfs 0xmirror --disk=4TB", "1x to 1024x");
	assert_refused("zfs 1024xmirror --disk=4TB", "more than 1024 disks");
	assert_refused("zfs draid2:8d --disk=4TB", "how many children");
	assert_refused("zfs draid2:8d:10c:1s --disk=4TB", "fewer children");
	assert_refused("zfs draid2:8x:10c --disk=4TB", "dRAID counts");
	assert_refused("zfs jbod:4 --disk=4TB", "no layout of ZFS");
	assert_refused("zfs mirror:2y --disk=4TB", "no layout of ZFS");
	assert_refused("zfs mirror@1K", "too small");
	assert_refused("zfs mirror@4TB --recordsize=100K", "no power of two");
	assert_refused("zfs mirror@4TB --ashift=17", "from 9 to 16");
	assert_refused("zfs 1024xstripe@1024ZiB raidz3:9@1024ZiB", "2^90");
	assert_refused("zfs mirror@4TB --keep=3", "--keep means nothing");
	assert_non_null(strstr(ran.diag.hint, "--recordsize"));
}

/* NetApp --------------------------------------------------------------------*/

static void test_netapp(void **state)
{
	calculate("netapp --data=100GiB --distinct=4KiB --release=8.0 --json");
	assert_says("\"logical_blocks\":26214400,\"physical_blocks\":102802,"
		    "\"physical_bytes\":421076992,");
	calculate("netapp --data=100GiB --distinct=4KiB --release=8.1");
	assert_says("801");
	assert_says("3.13 MiB");
	calculate("netapp --data=2000KiB --distinct=4KiB --release=7.3 --json");
	assert_says("\"logical_blocks\":500,\"physical_blocks\":2,");
	calculate("netapp --data=256000KiB --distinct=4KiB --json");
	assert_says("\"logical_blocks\":64000,\"physical_blocks\":2,");
	calculate("netapp --used=289150724K --saved=356485168K");
	assert_says("%saved                     55%");
	calculate("netapp --used=0 --saved=0");
	assert_says("%saved                     0%");
	calculate("netapp --data=1024ZiB --distinct=1 --json");
	assert_says("\"physical_blocks\":9007474141036801");
	assert_refused("netapp", "how much data?");
	assert_refused("netapp --used=5", "belong together");
	assert_refused("netapp --data=4K --distinct=8K", "at most 4.00 KiB");
	assert_refused("netapp --data=4K --release=9", "7.2");
	assert_refused("netapp --data=0", "at least a byte");
}

/* akin's pools --------------------------------------------------------------*/

static struct cap_pool sample_pool(void)
{
	struct cap_pool p = { .data = 8192e9, .dedup = 1, .compression = 1,
			      .change = 0, .growth = 0, .keep = { .days = 10 },
			      .chunk = 8192 };

	cap_pool_prepare(&p);
	return p;
}

static void test_pool_by_hand(void **state)
{
	struct cap_pool p = sample_pool();
	struct cap_pool_need n;

	cap_pool_at(&p, 0, &n);
	assert_int_equal(n.versions, 1);
	assert_true(n.unique == 8192e9 && n.chunks == 1e9);
	assert_true(n.recipes == 36e9);
	assert_true(fabs(n.directories - 35e9 - 192 * 976563.5) < 200);
	assert_true(fabs(n.index - 1e9 * 4096 / 204) < 1);
	/* Nothing changes: ten versions take what one takes. */
	cap_pool_at(&p, 100, &n);
	assert_int_equal(n.versions, 10);
	assert_true(n.unique == 8192e9 && n.logical == 81920e9);

	p.change = 0.5;
	p.keep = (struct cap_keep){ .days = 2, .weeks = 1 };
	cap_pool_at(&p, 7, &n);
	/* Ages 0, 1, 7: all, half, 1 - 1/64. */
	assert_int_equal(n.versions, 3);
	assert_true(n.unique == 8192e9 * (1 + 0.5 + 1 - 1.0 / 64));
	cap_pool_at(&p, 6, &n);
	assert_int_equal(n.versions, 2);

	p.dedup = 2;
	p.compression = 4;
	cap_pool_at(&p, 0, &n);
	assert_true(n.stored == 8192e9 / 8);
	/* The newest 4 times smaller, what only the others have 16 times. */
	p.change_compression = 16;
	cap_pool_at(&p, 7, &n);
	assert_true(n.older == 4096e9 * (0.5 + 1 - 1.0 / 64));
	assert_true(n.stored == 4096e9 / 4 + n.older / 16);

	p = sample_pool();
	p.growth = 1;
	cap_pool_prepare(&p);
	cap_pool_at(&p, 365, &n);
	assert_true(fabs(n.data / 16384e9 - 1) < 1e-9);
}

static void test_pool_keep(void **state)
{
	struct cap_keep k;
	struct cap_pool p = sample_pool();
	struct cap_pool_need n;
	char text[32];
	struct cap_text t;

	assert_int_equal(cap_parse_keep("7d4w12m3y", &k), 0);
	assert_int_equal(cap_pool_versions(&k), 26);
	p.keep = k;
	/* Weekly 7..28, monthly 30..360, yearly 365, 730, 1095. */
	cap_pool_at(&p, 29, &n);
	assert_int_equal(n.versions, 11);
	cap_pool_at(&p, 30, &n);
	assert_int_equal(n.versions, 12);
	cap_pool_at(&p, 364, &n);
	assert_int_equal(n.versions, 23);
	cap_pool_at(&p, 1095, &n);
	assert_int_equal(n.versions, 26);
	cap_text_init(&t, text, sizeof(text));
	cap_put_keep(&t, &k);
	assert_string_equal(text, "7d4w12m3y");
	assert_int_equal(cap_parse_keep("14", &k), 0);
	assert_int_equal(k.days, 14);
	assert_int_equal(cap_parse_keep("", &k), -1);
	assert_int_equal(cap_parse_keep("0d", &k), -1);
	assert_int_equal(cap_parse_keep("4w7d", &k), -1);
	assert_int_equal(cap_parse_keep("7d4", &k), -1);
	assert_int_equal(cap_parse_keep("7x", &k), -1);
	assert_int_equal(cap_parse_keep("36501", &k), -1);
}

static void test_pool_full(void **state)
{
	struct cap_pool p = sample_pool();
	struct cap_pool_need n, m;
	unsigned day, full;
	double last = 0;

	p.change = 0.02;
	p.growth = 0.3;
	p.keep = (struct cap_keep){ .days = 7, .weeks = 4, .years = 2 };
	cap_pool_prepare(&p);
	for (day = 0; day < 4000; day += 13) {
		cap_pool_at(&p, day, &n);
		assert_true(n.disk >= last);
		last = n.disk;
	}
	cap_pool_at(&p, 1000, &n);
	full = cap_pool_full(&p, n.disk, n.meta_disk);
	assert_int_equal(full, 1001);
	cap_pool_at(&p, full, &m);
	assert_true(m.disk > n.disk);
	assert_int_equal(cap_pool_full(&p, 1, 0), 0);
	p.growth = 0;
	cap_pool_prepare(&p);
	assert_int_equal(cap_pool_full(&p, 1e15, 0), UINT32_MAX);
}

static void test_pool_ram(void **state)
{
	/* What docs/design/index.md says of 128 MiB: 1.1 million. */
	double chunks = 1.08e6;

	assert_true(cap_pool_ram(chunks, 0) < 134217728.0);
	assert_true(cap_pool_ram(chunks * 1.1, 0) > 134217728.0);
	assert_int_equal(cap_pool_ram_shift(chunks * 60, 134217728.0), 6);
	assert_int_equal(cap_pool_ram_shift(1e27, 0), 63);
	/* 1,024 chunks in 8 MiB: one in 256. */
	assert_int_equal(cap_pool_hook_shift(8192), 8);
	assert_int_equal(cap_pool_hook_shift(8193), 7);
	assert_int_equal(cap_pool_hook_shift(1 << 20), 1);
}

static void test_akin(void **state)
{
	calculate("akin --data=10TB --keep=30 --disk=20TB --from=2026-05-01 "
		  "--compression=1.5 --growth=20% --explain");
	assert_says("2026-05-01");
	assert_says("2029-04-30");
	assert_says("8. memory to know every chunk");
	calculate("akin --data=1 --years=100");
	calculate("akin --data=1024ZiB --change=100% --keep=36500 --years=1");
	calculate("akin --data=10TB --disk=1K");
	assert_says("by the first backup");
	assert_refused("akin", "how much data");
	assert_refused("akin --data=10TB --change=101%", "up to 100%");
	assert_refused("akin --data=10TB --change=0.01", "such as 1%");
	assert_refused("akin --data=10TB --dedup=0", "0.01");
	assert_refused("akin --data=10TB --change-compression=0", "0.01");
	assert_refused("akin --data=10TB --keep=x", "7d4w12m3y");
	assert_refused("akin --data=10TB --years=101", "from 1 to 100");
	assert_refused("akin --data=10TB --from=2026-02-29", "no date");
	assert_refused("akin --data=10TB --chunk-size=512", "1K to 1M");
	assert_refused("akin --data=10TB --growth=1000% --years=50", "2^90");
	assert_refused("akin --data=10TB --disk=0", "into no bytes");
	assert_refused("akin x --data=10TB", "options only");
}

/* Plans ---------------------------------------------------------------------*/

#define ESTIMATE "{\"type\":\"estimate\",\"version\":1," \
	"\"logical_bytes\":10000000000000,\"unique_bytes\":8000000000000," \
	"\"stored_bytes\":4000000000000,\"change_per_day\":0.02," \
	"\"chunk_bytes\":8192,\"growth_per_year\":1e-1,\"x\":[{\"y\":[]},{}]}\n"

/* What a series of states comes to. */
#define SERIES "{\"type\":\"estimate\",\"version\":1," \
	"\"logical_bytes\":10000000000000,\"unique_bytes\":8000000000000," \
	"\"stored_bytes\":4000000000000,\"chunk_bytes\":8192,\"states\":5," \
	"\"days_between\":1,\"change_per_day\":0.02," \
	"\"growth_per_year\":0.01,\"change_compression\":20}\n"

static void plan(const char *options, const char *estimate)
{
	char line[256];

	snprintf(line, sizeof(line), "plan %s", options);
	calculate_with(line, estimate);
}

static void test_plan(void **state)
{
	plan("--disk=20TB --from=2026-05-01", ESTIMATE);
	assert_int_equal(ran.err, 0);
	assert_true(strncmp(ran.text, "fits: ", 6) == 0);
	assert_says("until 20");
	assert_true(strchr(ran.text, '\n') == ran.text + ran.out.len - 1);

	plan("--disk=7TB --from=2026-05-01", ESTIMATE);
	assert_true(strncmp(ran.text, "does not fit: full on 20", 24) == 0);
	assert_says("would fit 3 years with a disk of ");
	assert_says("--keep ");
	assert_says("compression of ");
	assert_says("a change of ");
	assert_true(strchr(ran.text, '\n') == ran.text + ran.out.len - 1);

	plan("--disk=7TB --json", ESTIMATE "{\"type\":\"summary\"}");
	assert_says("\"fits\":false");
	plan("--disk=1TB", ESTIMATE);
	assert_says("by the first backup");
	/* With references what changes takes a fraction; an option counts
	 * more than the estimate. */
	plan("--disk=6TB --explain", SERIES);
	assert_true(strstr(ran.text, "fits: ") != NULL);
	assert_says("(compression of what changes)");
	plan("--disk=6TB --change-compression=2", SERIES);
	assert_true(strncmp(ran.text, "does not fit", 12) == 0);
	plan("--disk=20TB --ram=16M", ESTIMATE);
	assert_says("32.0 MiB");
	plan("--disk=20TB --meta-disk=10GB", ESTIMATE);
	assert_says("a metadata disk of ");
	assert_says("chunks of ");
}

/* What is offered does help. */
static void test_plan_ways_hold(void **state)
{
	char line[128], *at;
	unsigned days;

	plan("--disk=7TB", ESTIMATE);
	at = strstr(ran.text, "--keep ");
	assert_non_null(at);
	days = (unsigned)strtoul(at + 7, NULL, 10);
	snprintf(line, sizeof(line), "--disk=7TB --keep=%u", days);
	plan(line, ESTIMATE);
	assert_true(strncmp(ran.text, "fits", 4) == 0);
	snprintf(line, sizeof(line), "--disk=7TB --keep=%u", days + 1);
	plan(line, ESTIMATE);
	assert_true(strncmp(ran.text, "does", 4) == 0);
	plan("--disk=7TB", ESTIMATE);
	at = strstr(ran.text, "a disk of ");
	snprintf(line, sizeof(line), "--disk=%.4sTB", at + 10);
	plan(line, ESTIMATE);
	if (strncmp(ran.text, "fits", 4) != 0)
		fail_msg("%s: %s", line, ran.text);
}

static void test_plan_hostile(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{", "{}", "null", "{\"type\":\"estimate\"}",
		"{\"type\":\"estimate\",}", "{\"type\":\"estimate\" \"a\":1}",
		"{\"type\":\"estimate\",\"logical_bytes\":-1}",
		"{\"type\":\"estimate\",\"logical_bytes\":1,"
		"\"unique_bytes\":2,\"stored_bytes\":1}",
		"{\"type\":\"estimate\",\"logical_bytes\":1e999,"
		"\"unique_bytes\":2,\"stored_bytes\":1}",
		"{\"type\":\"estimate\",\"logical_bytes\":\"1\","
		"\"unique_bytes\":1,\"stored_bytes\":1}",
		"{\"type\":\"estimate\",\"version\":2,\"logical_bytes\":1,"
		"\"unique_bytes\":1,\"stored_bytes\":1}",
		"{\"type\":\"estimate\",\"logical_bytes\":1,\"unique_bytes\":1,"
		"\"stored_bytes\":1,\"change_per_day\":1.5}",
		"{\"type\":\"estimate\",\"logical_bytes\":1,\"unique_bytes\":1,"
		"\"stored_bytes\":1,\"change_compression\":0}",
		"{\"a\":[1,2}", "{\"a\":tru}", "{\"a\":01x}", "{\"a\":\"\n\"}",
		"{\"a\":1.}", "{\"a\":{\"b\"}}", "{\"a\":[,]}", "{\"a\":[1,]}",
	};
	char *deep = malloc(4096), *copy;
	size_t i, n = strlen(ESTIMATE);

	for (i = 0; i < CAP_ARRAY_SIZE(bad); i++) {
		plan("--disk=1TB", bad[i]);
		if (ran.err != -AKIN_E_usage)
			fail_msg("accepted: %s", bad[i]);
	}
	memset(deep, '[', 4095);
	deep[4095] = 0;
	memcpy(deep, "{\"a\":", 5);
	plan("--disk=1TB", deep);
	assert_int_equal(ran.err, -AKIN_E_usage);
	free(deep);
	/* Cut anywhere; in memory of exactly that length. */
	for (i = 0; i < n - 1; i++) {
		struct cap_request r = { .kind = CAP_PLAN };

		copy = malloc(i + 1);
		memcpy(copy, ESTIMATE, i);
		r.estimate = copy;
		r.estimate_len = i;
		r.params[CAP_DISK] = "1TB";
		cap_text_init(&ran.out, ran.text, sizeof(ran.text));
		memset(&ran.diag, 0, sizeof(ran.diag));
		assert_int_equal(cap_run(&r, &ran.out, &ran.diag),
				 -AKIN_E_usage);
		free(copy);
	}
	assert_refused("plan --disk=1TB", "which estimate?");
	plan("", ESTIMATE);
	assert_int_equal(ran.err, -AKIN_E_usage);
}

/* Numbers -------------------------------------------------------------------*/

static void assert_put_args(const char *expected, const char *fmt,
			    const struct cap_arg *args)
{
	char text[128];
	struct cap_text t;

	cap_text_init(&t, text, sizeof(text));
	cap_put_args(&t, fmt, args);
	assert_string_equal(text, expected);
}
#define assert_put(expected, ...) \
	assert_put_args(expected, CAP_FORMAT(__VA_ARGS__))

static void test_put(void **state)
{
	assert_put("a 5 x %", "%s %u %c %%", "a", 5u, 'x');
	assert_put("0 1234567 1,234,567 999", "%D %D %N %N", cap_n(0),
		   cap_n(1234567), cap_n(1234567), cap_n(999));
	assert_put("1,208,925,819,614,629,174,706,176", "%N", CAP_POW2(80));
	assert_put("0 B", "%I", cap_n(0));
	assert_put("1023 B|1.00 KiB|1023 KiB|1.00 MiB", "%I|%I|%I|%I",
		   cap_n(1023), cap_n(1024), cap_n(1023 * 1024),
		   cap_n(1024 * 1024 - 1));
	assert_put("999 B|1.00 kB|1.00 MB|9.99 kB|10.0 kB", "%S|%S|%S|%S|%S",
		   cap_n(999), cap_n(1000), cap_n(999999), cap_n(9994),
		   cap_n(9996));
	assert_put("3.64 TiB (4.00 TB)", "%B", 4 * CAP_TB);
	assert_put("1.00 YiB (1.21 YB)", "%B", CAP_POW2(80));
	assert_put("1024 YiB", "%I", CAP_POW2(90));
	assert_put("0.67|1.0|1|0.500", "%F|%F|%F|%F", cap_n(2), cap_n(3), 2,
		   cap_n(999), cap_n(1000), 1, cap_n(1), cap_n(2), 0,
		   cap_n(1), cap_n(2), 3);
	assert_put("0.00 2.5 10000000000000000000000", "%R %R %R", 0.001, 2,
		   2.45001, 1, 1e22, 0);
}

static void test_doubles(void **state)
{
	unsigned i;

	for (i = 0; i < 127; i++) {
		assert_true(cap_from_double(cap_to_double(CAP_POW2(i))) ==
			    CAP_POW2(i));
		assert_true(cap_to_double(CAP_POW2(i)) == ldexp(1, (int)i));
	}
	assert_true(cap_from_double(NAN) == 0);
	assert_true(cap_from_double(-5) == 0);
	assert_true(cap_from_double(INFINITY) == CAP_POW2(127));
	assert_true(cap_from_double(1.5) == 2);
	assert_true(cap_from_double(9007199254740993.0) == 9007199254740992u);
}

static void test_sizes(void **state)
{
	static const struct { const char *text; uint64_t high, low; } good[] = {
		{ "0", 0, 0 }, { "1", 0, 1 }, { "1K", 0, 1024 },
		{ "1.5KiB", 0, 1536 }, { "4TB", 0, 4000000000000 },
		{ "4T", 0, 4398046511104 }, { "15.36TB", 0, 15360000000000 },
		{ "1 GB", 0, 1000000000 }, { "1kb", 0, 1000 },
		{ "1YiB", 1 << 16, 0 }, { "1024ZiB", 1 << 16, 0 },
		{ "16EiB", 1, 0 },
	};
	static const char *const bad[] = {
		"", "x", "-1", "1.", ".5", "1X", "1KBB", "1KiBx", "1.1YiB",
		"2YB", "1208925819614629174706177", "1e3", "99999999999999999"
		"99999999999999999999999999999999", "1.1234567891", "4TBx",
		"NaN", "inf", "0x10", "1  GB",
	};
	cap_u128 v;
	size_t i;

	for (i = 0; i < CAP_ARRAY_SIZE(good); i++) {
		assert_int_equal(cap_parse_size(good[i].text, &v), 0);
		assert_true((uint64_t)(v >> 64) == good[i].high &&
			    (uint64_t)v == good[i].low);
	}
	for (i = 0; i < CAP_ARRAY_SIZE(bad); i++) {
		if (!cap_parse_size(bad[i], &v))
			fail_msg("accepted: '%s'", bad[i]);
	}
}

static void test_dates(void **state)
{
	unsigned day, again;
	char text[32];
	struct cap_text t;

	assert_int_equal(cap_parse_date("1970-01-01", &day), 0);
	assert_int_equal(day, 0);
	assert_int_equal(cap_parse_date("2000-03-01", &day), 0);
	assert_int_equal(day, 11017);
	assert_int_equal(cap_parse_date("2024-02-29", &day), 0);
	assert_int_equal(cap_parse_date("1900-01-01", &day), -1);
	assert_int_equal(cap_parse_date("2023-02-29", &day), -1);
	assert_int_equal(cap_parse_date("2023-13-01", &day), -1);
	assert_int_equal(cap_parse_date("2023-1-01", &day), -1);
	assert_int_equal(cap_parse_date("2023-01-01x", &day), -1);
	for (day = 0; day < 60000; day++) {
		cap_text_init(&t, text, sizeof(text));
		cap_put_date(&t, day);
		assert_int_equal(cap_parse_date(text, &again), 0);
		assert_int_equal(again, day);
	}
	cap_text_init(&t, text, sizeof(text));
	cap_put_span(&t, 880);
	assert_string_equal(text, "2 years 5 months");
	cap_text_init(&t, text, sizeof(text));
	cap_put_span(&t, 1);
	assert_string_equal(text, "1 day");
}

/* Requests ------------------------------------------------------------------*/

/* The command's options are those of the calculators. */
static void test_options_agree(void **state)
{
	const struct cli_option *o;
	size_t i, n = 0, at;

	for (i = 0; i < CAP_NR_PARAMS; i++) {
		o = cli_option_find(CLI_CAPACITY, cap_param_name(i),
				    strlen(cap_param_name(i)));
		assert_non_null(o);
		at = offsetof(struct cli_args, capacity) +
		     i * sizeof(const char *);
		assert_int_equal(o->offset, at);
	}
	for (o = cli_options; o->name; o++)
		n += o->commands == CLI_BIT(CLI_CAPACITY);
	/* And --explain, --serve, --port. */
	assert_int_equal(n, CAP_NR_PARAMS + 3);
	for (i = 0; i < CAP_NR_KINDS; i++)
		assert_int_equal(cap_kind_find(cap_kind_name(i)), i);
}

static void test_requests(void **state)
{
	assert_refused("", "no calculation was named");
	assert_refused("nonsense", "'nonsense' is no calculation");
	assert_refused("zfs --disk", "needs a value");
	assert_refused("zfs --nonsense=1", "unknown option '--nonsense'");
}

/* Whatever the room: text is cut, and nothing else happens. */
static void test_cut(void **state)
{
	struct cap_request r = { .kind = CAP_ZFS, .nr_words = 1,
				 .words = { "raidz2:6@4TB" },
				 .explain = true };
	struct cap_text t;
	size_t n;
	char *s;

	calculate("zfs raidz2:6@4TB --explain");
	for (n = 1; n < ran.out.len + 2; n += n / 8 + 1) {
		s = malloc(n);
		cap_text_init(&t, s, n);
		assert_int_equal(cap_run(&r, &t, NULL), 0);
		assert_int_equal(t.cut, n <= ran.out.len);
		assert_memory_equal(s, ran.text, n <= ran.out.len ? n - 1 : n);
		free(s);
	}
}

static const char *const pieces[] = {
	"sun7000", "zfs", "netapp", "akin", "plan", "1", "12", "h", "h3",
	"add", "4/4", "0/24", "mirror", "raidz2:6", "3xraidz1:5@9TB",
	"draid2:4d:20c:1s", "stripe:7", "1024xstripe", "--disk=4TB",
	"--disk=1024ZiB", "--disk=1", "--ashift=16", "--recordsize=16M",
	"--disk-loss=3G", "--slop-shift=31", "--data=1", "--data=1024ZiB",
	"--distinct=1", "--used=1", "--saved=1024ZiB", "--release=7.2",
	"--dedup=1000000", "--dedup=0.01", "--compression=0.01",
	"--change=100%", "--change=0%", "--growth=1000%", "--keep=36500y",
	"--keep=1", "--keep=36500d36500w36500m36500y", "--chunk-size=1M",
	"--meta-disk=1", "--ram=1", "--ram=1TiB", "--years=100", "--from="
	"2026-11-30", "--explain", "--json", "", "--", "xx", "@", ":",
};

static void test_random_requests(void **state)
{
	struct rng rng = { 1 };
	char line[512];
	size_t i, j, n, at, nr_ok = 0;

	for (i = 0; i < 3000; i++) {
		n = 1 + rng_below(&rng, 6);
		at = (size_t)snprintf(line, sizeof(line), "%s",
				      pieces[rng_below(&rng, 5)]);
		for (j = 0; j < n; j++)
			at += (size_t)snprintf(line + at, sizeof(line) - at,
				" %s", pieces[5 + rng_below(&rng,
				CAP_ARRAY_SIZE(pieces) - 5)]);
		calculate_with(line, ESTIMATE);
		nr_ok += ran.err == 0;
		assert_null(strstr(ran.text, "nan"));
		assert_null(strstr(ran.text, "inf"));
		if (ran.err)
			assert_true(ran.diag.text[0]);
	}
	assert_true(nr_ok > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sun_vectors),
		cmocka_unit_test(test_sun_nspf),
		cmocka_unit_test(test_sun_steps),
		cmocka_unit_test(test_sun_sas),
		cmocka_unit_test(test_sun_refuses),
		cmocka_unit_test(test_zfs_vectors),
		cmocka_unit_test(test_zfs_blocks),
		cmocka_unit_test(test_zfs_draid),
		cmocka_unit_test(test_zfs_pools),
		cmocka_unit_test(test_zfs_refuses),
		cmocka_unit_test(test_netapp),
		cmocka_unit_test(test_pool_by_hand),
		cmocka_unit_test(test_pool_keep),
		cmocka_unit_test(test_pool_full),
		cmocka_unit_test(test_pool_ram),
		cmocka_unit_test(test_akin),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_plan_ways_hold),
		cmocka_unit_test(test_plan_hostile),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_options_agree),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_random_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
