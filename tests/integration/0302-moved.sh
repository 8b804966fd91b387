#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Data that was renamed, copied or joined is found again; only what is new is
# stored.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/old"
for i in 1 2 3; do
	noise 400000 "$i" >"$src/old/f$i"
done
new_pool
backup "$src"
assert_summary bytes_new=1200000

mv "$src/old" "$src/new"
backup "$src"
assert_summary bytes_read=1200000 bytes_new=0 chunks_new=0

cp "$src/new/f1" "$src/copy"
backup "$src"
assert_summary bytes_read=400000 bytes_new=0

# Joined and shifted: all but the seams.
{ echo shift; cat "$src/new/f2" "$src/new/f3"; } >"$src/joined"
backup "$src"
assert_between "bytes new" "$(summary bytes_new)" 6 400000
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
