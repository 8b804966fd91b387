/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of an imaging study: how long it takes to list a directory, to read ten
 * of its files and to write ten, in a pool and in the file system below it.
 *
 * The first time, once more, beside five copiers, with each codec; and again
 * while the pool grows by many small files. What is slower in a large pool than
 * in a small one shows there.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "measure_files.h"

#define DEFAULT_FILES 1000
#define DEFAULT_BYTES ((size_t)256 << 10)
#define DEFAULT_FACTOR 100
#define DIRS (FILES_SUBJECTS * FILES_SESSIONS)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LIST, READ, WRITE, NR_KINDS };

static const struct measure_column states_columns[] = {
	{ "list_ms", "list ms", 2 },
	{ "list_sd_ms", "+-", 2 },
	{ "read_ms", "read 10 ms", 2 },
	{ "read_sd_ms", "+-", 2 },
	{ "write_ms", "write 10 ms", 2 },
	{ "write_sd_ms", "+-", 2 },
	{ "stored_mb", "MB", 1 },
	{ "ratio", "ratio", 2 },
};

static const struct measure_chart states_charts[] = {
	{ "To list a directory", "ms", MEASURE_BARS, { 0 }, 1,
	  MEASURE_BY_NONE },
	{ "To read ten files, to write ten", "ms", MEASURE_BARS, { 2, 4 }, 2,
	  MEASURE_BY_NONE },
};

static const struct measure_column growth_columns[] = {
	{ "files", "files", 0 },
	{ "list_ms", "list ms", 2 },
	{ "list_sd_ms", "+-", 2 },
	{ "read_ms", "read 10 ms", 2 },
	{ "read_sd_ms", "+-", 2 },
	{ "write_ms", "write 10 ms", 2 },
	{ "write_sd_ms", "+-", 2 },
	{ "list_of_first", "list of 1st", 2 },
	{ "read_of_first", "read of 1st", 2 },
	{ "write_of_first", "write of 1st", 2 },
};

static const struct measure_chart growth_charts[] = {
	{ "To list a directory, while files come", "ms", MEASURE_LINES, { 1 },
	  1, MEASURE_BY_LABEL },
	{ "To read ten files", "ms", MEASURE_LINES, { 3 }, 1,
	  MEASURE_BY_LABEL },
	{ "To write ten files", "ms", MEASURE_LINES, { 5 }, 1,
	  MEASURE_BY_LABEL },
};

void files_name(uint32_t file, char out[FILES_NAME])
{
	snprintf(out, FILES_NAME, "vol-%06u.nii", file);
}

void files_path(struct files_dir d, char out[FILES_NAME])
{
	snprintf(out, FILES_NAME, "sub-%02u/ses-%u", d.subject + 1,
		 d.session + 1);
}

void files_content(const struct files_place *p, struct files_dir d,
		   uint32_t file, unsigned char *out)
{
	measure_image(d.subject, (uint64_t)d.session << 32 | file, out,
		      p->bytes);
}

void files_small(uint64_t nr, unsigned char out[FILES_SMALL])
{
	uint64_t x = (nr + 1) * 0x9e3779b97f4a7c15u;
	size_t i;

	memset(out, 0, FILES_SMALL);
	for (i = 0; i < FILES_SMALL / 2; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(out + i, &x, sizeof(x));
	}
}

int files_prepare(struct files_place *p, const struct measure_options *opt,
		  struct akin_diag *diag)
{
	uint64_t nr = opt->nr_files ? opt->nr_files : DEFAULT_FILES;

	memset(p, 0, sizeof(*p));
	p->opt = opt;
	p->bytes = opt->bytes ? opt->bytes : DEFAULT_BYTES;
	p->nr_dir = (uint32_t)((nr + DIRS - 1) / DIRS);
	if (p->nr_dir < FILES_BATCH)
		p->nr_dir = FILES_BATCH;
	p->batch = malloc(FILES_BATCH * p->bytes);
	p->buf = malloc(p->bytes);
	return p->batch && p->buf ? 0 :
	       measure_fail(diag, -AKIN_E_nomem, "files");
}

void files_release(struct files_place *p)
{
	free(p->batch);
	free(p->buf);
	p->batch = p->buf = NULL;
}

/* One look at all directories ------------------------------------------------*/

struct look {
	double ms[NR_KINDS][DIRS];
	double mean[NR_KINDS], sd[NR_KINDS];
};

static void finish(struct look *l)
{
	uint32_t k, i;
	double d;

	for (k = 0; k < NR_KINDS; k++) {
		l->mean[k] = l->sd[k] = 0;
		for (i = 0; i < DIRS; i++)
			l->mean[k] += l->ms[k][i] / DIRS;
		for (i = 0; i < DIRS; i++) {
			d = l->ms[k][i] - l->mean[k];
			l->sd[k] += d * d / (DIRS - 1);
		}
		l->sd[k] = sqrt(l->sd[k]);
	}
}

