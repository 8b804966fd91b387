#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F07: memory stays within the contract whatever the shape of the input: 200,000
# empty files in one directory. (1102-million-files_slow.sh has more of them.)
. "$(dirname "$0")/functions.sh"
requires_own_memory

n=${NR_FILES:-200000}
mkdir "$src"
python3 - "$src" "$n" <<'PY'
import os, sys
os.chdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    os.close(os.open('file-%07d' % i, os.O_CREAT | os.O_WRONLY, 0o644))
PY

new_pool
peak 0 "$AKIN" -p "$pool" backup --json "$src"
assert_summary files="$n" bytes=0
assert_between "KiB of a backup" "$kib" 1000 $((128 * 1024))
peak 0 "$AKIN" -p "$pool" --memory 64M backup --json "$src"
assert_summary files_unchanged="$n"
assert_between "KiB of an unchanged backup in 64M" "$kib" 1000 $((64 * 1024))
peak 0 "$AKIN" -p "$pool" --memory 64M backup --json --force "$src"
assert_summary files="$n"
assert_between "KiB of a forced backup in 64M" "$kib" 1000 $((64 * 1024))
peak 0 "$AKIN" -p "$pool" --memory 64M ls "latest:$src"
assert_eq lines "$(wc -l <"$out")" $((n + 1))
assert_between "KiB of a listing in 64M" "$kib" 1000 $((64 * 1024))
peak 0 "$AKIN" -p "$pool" --memory 64M restore --json "latest:$src" --target "$dst"
assert_summary files="$n"
assert_between "KiB of a restore in 64M" "$kib" 1000 $((64 * 1024))
assert_eq restored "$(find "$dst" -type f | wc -l)" "$n"
