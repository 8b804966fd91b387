#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The engines: each finds what it should, each finds what the others stored, and
# a lost or damaged similarity table costs nothing but what it would have found.
. "$(dirname "$0")/functions.sh"

# text BYTES SEED [EVERY [SALT]]: lines of words, a byte in EVERY changed.
text() {
	python3 - "$@" <<'PY'
import random, sys
size, seed = int(sys.argv[1]), int(sys.argv[2])
r = random.Random(seed)
words = ["".join(r.choice("abcdefghijklmnopqrstuvwxyz")
                 for _ in range(r.randrange(2, 12))) for _ in range(3000)]
out = bytearray()
while len(out) < size:
    out += (" ".join(r.choice(words) for _ in range(10)) + "\n").encode()
del out[size:]
if len(sys.argv) > 3:
    every = int(sys.argv[3])
    r = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    for at in range(0, len(out) - every, every):
        out[at + r.randrange(every)] = 0x30 + r.randrange(10)
    out[-1] = 0x30 + r.randrange(10)
sys.stdout.buffer.write(out)
PY
}

text 3000000 1 >"$tmp/base"
for i in 1 2 3; do
	text 3000000 1 30000 $i >"$tmp/v$i"
done
text 400000 2 >"$tmp/other"
# Every chunk of it differs, and it lies somewhere else.
text 400000 2 1000 >"$tmp/near"

# Versions under names that never repeat, all but the first small; then
# something that was moved and changed all over.
for engine in identity similarity hybrid; do
	pool=$tmp/pool-$engine
	new_pool --engine $engine
	expect 0 akin stats --json
	[ "$(head -n 1 "$out" | jq -r .engine)" = $engine ] || fail "stats"
	backup --stdin first <"$tmp/base"
	[ "$(summary engine)" = $engine ] || fail "backup says $(summary engine)"
	full=$(summary bytes_stored)
	backup --stdin other <"$tmp/other"
	for i in 1 2 3; do
		backup --stdin "dump-$i" <"$tmp/v$i"
		ids[i]=$(summary snapshot)
		assert_between "$engine: duplicates of version $i" \
			"$(summary bytes_new)" 1 2000000
		assert_between "$engine: version $i" \
			"$(summary bytes_stored)" 1 $((full / 10))
	done
	backup --stdin near <"$tmp/near"
	assert_between "$engine: no duplicate" \
		"$(summary bytes_new)" 400000 400000
	if [ $engine = identity ]; then
		assert_between "stored in full" "$(summary bytes_stored)" \
			120000 300000
		assert_no_file "$pool/meta/similar"
	else
		assert_between "$engine: by its sketches" \
			"$(summary bytes_stored)" 1 30000
		assert_between "$engine: told" \
			"$(summary chunks_resembling)" 30 100
		# Four bytes for each MiB, and no pool is too small for 256 KiB.
		assert_between "$engine: memory" "$(summary similar_bytes)" \
			1000 262144
		[ -f "$pool/meta/similar" ] || fail "no table"
	fi
	for i in 1 2 3; do
		akin cat "${ids[i]}:dump-$i" | cmp - "$tmp/v$i"
	done
	akin cat latest:near | cmp - "$tmp/near"
	expect 0 akin check --read-data
done

# One that begins with identity, and changes over: the table is made from the
# directories. What is stored without its like in it has no sketches.
pool=$tmp/pool-identity
backup --engine similarity --stdin again <"$tmp/v3"
assert_summary engine=similarity
assert_between "stored by identity" "$(summary bytes_new)" 0 300000
[ -f "$pool/meta/similar" ] || fail "no table"
backup --stdin again-2 <"$tmp/v2"
assert_summary engine=identity bytes_new=0

# Whatever happens to the table.
pool=$tmp/pool-hybrid
text 400000 2 1000 7 >"$tmp/near"
truncate -s 1000 "$pool/meta/similar"
backup --dry-run --stdin nothing <"$tmp/near"
[ "$(stat -c %s "$pool/meta/similar")" = 1000 ] || fail "a dry run wrote"
backup --stdin near-2 <"$tmp/near"
assert_between "made anew" "$(summary bytes_stored)" 1 30000
[ "$(stat -c %s "$pool/meta/similar")" -gt 1000 ] || fail "not written"
head -c 5000 /dev/urandom >"$pool/meta/similar"
text 400000 2 1000 8 >"$tmp/near"
backup --engine similarity --stdin near-3 <"$tmp/near"
assert_between "made anew" "$(summary bytes_stored)" 1 30000
rm "$pool/meta/similar"
mkdir "$pool/meta/similar"
text 400000 2 1000 9 >"$tmp/near"
backup --stdin near-4 <"$tmp/near"
assert_between "made for one backup" "$(summary bytes_stored)" 1 30000
akin cat latest:near-4 | cmp - "$tmp/near"
rmdir "$pool/meta/similar"

# What is stored again is found again.
expect 0 akin optimize
expect 0 akin gc
text 400000 2 1000 10 >"$tmp/near"
backup --stdin near-5 <"$tmp/near"
assert_between "after optimizing" "$(summary bytes_stored)" 1 30000
akin cat latest:near-5 | cmp - "$tmp/near"

# A reclaim keeps sketches of what it writes anew, and the table does not mind.
pool=$tmp/pool-similarity
for i in 1 2 3 4; do
	expect 0 akin forget latest
done
expect 0 akin gc
text 3000000 1 30000 9 >"$tmp/v9"
backup --stdin dump-9 <"$tmp/v9"
assert_between "after a reclaim" "$(summary bytes_stored)" 1 $((full / 10))
akin cat latest:dump-9 | cmp - "$tmp/v9"
expect 0 akin check --read-data

expect 2 akin backup --engine both --stdin x </dev/null
expect 2 "$AKIN" init --engine '' "$tmp/none"
assert_no_file "$tmp/none"
