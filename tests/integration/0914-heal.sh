#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Versions that were compressed against each other, and a hole in the first one:
# all lose something. A backup of the first one stores anew what it lost, and a
# repair puts that where it was: then the others are whole again, too.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 1500000 1 >"$src/f"
new_pool --delta-depth 4
backup "$src"
# Some bytes of every chunk are new.
for v in 2 3; do
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
cp "$src/f" "$tmp/v3"
mapfile -t ids < <(akin snapshots --json | jq -r '.id // empty')
victim=$(find "$pool/data/containers" -type f -size +800k | sort | head -n 1)
dd if=/dev/zero of="$victim" bs=1000 seek=400 count=300 conv=notrunc status=none
cp -a "$pool" "$tmp/good"

# Unknown until somebody reads it; a repair that reads says so, and that there
# is nothing to make it from.
expect 5 akin repair --read-data --yes --json
assert_summary steps=0 chunks_healed=0 snapshots_damaged=3
for v in 1 2 3; do
	expect 5 akin cat "${ids[v - 1]}:$src/f"
done

# Another version has too little in common with it.
cp "$tmp/v3" "$src/f"
backup --force "$src"
akin cat "${ids[2]}:$src/f" | cmp - "$tmp/v3"
expect 5 akin cat "${ids[1]}:$src/f"

# The first one again, under another name: its chunks are there once more.
mkdir "$tmp/elsewhere"
cp "$tmp/v1" "$tmp/elsewhere/f"
backup "$tmp/elsewhere"
akin cat "${ids[0]}:$src/f" | cmp - "$tmp/v1"
expect 5 akin cat "${ids[1]}:$src/f"
expect 5 akin repair --dry-run
assert_says "$out" 'again from other copies'
expect 5 akin cat "${ids[1]}:$src/f"
expect 0 akin repair --yes --json
assert_summary findings=0 quarantined=0
[ "$(summary chunks_healed)" -ge 30 ] || fail "$(summary chunks_healed) chunks"
whole() {
	local v
	for v in 1 2 3; do
		akin cat "${ids[v - 1]}:$src/f" | cmp - "$tmp/v$v"
	done
	expect 0 akin check --read-data --json
	assert_summary findings=0
}
whole
expect 0 akin repair
assert_says "$out" 'nothing to repair'
# The file with the hole goes with the next reclaim.
[ -e "$victim" ] || fail "it is gone before anybody reclaimed"
expect 0 akin gc
assert_no_file "$victim"
# What was healed does not need the copy.
akin forget --quiet latest
expect 0 akin gc --threshold 1
whole

# Nobody reclaims or backs up meanwhile, and a hole that was none is no damage.
rm -rf "$pool"
cp -a "$tmp/good" "$pool"
cp "$victim" "$tmp/victim"
dd if=/dev/urandom of="$victim" bs=1000 seek=10 count=10 conv=notrunc status=none
expect 5 akin check --read-data
cp "$tmp/victim" "$victim"
expect 5 akin repair --yes
assert_says "$out" 'take the marks off'
expect 5 akin check --json
[ "$(summary chunks_damaged)" -gt 0 ] || fail "the other hole is forgotten"

# Somebody who restores comes upon a hole: it is marked, with what it came
# from, and so the next backup reads the file again, though it has not changed.
rm -rf "$pool" "$tmp/elsewhere"
new_pool
cp "$tmp/v1" "$src/f"
backup "$src"
cp "$tmp/v2" "$src/f"
backup "$src"
victim=$(find "$pool/data/containers" -type f -size +800k | sort | head -n 1)
dd if=/dev/zero of="$victim" bs=1000 seek=400 count=300 conv=notrunc status=none
expect 5 akin cat "latest:$src/f"
expect 5 akin check --json
[ "$(summary chunks_damaged)" -gt 0 ] || fail "it was not marked"
backup "$src"
assert_summary bytes_read=1500000
[ "$(summary bytes_new)" -gt 0 ] || fail "nothing was stored anew"
akin cat "latest:$src/f" | cmp - "$src/f"
