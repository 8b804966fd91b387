#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Estimates of trees, files and pipes with known duplicates; and a plan of one.
. "$(dirname "$0")/functions.sh"

cat >"$tmp/value.py" <<'PY'
import json, sys
kind, cut, block, key = sys.argv[2:]
with open(sys.argv[1]) as f:
    for o in map(json.loads, f):
        if o['type'] == kind and (kind == 'estimate' or
                                  (o['cut'], o['block_bytes']) == (cut, int(block))):
            print(o[key])
PY
value() {
	python3 "$tmp/value.py" "$out" "$@"
}

# 1 MiB of noise under three names of two files, one of them a hard link.
mkdir -p "$src/deep/er" "$src/empty"
head -c 1M /dev/urandom >"$src/a"
cp "$src/a" "$src/deep/er/b"
ln "$src/a" "$src/deep/link"
ln -s a "$src/symlink"
mkfifo "$src/fifo"
: >"$src/nothing"
expect 0 "$AKIN" estimate --json "$src"
assert_eq read "$(value method fixed 4096 logical_bytes)" 2097152
assert_eq blocks "$(value method fixed 4096 blocks)" 512
assert_eq distinct "$(value method fixed 4096 distinct)" 256
assert_eq unique "$(value method content 8192 unique_bytes)" 1048576
assert_eq "the table of ZFS" "$(value method fixed 131072 zfs_table_bytes)" 2560
assert_eq noise "$(value method content 8192 factor_zstd)" 1.0
assert_eq logical "$(value estimate - 0 logical_bytes)" 2097152
assert_eq unique "$(value estimate - 0 unique_bytes)" 1048576
assert_eq stored "$(value estimate - 0 stored_bytes)" 1048576

# A plan reads it, from a file and from a pipe.
cp "$out" "$tmp/estimate"
expect 0 "$AKIN" capacity plan "$tmp/estimate" --disk 1TB
assert_says "$out" '^fits'
"$AKIN" estimate --json "$src" | "$AKIN" capacity plan - --disk 1MB >"$tmp/plan"
assert_says "$tmp/plan" 'full|never|not'

# A stream, twice the same data; text for people.
cat "$src/a" "$src/a" | "$AKIN" estimate --json - >"$out"
assert_eq stream "$(value method fixed 4096 distinct)" 256
expect 0 "$AKIN" estimate "$src/a" "$src/deep/er/b"
assert_says "$out" '^2 files, 2.00 MiB'
assert_says "$out" '^fixed +4.00 KiB +512 +256 +1.00 MiB +exact +2.00x +80.0 KiB'

# What cannot be.
expect 2 "$AKIN" estimate
expect 2 "$AKIN" estimate --memory 1M "$src"
"$AKIN" estimate "$tmp/missing" >"$out" 2>"$err" && fail "of what is not there"
assert_says "$err" 'missing'