/* @nr: of the look; no two write the same. */
static int look_at(struct files_place *p, uint32_t nr, struct look *l,
		   struct akin_diag *diag)
{
	struct files_dir d;
	double begun, at;
	uint32_t i, k, listed;
	int err = 0;

	for (i = 0; !err && i < DIRS; i++) {
		d.subject = i / FILES_SESSIONS;
		d.session = i % FILES_SESSIONS;
		/* As a step of a pipeline would: one more of the subject's. */
		for (k = 0; k < FILES_BATCH; k++)
			measure_image(d.subject, (uint64_t)(nr + 1) << 40 |
				      i << 8 | k, p->batch + k * p->bytes,
				      p->bytes);
		begun = measure_seconds();
		err = p->ops->list(p, d, &listed, diag);
		l->ms[LIST][i] = ((at = measure_seconds()) - begun) * 1e3;
		if (!err && listed != p->nr_dir)
			err = measure_fail(diag, -AKIN_E_internal, "%u files "
					   "listed, %u stored", listed,
					   p->nr_dir);
		if (!err)
			err = p->ops->read(p, d, diag);
		l->ms[READ][i] = ((begun = measure_seconds()) - at) * 1e3;
		if (!err)
			err = p->ops->write(p, d, nr, diag);
		l->ms[WRITE][i] = (measure_seconds() - begun) * 1e3;
	}
	finish(l);
	return err;
}

struct copier {
	struct files_place *p;
	pthread_t thread;
	uint32_t nr;
	_Atomic bool *stop;
	int err;
	struct akin_diag diag;
};

static void *copy_all(void *arg)
{
	struct copier *c = arg;
	struct files_dir d;
	uint32_t i;

	for (i = 0; !c->err && !*c->stop; i++) {
		d.subject = (i + c->nr * 2) % FILES_SUBJECTS;
		d.session = i / FILES_SUBJECTS % FILES_SESSIONS;
		c->err = c->p->ops->copy(c->p, d, c->nr, i, &c->diag);
	}
	return NULL;
}

static int look_beside(struct files_place *p, uint32_t nr, struct look *l,
		       struct akin_diag *diag)
{
	struct copier copiers[FILES_COPIERS];
	_Atomic bool stop = false;
	uint32_t started = 0, opened = 0, i;
	int err = 0;

	memset(copiers, 0, sizeof(copiers));
	while (!err && opened < FILES_COPIERS) {
		err = p->ops->copier_open(p, opened, diag);
		if (!err)
			opened++;
	}
	for (; !err && started < opened; started++) {
		copiers[started].p = p;
		copiers[started].nr = started;
		copiers[started].stop = &stop;
		if (pthread_create(&copiers[started].thread, NULL, copy_all,
				   &copiers[started])) {
			err = measure_fail(diag, -AKIN_E_nomem, "threads");
			break;
		}
	}
	if (!err)
		err = look_at(p, nr, l, diag);
	stop = true;
	for (i = 0; i < started; i++) {
		pthread_join(copiers[i].thread, NULL);
		if (!err && copiers[i].err)
			err = measure_fail(diag, copiers[i].err, "%s",
					   copiers[i].diag.text);
	}
	for (i = 0; i < opened; i++)
		p->ops->copier_close(p, i);
	return err;
}

/* States ---------------------------------------------------------------------*/

static int add_state(struct measure_report *r, const char *name,
		     const char *state, const struct look *l, double stored_mb,
		     double ratio)
{
	double v[COUNT(states_columns)];
	char label[MEASURE_LABEL];
	uint32_t k;

	for (k = 0; k < NR_KINDS; k++) {
		v[2 * k] = l->mean[k];
		v[2 * k + 1] = l->sd[k];
	}
	v[6] = stored_mb;
	v[7] = ratio;
	snprintf(label, sizeof(label), "%s, %s", name, state);
	return measure_add(r, label, v);
}

static int all_states(struct files_place *p, const char *name,
		      struct measure_report *r, struct akin_diag *diag)
{
	static const char *const states[] = { "first", "again",
					      "beside 5 copies" };
	double stored, given = (double)p->nr_dir * DIRS * (double)p->bytes;
	uint64_t bytes = 0;
	struct look l;
	uint32_t i;
	int err;

	err = measure_tick(p->opt, diag, "%s, filling", name);
	if (!err)
		err = p->ops->fill(p, &bytes, diag);
	stored = (double)bytes;
	if (!err)
		err = p->ops->forget(p, diag);
	for (i = 0; !err && i < COUNT(states); i++) {
		err = measure_tick(p->opt, diag, "%s, %s", name, states[i]);
		if (!err && i < 2)
			err = look_at(p, i, &l, diag);
		else if (!err)
			err = look_beside(p, i, &l, diag);
		if (!err)
			err = add_state(r, name, states[i], &l, stored / 1e6,
					stored > 0 ? given / stored : 0);
	}
	return err;
}

