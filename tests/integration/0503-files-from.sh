#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lists of paths: one a line, or ended by NUL bytes.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir"
echo 1 >"$src/one"
echo 2 >"$src/dir/two"
echo 3 >"$src/"$'new\nline'
echo 4 >"$src/other"
new_pool
printf '%s\n' "$src/one" '' "$src/dir" >"$tmp/list"
backup --files-from "$tmp/list"
assert_summary files=2
expect 0 akin cat "latest:$src/dir/two"
assert_eq content "$(cat "$out")" 2

expect 0 akin backup --json --files-from0 - < <(printf '%s\0' "$src/new"$'\n'line "$src/one")
assert_summary files=2
expect 0 akin cat "latest:$src/new"$'\n'line
assert_eq content "$(cat "$out")" 3

backup --files-from "$tmp/list" "$src/other"
assert_summary files=3
expect 2 akin backup --files-from /dev/null

# Relative paths, dots, and a path inside another.
cd "$src"
backup one ./dir/../dir "$src/dir/two" other
assert_summary files=3
expect 0 akin snapshots --json
assert_eq paths "$(jq -c .paths "$out" | tail -n 1)" \
	"[\"$src/dir\",\"$src/one\",\"$src/other\"]"
