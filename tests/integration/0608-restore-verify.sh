#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --verify reads back what was restored.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 >"$src/file"
truncate -s 10M "$src/hole"
ln "$src/file" "$src/link"
new_pool
backup "$src"
restore "latest:$src" --target "$dst" --verify
assert_summary verified=true warnings=0
restore "latest:$src" --target "$dst" --verify
assert_summary verified=true

# if-changed left a file alone that differs: now it is noticed.
printf X | dd of="$dst/file" bs=1 seek=1234567 conv=notrunc status=none
touch -r "$src/file" "$dst/file"
got=0
akin restore --json "latest:$src" --target "$dst" --verify >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "other bytes were not noticed"
assert_says "$err" file