static int one_codec(const struct measure_options *opt, const char *codec,
		     struct measure_report *r, struct akin_diag *diag)
{
	struct measure_options mine = *opt;
	struct files_place p;
	int err;

	mine.compression = codec;
	err = files_open_pool(&p, &mine, diag);
	if (!err)
		err = all_states(&p, codec ? codec : "akin", r, diag);
	p.ops->close(&p);
	return err;
}

static int states(const struct measure_options *opt, struct measure_report *r,
		  struct akin_diag *diag)
{
	static const char *const codecs[] = { "none", "lz4", "zstd:1",
					      "zstd:3", "gzip:6", "lzjb" };
	struct files_place p;
	uint32_t i;
	int err;

	r->verb = "files";
	r->title = "Files of an imaging study";
	r->text = "Ten subjects with four sessions each, a directory of images "
		"for every one. To list a directory with sizes, to read ten "
		"of its files, to write ten new ones so that they survive a "
		"crash: mean and standard deviation over the directories. "
		"First: right after the pool was opened, with nothing cached; "
		"again: once more; then beside five copiers. Plain is the file "
		"system below, each file synced.";
	r->row_title = "state";
	r->columns = states_columns;
	r->nr_columns = COUNT(states_columns);
	r->charts = states_charts;
	r->nr_charts = COUNT(states_charts);
	err = files_open_plain(&p, opt, diag);
	if (!err)
		err = all_states(&p, "plain", r, diag);
	p.ops->close(&p);
	if (!err && opt->compression)
		return one_codec(opt, opt->compression, r, diag);
	for (i = 0; !err && i < COUNT(codecs); i++)
		err = one_codec(opt, codecs[i], r, diag);
	return err;
}

/* Growth ---------------------------------------------------------------------*/

static int add_growth(struct measure_report *r, const char *name, double files,
		      const struct look *l, const struct look *first)
{
	double v[COUNT(growth_columns)];
	uint32_t k;

	v[0] = files;
	for (k = 0; k < NR_KINDS; k++) {
		v[1 + 2 * k] = l->mean[k];
		v[2 + 2 * k] = l->sd[k];
		v[7 + k] = l->mean[k] > 0 ? first->mean[k] / l->mean[k] : 0;
	}
	return measure_add(r, name, v);
}

/* Ten times as many files from look to look. */
static int grow(struct files_place *p, const char *name,
		struct measure_report *r, struct akin_diag *diag)
{
	uint64_t base = (uint64_t)p->nr_dir * DIRS, small = 0, more, stored;
	uint32_t most = p->opt->nr_counts ? p->opt->counts[0] : DEFAULT_FACTOR;
	struct look first, l;
	uint32_t factor = 1, nr = 0;
	int err;

	err = p->ops->fill(p, &stored, diag);
	while (!err) {
		err = measure_tick(p->opt, diag, "%s, %llu files", name,
				   (unsigned long long)(base + small));
		if (!err)
			err = p->ops->forget(p, diag);
		if (!err)
			err = look_at(p, nr, &l, diag);
		if (!err && nr++ == 0)
			first = l;
		if (!err)
			err = add_growth(r, name, (double)(base + small), &l,
					 &first);
		if (err || factor == most)
			break;
		factor = factor > most / 10 ? most : factor * 10;
		more = base * factor - base - small;
		err = p->ops->add_small(p, small, more, diag);
		small += more;
	}
	return err;
}

static int growth(const struct measure_options *opt, struct measure_report *r,
		  struct akin_diag *diag)
{
	struct files_place p;
	int err;

	r->verb = "files_growth";
	r->title = "The same while files come";
	r->text = "Small files of 4 KiB are added until there are ten times as "
		"many files, a hundred times; each time with nothing cached, "
		"in a session that knows nothing yet. 'Of 1st' is the first "
		"one's time over this one's: 1 is as fast as in the small "
		"pool.";
	r->row_title = "store";
	r->columns = growth_columns;
	r->nr_columns = COUNT(growth_columns);
	r->charts = growth_charts;
	r->nr_charts = COUNT(growth_charts);
	err = files_open_plain(&p, opt, diag);
	if (!err)
		err = grow(&p, "plain", r, diag);
	p.ops->close(&p);
	if (err)
		return err;
	err = files_open_pool(&p, opt, diag);
	if (!err)
		err = grow(&p, "akin", r, diag);
	p.ops->close(&p);
	return err;
}

int measure_files(const struct measure_options *opt, struct measure_report *out,
		  struct akin_diag *diag)
{
	struct measure_report *more;
	int err;

	memset(out, 0, sizeof(*out));
	more = measure_more(out);
	if (!more)
		return measure_fail(diag, -AKIN_E_nomem, "report");
	err = states(opt, out, diag);
	if (!err)
		err = growth(opt, more, diag);
	measure_machine(out);
	return err;
}
