#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# New data is compressed against what it replaces, whatever its name and its
# depth; a pool or a backup may do without.
. "$(dirname "$0")/functions.sh"

# version N: noise with a byte of every 24,000 changed anew.
version() {
	noise 3000000 7 | python3 -c 'import random, sys
data = bytearray(sys.stdin.buffer.read())
r = random.Random(int(sys.argv[1]))
for at in range(0, len(data) - 24000, 24000):
    data[at + r.randrange(24000)] ^= 1 + r.randrange(255)
sys.stdout.buffer.write(data)' "$1" >"$tmp/v$1"
}

for i in 1 2 3 4 5 6; do
	version $i
done

# Names that never repeat, as of dumps: a depth each.
for depth in 0 1 2 8; do
	pool=$tmp/pool-$depth
	new_pool --delta-depth $depth
	for i in 1 2 3 4 5 6; do
		backup --stdin "dump-$i" <"$tmp/v$i"
		[ $i = 1 ] && continue
		if [ $depth = 0 ]; then
			assert_summary bytes_referring=0
			continue
		fi
		assert_between "depth $depth, version $i" \
			"$(summary bytes_stored)" 1 400000
		assert_between "told of it" \
			"$(summary bytes_saved_referring)" 500000 3200000
	done
	expect 0 akin check --read-data
	for id in $(akin snapshots --json |
		    jq -r 'select(.type == "snapshot") | .id'); do
		name=$(akin ls "$id" | tail -n 1)
		akin cat "$id:$name" | cmp - "$tmp/v${name##*-}"
	done
done

# One backup without, one deeper than the pool says.
expect 0 akin stats --by-codec
assert_says "$out" '^  by reference +zstd +[0-9]+ .*x$'
pool=$tmp/pool-2
version 7
backup --delta-depth 0 --stdin dump-7 <"$tmp/v7"
assert_summary bytes_referring=0
assert_between "in full" "$(summary bytes_stored)" 600000 3300000
version 8
backup --delta-depth 8 --stdin dump-8 <"$tmp/v8"
assert_between "by reference" "$(summary bytes_stored)" 1 400000
akin cat latest:dump-8 | cmp - "$tmp/v8"

expect 2 akin backup --delta-depth 9 --stdin x </dev/null
expect 2 "$AKIN" init --delta-depth -1 "$tmp/other"
assert_no_file "$tmp/other"
