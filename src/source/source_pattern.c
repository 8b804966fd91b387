/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling and matching patterns.
 *
 * A pattern becomes a row of tokens. Matching is greedy with two points of
 * return, the last '*' and the last '**': a later '*' in the same component
 * makes an earlier one moot because it may take in everything the earlier one
 * could, one in an earlier component is settled by the '/' between, and a
 * later '**' makes everything before it moot. So no pattern is worse than
 * pattern length times the square of the path length.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "source/source_pattern.h"

enum token_kind {
	TOKEN_BYTE,
	TOKEN_ANY,  /* ? */
	TOKEN_SET,  /* [...] */
	TOKEN_STAR, /* * */
	TOKEN_DEEP, /* ** within a component, or at the end */
	TOKEN_DIRS, /* a component **, with the '/' behind it */
	TOKEN_END,
};

struct token {
	u8 kind;
	u8 byte; /* BYTE */
	u16 set; /* SET: number of its bitmap */
};

struct byte_set {
	u8 bits[32];
};

struct pattern {
	struct token *tokens; /* ends with TOKEN_END */
	struct byte_set *sets;
	bool negated;
	bool dirs_only;
	bool base_name; /* held against the last component */
	bool absolute;
};

struct pattern_set {
	struct pattern *patterns;
	size_t nr, cap;
};

struct compiler {
	const char *text; /* whole, for messages */
	const char *p;
	struct buf tokens, sets;
	u32 nr_sets;
	struct akin_diag *diag;
};

static int refuse(struct compiler *c, const char *why)
{
	return diag_set(c->diag, -AKIN_E_usage, "pattern \"%s\": %s", c->text,
			why);
}

static void put_token(struct compiler *c, enum token_kind kind, u8 byte,
		      u16 set)
{
	struct token t = {.kind = (u8)kind, .byte = byte, .set = set};

	buf_put(&c->tokens, &t, sizeof(t));
}

/* One byte of a set, escaped or not; -1 at the end of the text. */
static int set_byte(struct compiler *c)
{
	if (*c->p == '\\')
		c->p++;
	return *c->p ? (u8)*c->p++ : -1;
}

/* c->p is behind the '['. */
static int compile_set(struct compiler *c)
{
	struct byte_set set = {{0}};
	bool negated = *c->p == '!' || *c->p == '^', first = true;
	int from, to, i;

	c->p += negated;
	for (; *c->p != ']' || first; first = false) {
		if (c->p[0] == '[' && c->p[1] == ':')
			return refuse(c, "named sets are not supported");
		from = to = set_byte(c);
		if (c->p[0] == '-' && c->p[1] && c->p[1] != ']') {
			c->p++;
			to = set_byte(c);
		}
		if (from < 0 || to < 0 || !*c->p)
			return refuse(c, "'[' without ']'");
		if (to < from)
			return refuse(c, "a range runs backwards");
		for (i = from; i <= to; i++)
			set.bits[i / 8] |= (u8)(1 << i % 8);
	}
	c->p++;
	for (i = 0; i < 32 && negated; i++)
		set.bits[i] = (u8)~set.bits[i];
	set.bits['/' / 8] &= (u8) ~(1 << '/' % 8);
	put_token(c, TOKEN_SET, 0, (u16)c->nr_sets++);
	buf_put(&c->sets, &set, sizeof(set));
	return 0;
}

/* c->p is at a '*'. */
static void compile_star(struct compiler *c, bool at_start)
{
	size_t n = strspn(c->p, "*");

	c->p += n;
	if (n == 1) {
		put_token(c, TOKEN_STAR, 0, 0);
	} else if (at_start && *c->p == '/') {
		c->p++;
		put_token(c, TOKEN_DIRS, 0, 0);
	} else {
		put_token(c, TOKEN_DEEP, 0, 0);
	}
}

static bool is_dot_component(const char *p)
{
	size_t n = strcspn(p, "/");

	return (n == 1 && p[0] == '.') ||
	       (n == 2 && p[0] == '.' && p[1] == '.');
}

static int compile_body(struct compiler *c)
{
	bool at_start = true, escaped;
	int err = 0;

	while (*c->p && !err) {
		if (at_start && (*c->p == '/' || is_dot_component(c->p)))
			return refuse(c, "a component that no path has");
		if (*c->p == '*') {
			compile_star(c, at_start);
			at_start = c->p[-1] == '/';
			continue;
		}
		at_start = *c->p == '/';
		if (*c->p == '[') {
			c->p++;
			err = compile_set(c);
			continue;
		}
		escaped = *c->p == '\\';
		c->p += escaped;
		if (!*c->p)
			return refuse(c, "'\\' at the end");
		if (*c->p == '?' && !escaped)
			put_token(c, TOKEN_ANY, 0, 0);
		else
			put_token(c, TOKEN_BYTE, (u8)*c->p, 0);
		c->p++;
	}
	if (!err && at_start)
		return refuse(c, "a component that no path has");
	return err;
}

