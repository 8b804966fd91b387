# SPDX-License-Identifier: Apache-2.0
#
# Reads scripts/limits.allow, then C files. Prints findings of the checks spdx,
# width and banned as "CHECK<tab>FILE:LINE: text", and for the check of limits
# the facts "lines<tab>FILE N" and "function<tab>FILE NAME N" of what is over.

function finding(check, text) {
	printf "%s\t%s:%d: %s\n", check, FILENAME, FNR, text
}

# The line without comments and without what is inside quotes.
function code_of(s,	out, i, c, two) {
	if (!in_comment && s !~ /["'\/]/)
		return s
	out = ""
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		two = substr(s, i, 2)
		if (in_comment) {
			if (two == "*/") {
				in_comment = 0
				i++
			}
		} else if (two == "/*") {
			in_comment = 1
			i++
		} else if (two == "//") {
			break
		} else if (c == "\"" || c == "'") {
			i = quoted_end(s, i, c)
			out = out c c
		} else {
			out = out c
		}
	}
	return out
}

function quoted_end(s, i, quote,	c) {
	for (i++; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\\")
			i++
		else if (c == quote)
			break
	}
	return i
}

function width_of(s,	w, i) {
	if (s !~ /\t/)
		return length(s)
	w = 0
	for (i = 1; i <= length(s); i++)
		w = substr(s, i, 1) == "\t" ? w + 8 - w % 8 : w + 1
	return w
}

# Is @name called here, as a function and not as a slot of a table?
function calls(code, name) {
	return code ~ ("(^|[^A-Za-z0-9_>.])" name "[ \t]*\\(")
}

function banned_in_library(name) {
	used[FILENAME, name] = 1
	if (!((FILENAME, name) in may))
		finding("banned", name "() is banned in the library")
}

function check_banned(code,	i) {
	for (i = 1; i <= nr_everywhere; i++)
		if (calls(code, everywhere[i]))
			finding("banned", everywhere[i] "() is banned")
	# cmocka's says "not ok", which meson counts as a failure.
	if (FILENAME ~ /^tests\// && calls(code, "skip"))
		finding("banned", "print \"# skipped: why\" and return")
	if (FILENAME !~ /^src\//)
		return
	for (i = 1; i <= nr_library; i++)
		if (calls(code, library[i]))
			banned_in_library(library[i])
	if (code ~ /(^|[^A-Za-z0-9_])std(out|err)([^A-Za-z0-9_]|$)/)
		finding("banned", "the library does not print")
}

# Functions begin with "{" and end with "}" in the first column.
function check_function(line, code) {
	if (line == "{") {
		body_start = FNR
	} else if (line ~ /^}/) {
		if (body_start && FNR - body_start - 1 > 80)
			printf "function\t%s %s %d\n", FILENAME, name, \
				FNR - body_start - 1
		body_start = 0
	} else if (!body_start && code ~ /^[A-Za-z_].*\(/) {
		name = code
		sub(/[ \t]*\(.*/, "", name)
		sub(/.*[^A-Za-z0-9_]/, "", name)
	}
}

function end_file() {
	if (file != "" && lines > 1000)
		printf "lines\t%s %d\n", file, lines
}

BEGIN {
	nr_everywhere = split("strcpy strcat sprintf vsprintf strtok gets " \
		"alloca tmpnam mktemp atoi atol atoll", everywhere, " ")
	nr_library = split("printf puts putchar perror exit _exit abort " \
		"system popen malloc calloc realloc reallocarray free " \
		"strdup strndup asprintf vasprintf posix_memalign " \
		"aligned_alloc assert", library, " ")
}

FILENAME == "scripts/limits.allow" {
	if ($1 == "call")
		may[$2, $3] = 1
	next
}

FNR == 1 {
	end_file()
	file = FILENAME
	in_comment = body_start = 0
	if ($0 != "/* SPDX-License-Identifier: Apache-2.0 */")
		finding("spdx", "the first line is not the licence")
}

{
	lines = FNR
	if (length($0) > 40 && width_of($0) > 100)
		finding("width", width_of($0) " columns, the limit is 100")
	code = code_of($0)
	check_banned(code)
	check_function($0, code)
}

END {
	end_file()
	for (key in may)
		if (!(key in used)) {
			split(key, part, SUBSEP)
			print "banned\tscripts/limits.allow: " part[1] \
				" does not call " part[2] "() any more"
		}
}
