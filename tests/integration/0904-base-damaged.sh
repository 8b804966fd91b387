#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Versions that were compressed against each other: what the first one loses,
# the later ones lose; a check says so for each, and a backup of what is still
# there makes those whole again.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 1 >"$src/f"
new_pool --delta-depth 4
backup "$src"
# Some bytes of every chunk are new.
for v in 2 3 4; do
	cp "$src/f" "$tmp/v$((v - 1))"
	python3 - "$src/f" $v <<'PY'
import sys
with open(sys.argv[1], 'r+b') as f:
    data = bytearray(f.read())
    for i in range(int(sys.argv[2]) * 100, len(data), 1500):
        data[i] ^= 0x55
    f.seek(0)
    f.write(data)
PY
	backup "$src"
done
cp "$src/f" "$tmp/v4"
size=$(du -sb "$pool/data/containers" | cut -f 1)
[ "$size" -lt 5000000 ] || fail "four versions of 3 MB take $size bytes"
expect 0 akin check --read-data --json
assert_summary findings=0 bytes_not_read=0
cp -a "$pool" "$tmp/good"

mapfile -t ids < <(akin snapshots --json | jq -r '.id // empty')
assert_eq "snapshots" "${#ids[@]}" 4
for v in 1 2 3 4; do
	akin cat "${ids[v - 1]}:$src/f" | cmp - "$tmp/v$v"
done

victim=$(find "$pool/data/containers" -type f -size +800k | sort | head -n 1)
python3 - "$victim" <<'PY'
import sys
with open(sys.argv[1], 'r+b') as f:
    f.seek(500000)
    b = f.read(1)[0]
    f.seek(500000)
    f.write(bytes([b ^ 0x10]))
PY
for v in 1 2 3 4; do
	expect 5 akin cat "${ids[v - 1]}:$src/f"
	assert_says "$err" 'wrong checksum'
done
assert_says "$err" 'its reference to container '
expect 5 akin check --read-data --json
assert_summary snapshots_damaged=4 files_damaged=4
# Known now, without reading.
expect 5 akin check --json
assert_summary snapshots_damaged=4 files_damaged=4

# What the source still has is stored anew, against nothing that is damaged.
expect 0 akin backup "$src"
akin cat "latest:$src/f" | cmp - "$tmp/v4"
akin cat "${ids[3]}:$src/f" | cmp - "$tmp/v4"
expect 5 akin check --read-data --json
assert_summary snapshots_damaged=3

# The container as a whole, and no check before the next backup.
rm -rf "$pool"
cp -a "$tmp/good" "$pool"
rm "$victim"
expect 0 akin backup "$src"
akin cat "latest:$src/f" | cmp - "$tmp/v4"
akin cat "${ids[3]}:$src/f" | cmp - "$tmp/v4"
expect 5 akin check --read-data --json
assert_summary snapshots_damaged=3