static void pattern_release(struct pattern *p)
{
	mem_free(p->tokens);
	mem_free(p->sets);
}

/* Takes what surrounds the body off; the body is left in c->p. */
static int compile_frame(struct compiler *c, char *body, struct pattern *out)
{
	size_t n;

	if (*body == '!') {
		out->negated = true;
		body++;
	}
	n = strlen(body);
	if (n > 1 && body[n - 1] == '/') {
		out->dirs_only = true;
		body[--n] = 0;
	}
	if (n == 0)
		return refuse(c, "empty");
	out->absolute = *body == '/';
	out->base_name = !strchr(body, '/');
	c->p = body + out->absolute;
	if (!*c->p)
		return refuse(c, "the root cannot be chosen");
	return 0;
}

static int compile(struct compiler *c, char *body, struct pattern *out)
{
	int err = compile_frame(c, body, out);

	if (err)
		return err;
	/* A relative path may begin at any component. */
	if (!out->absolute && !out->base_name)
		put_token(c, TOKEN_DIRS, 0, 0);
	err = compile_body(c);
	put_token(c, TOKEN_END, 0, 0);
	if (!err)
		err = buf_error(&c->tokens);
	if (!err)
		err = buf_error(&c->sets);
	if (err)
		return diag_set(c->diag, err, "out of memory");
	out->tokens = (struct token *)(void *)c->tokens.data;
	out->sets = (struct byte_set *)(void *)c->sets.data;
	return 0;
}

int pattern_set_add(struct pattern_set *set, const char *text,
		    struct akin_diag *diag)
{
	struct compiler c = {.text = text, .diag = diag};
	struct pattern p = {0};
	struct pattern *grown;
	char *body;
	int err;

	if (strlen(text) > PATTERN_MAX_BYTES)
		return diag_set(diag, -AKIN_E_usage,
				"pattern longer than %d bytes",
				PATTERN_MAX_BYTES);
	body = mem_strdup(text);
	if (!body)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	err = compile(&c, body, &p);
	mem_free(body);
	if (err)
		goto fail;
	if (set->nr == set->cap) {
		grown = mem_realloc(set->patterns,
				    (set->cap * 2 + 8) * sizeof(*grown));
		if (!grown) {
			err = diag_set(diag, -AKIN_E_nomem, "out of memory");
			goto fail;
		}
		set->patterns = grown;
		set->cap = set->cap * 2 + 8;
	}
	set->patterns[set->nr++] = p;
	return 0;
fail:
	buf_release(&c.tokens);
	buf_release(&c.sets);
	return err;
}

struct pattern_set *pattern_set_new(void)
{
	return mem_zalloc(sizeof(struct pattern_set));
}

void pattern_set_free(struct pattern_set *set)
{
	size_t i;

	if (!set)
		return;
	for (i = 0; i < set->nr; i++)
		pattern_release(&set->patterns[i]);
	mem_free(set->patterns);
	mem_free(set);
}

size_t pattern_set_count(const struct pattern_set *set)
{
	return set->nr;
}

static bool is_escaped(const char *line, size_t at)
{
	size_t n = 0;

	while (n < at && line[at - 1 - n] == '\\')
		n++;
	return n % 2 == 1;
}

static int add_line(struct pattern_set *set, char *line, size_t n,
		    struct akin_diag *diag)
{
	if (memchr(line, 0, n))
		return diag_set(diag, -AKIN_E_usage, "a NUL byte in a pattern");
	if (n && line[n - 1] == '\r')
		n--;
	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t') &&
	       !is_escaped(line, n - 1))
		n--;
	line[n] = 0;
	if (n == 0 || *line == '#')
		return 0;
	return pattern_set_add(set, line, diag);
}

/* @text has room for a NUL at @len. */
static int add_lines(struct pattern_set *set, char *text, size_t len,
		     const char *path, struct akin_diag *diag)
{
	size_t at = 0, n, line = 1;
	char *end;
	int err;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at = 3;
	for (; at < len; at += n + 1, line++) {
		end = memchr(text + at, '\n', len - at);
		n = end ? (size_t)(end - (text + at)) : len - at;
		err = add_line(set, text + at, n, diag);
		if (err) {
			diag_prefix(diag, "%s, line %zu", path, line);
			return err;
		}
	}
	return 0;
}

