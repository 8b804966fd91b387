#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F28: a file system that ignores times or invents them: nothing in a pool
# depends on those of its own files.
. "$(dirname "$0")/functions.sh"

lie() {
	find "$pool" -exec touch -h -d "$1" {} +
}
mkdir "$src"
noise 3000000 1 >"$src/a"
new_pool
for when in '1970-01-01 00:00:00' '2106-02-07 06:28:16' '1999-12-31 23:59:59'; do
	lie "$when"
	noise 400000 "$when" >"$src/b"
	backup "$src"
	lie "$when"
	expect 0 akin check --read-data
	rm -rf "$dst"
	restore "latest:$src" --target "$dst"
	assert_same_tree "$src" "$dst"
done
assert_eq snapshots "$(nr_snapshots)" 3
lie '1970-01-01 00:00:00'
backup "$src"
assert_summary files_unchanged=2 bytes_new=0
