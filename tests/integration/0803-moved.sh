#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F29: a pool that was moved, a closed stdin, a silent pipe: no question is
# asked.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 300000 >"$src/file"
new_pool
backup "$src"
mkdir "$tmp/elsewhere"
mv "$pool" "$tmp/elsewhere/moved"
pool=$tmp/elsewhere/moved
for stdin in closed pipe; do
	if [ $stdin = closed ]; then
		expect 0 timeout 60 "$AKIN" -p "$pool" backup --json "$src" <&-
	else
		mkfifo "$tmp/silent"
		exec 5<>"$tmp/silent"
		expect 0 timeout 60 "$AKIN" -p "$pool" backup --json "$src" <&5
	fi
	assert_summary files_unchanged=1 bytes_read=0
	expect 0 timeout 60 "$AKIN" -p "$pool" check --read-data
done
rm -rf "$dst"
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
expect 2 timeout 60 "$AKIN" -p "$pool" backup --stdin x <&-
# Standard output and error closed: nothing written to a file of ours instead.
"$AKIN" -p "$pool" backup "$src" >&- 2>&- || :
restore "latest:$src" --target "$tmp/again"
assert_same_tree "$src" "$tmp/again"
