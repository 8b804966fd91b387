#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is left out, and what is not.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/keep" "$src/cache/deep" "$src/build/obj" "$src/nobackup"
for f in keep/a.c keep/a.o keep/b.O cache/x cache/deep/y build/obj/z build/a.c \
	nobackup/.nobackup nobackup/gone top.o; do
	echo "$f" >"$src/$f"
done
new_pool
listing() {
	akin ls --json "latest:$src" | jq -r .path | sed "s,^$src/*,," | sort |
		grep . | paste -sd ' '
}

backup --exclude '*.o' --exclude cache/ "$src"
assert_eq listing "$(listing)" "build build/a.c build/obj build/obj/z keep\
 keep/a.c keep/b.O nobackup nobackup/.nobackup nobackup/gone"

backup --exclude "$src/build/*" --exclude '!*.c' --exclude-if-present .nobackup "$src"
assert_eq listing "$(listing)" "build build/a.c cache cache/deep cache/deep/y\
 cache/x keep keep/a.c keep/a.o keep/b.O top.o"

printf '# comment\n\n*.c\n*.o\nbuild\nnobackup/\n' >"$tmp/patterns"
backup --exclude-file "$tmp/patterns" --exclude cache "$src"
assert_eq listing "$(listing)" "keep keep/b.O"

# Everything left out is a snapshot of nothing; a missing file is an error.
got=0
akin backup --exclude-file "$tmp/none" "$src" >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "a missing file of patterns is no error"
assert_says "$err" "$tmp/none"
expect 2 akin backup --exclude '[a' "$src"
assert_eq snapshots "$(nr_snapshots)" 3
