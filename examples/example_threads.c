/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores files as objects of one transaction, each sent by a thread of its own.
 *
 *	cc -pthread example_threads.c $(pkg-config --cflags --libs akin)
 *	./a.out POOL SPACE FILE...
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <akin/session.h>

#define SEND_BYTES (256 * 1024)

struct sender {
	struct akin_session *s;
	const char *space, *file;
	struct akin_diag diag;	/* one for each thread */
	pthread_t thread;
	int err;
};

static int send_file(struct sender *me, FILE *f, void *buf)
{
	struct akin_object_name name = { .space = me->space };
	const char *slash = strrchr(me->file, '/');
	struct akin_object obj;
	size_t n;
	int err;

	name.name = slash ? slash + 1 : me->file;
	err = akin_object_begin(me->s, &name, NULL, &obj, &me->diag);
	while (!err && (n = fread(buf, 1, SEND_BYTES, f)) > 0)
		err = akin_object_send(me->s, obj, buf, n, &me->diag);
	if (!err && ferror(f))
		err = -1;
	return err ? err : akin_object_end(me->s, obj, NULL, &me->diag);
}

static void *run(void *arg)
{
	struct sender *me = arg;
	void *buf = malloc(SEND_BYTES);
	FILE *f = fopen(me->file, "rb");

	me->err = f && buf ? send_file(me, f, buf) : -1;
	if (f)
		fclose(f);
	free(buf);
	return NULL;
}

int main(int argc, char **argv)
{
	struct akin_session_options opt = { .version = AKIN_SESSION_VERSION };
	struct akin_session_limits limits;
	struct akin_txn_result result;
	struct akin_diag diag = { 0 };
	struct akin_session *s;
	struct sender *senders;
	int err, i, nr = argc - 3;
	bool ok = true;

	if (nr < 1)
		return fprintf(stderr, "usage: %s POOL SPACE FILE...\n",
			       argv[0]);
	opt.path = argv[1];
	if (akin_session_open(&opt, &s, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	akin_session_get_limits(s, &limits);
	if ((uint32_t)nr > limits.max_open) {
		fprintf(stderr, "at most %u at once\n", limits.max_open);
		akin_session_close(s);
		return 1;
	}
	senders = calloc((size_t)nr, sizeof(*senders));
	err = akin_txn_begin(s, NULL, &diag);
	for (i = 0; !err && i < nr; i++) {
		senders[i].s = s;
		senders[i].space = argv[2];
		senders[i].file = argv[3 + i];
		err = pthread_create(&senders[i].thread, NULL, run,
				     &senders[i]);
		nr = err ? i : nr;
	}
	for (i = 0; i < nr; i++) {
		if (senders[i].s)
			pthread_join(senders[i].thread, NULL);
		if (senders[i].err)
			fprintf(stderr, "%s: %s\n", senders[i].file,
				senders[i].diag.text);
		ok = ok && !senders[i].err;
	}
	free(senders);
	if (!err)
		err = akin_txn_end(s, ok ? AKIN_VOTE_COMMIT : AKIN_VOTE_ABORT,
				   &result, &diag);
	akin_session_close(s);
	if (err || result.reason) {
		fprintf(stderr, "not stored: %s\n", diag.text);
		return 1;
	}
	printf("%llu objects, %llu bytes\n",
	       (unsigned long long)result.objects,
	       (unsigned long long)result.bytes);
	return 0;
}
