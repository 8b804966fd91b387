/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores standard input as one object.
 *
 *	cc example_put.c $(pkg-config --cflags --libs akin)
 *	./a.out POOL SPACE NAME <DATA
 */
#include <stdio.h>
#include <unistd.h>

#include <akin/session.h>

static int failed(const char *what, const struct akin_diag *diag)
{
	fprintf(stderr, "%s: %s\n", what, diag->text);
	return 1;
}

/* The session lends the memory that the data is wanted in: no copy. */
static int send_stdin(struct akin_session *s, struct akin_object obj,
		      struct akin_diag *diag)
{
	size_t room;
	ssize_t n;
	void *to;
	int err;

	do {
		err = akin_object_room(s, obj, &to, &room, diag);
		if (err)
			return err;
		n = read(STDIN_FILENO, to, room);
		err = akin_object_filled(s, obj, n > 0 ? (size_t)n : 0, diag);
	} while (!err && n > 0);
	return err ? err : (int)n;
}

int main(int argc, char **argv)
{
	struct akin_session_options opt = { .version = AKIN_SESSION_VERSION };
	struct akin_attribute why = { "made-by", "example_put", 11 };
	struct akin_object_options oopt = { .attributes = &why,
					    .nr_attributes = 1 };
	struct akin_object_name name = { .path = "" };
	struct akin_object_stats stats;
	struct akin_txn_result result;
	struct akin_diag diag = { 0 };
	struct akin_session *s;
	struct akin_object obj;
	int err;

	if (argc != 4)
		return fprintf(stderr, "usage: %s POOL SPACE NAME\n", argv[0]);
	opt.path = argv[1];
	name.space = argv[2];
	name.name = argv[3];
	if (akin_session_open(&opt, &s, &diag))
		return failed("open", &diag);
	err = akin_txn_begin(s, NULL, &diag);
	if (!err)
		err = akin_object_begin(s, &name, &oopt, &obj, &diag);
	if (!err)
		err = send_stdin(s, obj, &diag);
	if (!err)
		err = akin_object_end(s, obj, &stats, &diag);
	/* Both must be zero: the call's own, and the reason. Closing a session
	 * in the middle of a transaction aborts it. */
	if (!err)
		err = akin_txn_end(s, AKIN_VOTE_COMMIT, &result, &diag);
	if (!err)
		err = (int)result.reason;
	akin_session_close(s);
	if (err)
		return failed("not stored", &diag);
	printf("%llu bytes, %llu new, transaction %llu\n",
	       (unsigned long long)stats.bytes,
	       (unsigned long long)stats.bytes_new,
	       (unsigned long long)result.transaction);
	return 0;
}
