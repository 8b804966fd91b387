#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Snapshots in another pool: the same trees, little more space than there, only
# what is missing; also with other keys; and after being killed.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command python3

mkdir -p "$src/d/empty"
ln -s d "$src/link"
mkfifo "$src/fifo"
echo tiny >"$src/tiny"
ln "$src/tiny" "$src/hard"
truncate -s 3M "$src/holes"
printf 'x' | dd of="$src/holes" bs=1 seek=1000000 conv=notrunc status=none
noise 2000000 fixed >"$src/fixed"
# text SEED: lines, some of which differ with every version.
text() {
	python3 -c 'import random, sys
n = int(sys.argv[1])
r = random.Random(1)
lines = ["%032x" % r.getrandbits(128) for i in range(30000)]
for v in range(n):
    c = random.Random(100 + v)
    for _ in range(60):
        lines[c.randrange(len(lines))] = "%032x" % c.getrandbits(128)
print("\n".join(lines))' "$1"
}
ids=()
new_pool
for v in 1 2 3; do
	text $v >"$src/d/text"
	cp -a "$src" "$tmp/v$v"
	backup --tag "v$v" "$src"
	ids+=("$(summary snapshot)")
done
akin tag "${ids[0]}" --add later >/dev/null

usage() {
	find "$1/data/containers" -type f -printf '%s\n' |
		awk '{ sum += $1 } END { print sum + 0 }'
}
# same POOL: all three as they were.
same() {
	local v
	for v in 1 2 3; do
		rm -rf "$dst"
		expect 0 "$AKIN" -p "$1" restore "${ids[v - 1]}:$src" --target "$dst"
		assert_same_tree "$tmp/v$v" "$dst"
	done
	expect 0 "$AKIN" -p "$1" check --read-data
}
listed() {
	"$AKIN" -p "$1" snapshots --json | jq -c 'select(.type == "snapshot") |
		[.id, .time, .host, .paths, .tags, .files, .dirs, .bytes]'
}

# The same keys.
alike=$tmp/alike
expect 0 "$AKIN" init --like "$pool" "$alike"
expect 0 "$AKIN" copy --json "$pool" "$alike" "${ids[0]}"
assert_summary copied=1 there=0
expect 0 "$AKIN" copy --json "$pool" "$alike"
assert_summary copied=2 there=1
# Of the second and third only the file that changed was read.
jq -e -s 'map(select(.type == "copied" and (.there | not)) |
	.bytes_read < 1100000 and .bytes_new < 500000 and .files_unchanged >= 3) |
	all' "$out" >/dev/null || fail "read too much: $(cat "$out")"
assert_eq listed "$(listed "$alike")" "$(listed "$pool")"
same "$alike"
a=$(usage "$pool") b=$(usage "$alike")
((b * 10 <= a * 11)) || fail "$b bytes, not $a"
before=$(usage "$alike")
expect 0 "$AKIN" copy "$pool" "$alike"
assert_says "$out" "copied 0, there already 3"
assert_eq "nothing written" "$(usage "$alike")" "$before"
# Its next backup goes on from there, and back it is there already.
expect 0 "$AKIN" -p "$alike" backup --json "$src"
assert_summary files_unchanged=5
expect 0 "$AKIN" copy --json "$alike" "$pool"
assert_summary copied=1 there=3
same "$pool"

# Other keys and another codec: cut anew.
other=$tmp/other
expect 0 "$AKIN" init "$other"
expect 0 "$AKIN" copy --compression lz4 --tag v2 "$pool" "$other"
assert_says "$out" "copied 1"
expect 0 "$AKIN" copy --memory 64M "$pool" "$other" "${ids[0]}" "${ids[2]:0:8}" latest
same "$other"

# Nonsense.
expect 2 "$AKIN" copy "$pool"
expect 4 "$AKIN" copy "$pool" "$tmp/none"
expect 1 "$AKIN" copy "$pool" "$other" ffffffff
expect 2 "$AKIN" copy "$pool" "$pool"
assert_says "$err" "not copied to itself"

# Killed in the middle, again and again: whole snapshots or none.
killed=$tmp/killed
expect 0 "$AKIN" init --like "$pool" "$killed"
for delay in 0.05 0.1 0.2 0.4; do
	timeout -s KILL "$delay" "$AKIN" copy --quiet "$pool" "$killed" \
		>/dev/null 2>&1 || :
	expect 0 "$AKIN" -p "$killed" check
done
expect 0 "$AKIN" copy "$pool" "$killed"
same "$killed"

# Damage is not copied.
largest=$(find "$other/data/containers" -type f -printf '%s %p\n' | sort -n |
	tail -1 | cut -d ' ' -f 2)
printf 'damage' | dd of="$largest" bs=1 seek=50000 conv=notrunc status=none
expect 0 "$AKIN" init "$tmp/last"
expect 5 "$AKIN" copy "$other" "$tmp/last"
assert_eq "none of it" "$(listed "$tmp/last" | grep "${ids[1]}" || :)" ""
