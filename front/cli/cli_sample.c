/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli_sample.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void read_cpu(struct cli_reading *r)
{
	uint64_t t[8] = { 0 };
	FILE *f = fopen("/proc/stat", "re");
	int i, n = 0;

	r->cpu_all = 0;
	if (f) {
		n = fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64, &t[0], &t[1], &t[2], &t[3], &t[4],
			   &t[5], &t[6], &t[7]);
		fclose(f);
	}
	for (i = 0; i < n; i++)
		r->cpu_all += t[i];
	r->cpu_busy = r->cpu_all - t[3] - t[4];	/* idle, waiting for disks */
}

static void read_net(struct cli_reading *r)
{
	FILE *f = fopen("/proc/net/dev", "re");
	uint64_t in, out;
	char line[512], *colon, *name;

	r->net_in = r->net_out = 0;
	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		name = line + strspn(line, " ");
		if (strcmp(name, "lo") == 0 ||
		    sscanf(colon + 1, "%" SCNu64 " %*u %*u %*u %*u %*u %*u %*u "
			   "%" SCNu64, &in, &out) != 2)
			continue;
		r->net_in += in;
		r->net_out += out;
	}
	if (f)
		fclose(f);
}

static void read_disks(struct cli_reading *r)
{
	FILE *f = fopen("/proc/diskstats", "re");
	struct cli_disk_time *d;
	char line[512];

	r->nr_disks = 0;
	while (f && r->nr_disks < CLI_MAX_DISKS &&
	       fgets(line, sizeof(line), f)) {
		d = &r->disks[r->nr_disks];
		if (sscanf(line, "%*u %*u %31s %*u %*u %*u %*u %*u %*u %*u "
			   "%*u %*u %" SCNu64, d->name, &d->ms) == 2)
			r->nr_disks++;
	}
	if (f)
		fclose(f);
}

void cli_reading_take(struct cli_reading *r, const char *pool)
{
	cli_processes_read(&r->ps, pool);
	read_cpu(r);
	read_net(r);
	read_disks(r);
	r->ns = now_ns();
}

void cli_reading_release(struct cli_reading *r)
{
	cli_processes_release(&r->ps);
}

static void find_busiest(const struct cli_reading *a,
			 const struct cli_reading *b, struct cli_sample *out)
{
	uint64_t ms;
	uint32_t i, k;

	for (i = 0; i < b->nr_disks; i++) {
		for (k = 0; k < a->nr_disks; k++) {
			ms = b->disks[i].ms - a->disks[k].ms;
			if (strcmp(a->disks[k].name, b->disks[i].name) ||
			    b->disks[i].ms <= a->disks[k].ms ||
			    ms <= out->disk_ms)
				continue;
			out->disk_ms = ms;
			memcpy(out->disk, b->disks[i].name, sizeof(out->disk));
		}
	}
}

void cli_sample_process(const struct cli_process *before,
			const struct cli_process *p, uint64_t *values)
{
	const struct akin_counter_field *f;
	uint64_t old;
	uint32_t nr, i, k;

	f = akin_counter_fields(&nr);
	for (i = 0; i < nr; i++) {
		for (k = f[i].first; k < f[i].first + f[i].nr; k++) {
			old = before && f[i].kind != AKIN_KIND_GAUGE ?
				      before->values[k] : 0;
			values[k] = p->values[k] >= old &&
				    f[i].kind != AKIN_KIND_MOMENT ?
					    p->values[k] - old : 0;
		}
	}
}

/* In checkpoints and commits up to @now. */
static uint64_t commit_ns(const struct cli_process *p, uint64_t now)
{
	uint64_t begun = p->values[AKIN_COUNTER_commit_begun];

	return p->values[AKIN_COUNTER_commit_ns] +
	       (begun && begun < now ? now - begun : 0);
}

static void add_process(struct cli_sample *s, const struct cli_reading *a,
			const struct cli_reading *b,
			const struct cli_process *p)
{
	const struct cli_process *before = cli_process_before(&a->ps, p);
	uint64_t v[AKIN_NR_COUNTER_VALUES], from, to, oldest;
	double age;
	size_t i;

	cli_sample_process(before, p, v);
	for (i = 0; i < AKIN_NR_COUNTER_VALUES; i++)
		s->v[i] += v[i];
	from = before ? commit_ns(before, a->ns) : 0;
	to = commit_ns(p, b->ns);
	s->commit_ns += to > from ? to - from : 0;
	s->committing |= p->values[AKIN_COUNTER_commit_begun] != 0;
	oldest = p->values[AKIN_COUNTER_directory_oldest];
	if (!oldest || oldest > b->ns)
		return;
	age = (double)(b->ns - oldest) / 1e9;
	s->age_seconds = s->seconds;
	if (age * s->seconds > s->age)
		s->age = age * s->seconds;
}

void cli_sample_between(const struct cli_reading *a,
			const struct cli_reading *b, struct cli_sample *out)
{
	uint32_t i;

	memset(out, 0, sizeof(*out));
	out->seconds = (double)(b->ns - a->ns) / 1e9;
	out->cpu_busy = b->cpu_busy - a->cpu_busy;
	out->cpu_all = b->cpu_all - a->cpu_all;
	/* Interfaces come and go. */
	out->net_in = b->net_in > a->net_in ? b->net_in - a->net_in : 0;
	out->net_out = b->net_out > a->net_out ? b->net_out - a->net_out : 0;
	find_busiest(a, b, out);
	out->processes = cli_processes_open(&b->ps);
	for (i = 0; i < b->ps.nr; i++)
		add_process(out, a, b, &b->ps.v[i]);
}

void cli_sample_add(struct cli_sample *sum, const struct cli_sample *s)
{
	size_t i;

	sum->seconds += s->seconds;
	sum->cpu_busy += s->cpu_busy;
	sum->cpu_all += s->cpu_all;
	sum->net_in += s->net_in;
	sum->net_out += s->net_out;
	sum->disk_ms += s->disk_ms;
	sum->processes = s->processes;
	sum->commit_ns += s->commit_ns;
	sum->committing = s->committing;
	sum->age += s->age;
	sum->age_seconds += s->age_seconds;
	for (i = 0; i < AKIN_NR_COUNTER_VALUES; i++)
		sum->v[i] += s->v[i];
}
