#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Optimizing: the newest snapshot ends without references, all of them restore
# as they were, with a kill and a backup in between.
. "$(dirname "$0")/functions.sh"

# version N: a tree in which files come, go and change, and a stream.
version() {
	mkdir -p "$src/d/e" "$src/n$1"
	python3 -c 'import random, sys
top, n = sys.argv[1], int(sys.argv[2])
def data(size, seed):
    r = random.Random(seed)
    b = bytearray(r.randbytes(size))
    for v in range(n + 1):
        r = random.Random(seed * 100 + v)
        for at in range(0, size - 9000, 9000):
            b[at + r.randrange(9000)] ^= 1 + r.randrange(255)
    return b
open(top + "/d/large", "wb").write(data(1500000, 1))
for i in range(20):
    open("%s/d/e/f%d" % (top, i), "wb").write(data(20000 + 1000 * i, 2 + i))
open("%s/n%d/own" % (top, n), "wb").write(data(30000, 1000 + n))
open(top + "/stream", "wb").write(data(700000, 50))' "$src" "$1"
	ln -sfn "n$1" "$src/link"
	[ "$1" -lt 3 ] || rm -rf "$src/n$(($1 - 2))"
}

new_pool --container-size 1M
for i in 1 2 3 4; do
	version $i
	backup "$src"
	tree[i]=$(summary snapshot)
	backup --stdin stream <"$src/stream"
	stream[i]=$(summary snapshot)
	cp -a "$src" "$tmp/v$i"
done

# all_whole WHEN
all_whole() {
	local i
	for i in 1 2 3 4; do
		rm -rf "$dst"
		restore "${tree[i]}:$src" --target "$dst"
		assert_same_tree "$tmp/v$i" "$dst"
		akin cat "${stream[i]}:stream" | cmp - "$tmp/v$i/stream" ||
			fail "$1: stream $i"
	done
	expect 0 akin check --read-data
}

kib() {
	du -sk "$pool/data/containers" | cut -f 1
}

before=$(kib)
expect 0 akin optimize --dry-run --json
assert_summary series=2 snapshots=8 bytes_stored=0
assert_eq "containers" "$(kib)" "$before"
[ "$(summary restore_depth_before)" -gt 0 ] || fail "nothing to win"

# Killed when it has written something.
cp -a "$pool" "$tmp/killed"
nr=$(find "$tmp/killed/data/containers" -type f | wc -l)
"$AKIN" -p "$tmp/killed" optimize >/dev/null 2>&1 &
victim=$!
pids+=("$victim")
for ((i = 0; i < 500; i++)); do
	n=$(find "$tmp/killed/data/containers" -type f | wc -l)
	[ "$n" -lt $((nr + 3)) ] || break
	sleep 0.01
done
kill -KILL "$victim" 2>/dev/null || :
wait "$victim" 2>/dev/null || :
usual=$pool
pool=$tmp/killed
expect 0 akin check --read-data
expect 0 akin gc
expect 0 akin optimize
expect 0 akin gc
all_whole "killed and gone on"
# It was small before: all but the first version are differences.
assert_between "KiB" "$(kib)" 1 $((before + before / 20))
pool=$usual

# A backup beside it.
"$AKIN" -p "$pool" optimize --json >"$tmp/optimized" 2>"$err" &
beside=$!
backup --stdin beside <"$tmp/v3/stream"
wait "$beside" || fail "optimize beside a backup"
cp "$tmp/optimized" "$out"
# It may have come in time to be one of them.
assert_between "moved" "$(summary snapshots_moved)" 8 9
expect 0 akin check --read-data
akin cat latest:beside | cmp - "$tmp/v3/stream"
expect 0 akin gc
all_whole "reclaimed"
akin cat latest:beside | cmp - "$tmp/v3/stream"

# In order, and then not any more.
expect 0 akin optimize --json
assert_summary series=3
assert_between "moved" "$(summary snapshots_moved)" 0 1
version 5
backup "$src"
expect 0 akin optimize --compression zstd:9 --json
assert_summary series=3 series_in_order=0
# At most what resembles the other series' newest.
assert_between "depth" "$(summary restore_depth)" 0 1
expect 0 akin gc
expect 0 akin check --read-data
akin cat "${stream[1]}:stream" | cmp - "$tmp/v1/stream"

# The records in the data pool have the old hints.
rm -rf "$pool/meta"
expect 0 akin repair --yes
expect 0 akin check --read-data
akin cat "${stream[2]}:stream" | cmp - "$tmp/v2/stream"

expect 2 akin optimize --delta-depth 9
expect 2 akin optimize --compression nonsense
