#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F47: who may only read a pool can list, restore and check it, and changes
# nothing.
. "$(dirname "$0")/functions.sh"
requires_nobody

mkdir "$src"
noise 1000000 >"$src/file"
new_pool
backup "$src"
backup --force "$src"
chmod -R a+rX,a-w "$pool"
state() {
	(cd "$pool" && find . -printf '%p %s %T@ %C@\n' | sort)
}
state >"$tmp/before"
expect 0 as_nobody "$tmp/akin" -p "$pool" snapshots
assert_eq lines "$(wc -l <"$out")" 3
expect 0 as_nobody "$tmp/akin" -p "$pool" ls latest
expect 0 as_nobody "$tmp/akin" -p "$pool" find file
expect 0 as_nobody "$tmp/akin" -p "$pool" stats
expect 0 as_nobody "$tmp/akin" -p "$pool" check --read-data
expect 0 as_nobody "$tmp/akin" -p "$pool" cat "latest:$src/file"
cmp "$out" "$src/file"
mkdir "$dst"
chown 65534:65534 "$dst"
got=0
as_nobody "$tmp/akin" -p "$pool" restore "latest:$src" --target "$dst" >"$out" 2>"$err" || got=$?
[ $got = 0 ] || [ $got = 3 ] || fail "a restore ended with $got"
cmp "$src/file" "$dst/file"

# Writing is refused, with a reason.
got=0
as_nobody "$tmp/akin" -p "$pool" backup /dev/null >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "a backup into a pool that may not be written"
assert_says "$err" '[Pp]ermission|denied|read'
state | diff "$tmp/before" -
