/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of JSON that only knows where things are: enough for the members of
 * the objects at the top. Hostile input is refused, never believed.
 */
#ifndef CAPACITY_JSON_H
#define CAPACITY_JSON_H

#include "capacity_text.h"

enum cap_json_kind {
	CAP_JSON_STRING, CAP_JSON_NUMBER, CAP_JSON_OTHER,
};

/* A member; bytes are borrowed from the text. Strings without their quotes,
 * escapes as they are. */
struct cap_json_member {
	const char *key;
	size_t key_len;
	enum cap_json_kind kind;
	const char *value;
	size_t value_len;
};

struct cap_json {
	const char *p, *end;
	bool inside;		/* an object */
};

enum cap_json_event {
	CAP_JSON_MEMBER, CAP_JSON_OBJECT, CAP_JSON_END, CAP_JSON_BAD,
};

/* Objects one behind the other (JSON Lines too): for each its members, then
 * CAP_JSON_OBJECT; at the end CAP_JSON_END. */
void cap_json_init(struct cap_json *j, const char *text, size_t len);
enum cap_json_event cap_json_next(struct cap_json *j,
				  struct cap_json_member *out);

bool cap_json_is(const char *s, size_t len, const char *word);
/* A number >= 0 and <= 2^90; -1 otherwise. */
int cap_json_number(const struct cap_json_member *m, double *out);

#endif