static int read_all(int fd, struct buf *out)
{
	ssize_t n;
	u8 *p;

	do {
		p = buf_reserve(out, 4096);
		if (!p)
			return ENOMEM;
		n = read(fd, p, 4095);
		if (n < 0 && errno != EINTR)
			return errno;
		out->len += n > 0 ? (size_t)n : 0;
		if (out->len > PATTERN_FILE_MAX)
			return EFBIG;
	} while (n != 0);
	return 0;
}

int pattern_set_add_file(struct pattern_set *set, const char *path,
			 struct akin_diag *diag)
{
	struct buf text = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int err = fd < 0 ? errno : read_all(fd, &text);

	if (fd >= 0)
		close(fd);
	if (err)
		err = diag_set_errno(diag, error_from_errno(err), err,
				     "pattern file %s", path);
	else
		err = add_lines(set, (char *)text.data, text.len, path, diag);
	buf_release(&text);
	return err;
}

/* Does the token take in the byte @c? */
static bool takes(const struct pattern *p, const struct token *t, u8 c)
{
	switch (t->kind) {
	case TOKEN_BYTE:
		return t->byte == c;
	case TOKEN_ANY:
		return c != '/';
	case TOKEN_SET:
		return p->sets[t->set].bits[c / 8] & 1 << c % 8;
	default:
		return false;
	}
}

/* Where a DEEP or DIRS that ended at @s may end next; NULL if nowhere. */
static const char *deeper(const struct token *t, const char *s, const char *end)
{
	if (t->kind == TOKEN_DEEP)
		return s < end ? s + 1 : NULL;
	s = memchr(s, '/', (size_t)(end - s));
	return s ? s + 1 : NULL;
}

/* Is the pattern satisfied where the text ends? */
static bool ends_well(const struct token *t, bool below)
{
	if (below)
		return t->kind == TOKEN_BYTE && t->byte == '/';
	return t->kind == TOKEN_END;
}

/*
 * Is [s, end) what the pattern describes? With @below, it is a directory's
 * path and the question is whether the pattern could fit something below.
 */
static bool glob(const struct pattern *p, const char *s, const char *end,
		 bool below)
{
	const struct token *t = p->tokens, *star = NULL, *deep = NULL;
	const char *star_at = NULL, *deep_at = NULL;

	for (;;) {
		if (t->kind == TOKEN_STAR) {
			star = t++;
			star_at = s;
		} else if (t->kind == TOKEN_DEEP || t->kind == TOKEN_DIRS) {
			if (below)
				return true;
			deep = t++;
			deep_at = s;
			star = NULL;
		} else if (s == end && ends_well(t, below)) {
			return true;
		} else if (s < end && takes(p, t, (u8)*s)) {
			t++;
			s++;
		} else if (star && star_at < end && *star_at != '/') {
			s = ++star_at;
			t = star + 1;
		} else {
			star = NULL;
			deep_at = deep ? deeper(deep, deep_at, end) : NULL;
			if (!deep_at)
				return false;
			s = deep_at;
			t = deep + 1;
		}
	}
}

static bool match_range(const struct pattern_set *set, const char *path,
			const char *end, bool is_dir)
{
	const char *base = end;
	size_t i = set->nr;

	path += path < end && *path == '/';
	if (path == end)
		return false;
	while (base > path && base[-1] != '/')
		base--;
	/* The last that fits decides: from the back, the first that fits. */
	while (i-- > 0) {
		const struct pattern *p = &set->patterns[i];

		if (p->dirs_only && !is_dir)
			continue;
		if (glob(p, p->base_name ? base : path, end, false))
			return !p->negated;
	}
	return false;
}

bool pattern_set_match(const struct pattern_set *set, const char *path,
		       bool is_dir)
{
	return match_range(set, path, path + strlen(path), is_dir);
}

bool pattern_set_match_above(const struct pattern_set *set, const char *path,
			     bool is_dir)
{
	const char *end = path;

	while ((end = strchr(end + (*end == '/'), '/'))) {
		if (match_range(set, path, end, true))
			return true;
	}
	return pattern_set_match(set, path, is_dir);
}

bool pattern_set_may_match_below(const struct pattern_set *set,
				 const char *path)
{
	const char *end = path + strlen(path);
	size_t i;

	path += *path == '/';
	for (i = 0; i < set->nr; i++) {
		const struct pattern *p = &set->patterns[i];

		if (p->negated)
			continue;
		if (!p->absolute || path == end || glob(p, path, end, true))
			return true;
	}
	return false;
}
