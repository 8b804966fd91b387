#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A snapshot that was rewritten or copied is as old as it was: it is not the
# newest, not at the end of the list, and not what the next backup begins from.
. "$(dirname "$0")/functions.sh"
requires_command jq

listed() {
	akin snapshots --json "$@" | jq -r '.tags[0]' | paste -sd ' '
}

mkdir -p "$src/gone"
echo secret >"$src/gone/f"
new_pool
for n in 1 2 3; do
	echo "version $n" >"$src/f"
	backup --tag "v$n" --tag all "$src"
done
third=$(summary snapshot)
expect 0 akin rewrite --drop "$src/gone" tag:v1
expect 0 akin rewrite --drop "$src/gone" tag:v2

assert_eq list "$(listed)" "v1 v2 v3"
assert_eq "some of it" "$(listed --tag all --host "$(uname -n)")" "v1 v2 v3"
expect 0 akin cat "latest:$src/f"
assert_eq latest "$(cat "$out")" "version 3"
expect 0 akin cat "tag:all:$src/f"
assert_eq tag "$(cat "$out")" "version 3"
expect 0 akin cat "tag:v1:$src/f"
assert_eq "the old one" "$(cat "$out")" "version 1"
backup --tag v4 "$src"
assert_eq parent "$(summary parent)" "$third"
assert_summary bytes_read=0

# Forgotten ones, too.
assert_eq forgotten "$(listed --forgotten)" "v1 v2"

# The newest first, then what is older, and one of the other pool's own.
"$AKIN" init --quiet --like "$pool" "$tmp/second"
expect 0 "$AKIN" copy "$pool" "$tmp/second" tag:v3
expect 0 "$AKIN" copy "$pool" "$tmp/second"
pool=$tmp/second
assert_eq copied "$(listed)" "v1 v2 v3 v4"
expect 0 akin cat "latest:$src/f"
assert_eq latest "$(cat "$out")" "version 3"
echo "version 5" >"$src/f"
backup --tag v5 "$src"
assert_eq "its own" "$(listed)" "v1 v2 v3 v4 v5"
expect 0 akin check --read-data
