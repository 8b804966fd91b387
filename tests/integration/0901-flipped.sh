#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F36: one flipped byte in a container, a run, a record, the catalog, a
# superblock: what is tested is said, damage is named down to the files, and
# never is wrong data given back.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 1 >"$src/one"
noise 3000000 2 >"$src/two"
new_pool --container-size 1M
backup "$src"
cp -a "$pool" "$tmp/good"

# flip FILE OFFSET
flip() {
	python3 - "$@" <<'PY'
import sys
with open(sys.argv[1], 'r+b') as f:
    f.seek(int(sys.argv[2]))
    b = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([b ^ 0x10]))
PY
}
again() {
	rm -rf "$pool" "$dst"
	cp -a "$tmp/good" "$pool"
}
# Whatever comes back without an error is right.
assert_no_lie() {
	local f got
	for f in one two; do
		got=0
		akin cat "latest:$src/$f" >"$tmp/cat" 2>"$err" || got=$?
		if [ $got = 0 ]; then
			cmp "$tmp/cat" "$src/$f"
		else
			[ -s "$err" ] || fail "no message"
		fi
	done
}

expect 0 akin check --json
assert_summary findings=0
[ "$(summary bytes_not_read)" -ge 6000000 ] || fail "a quick check hides what it did not read"
expect 0 akin check --read-data --json
assert_summary findings=0 bytes_not_read=0

# The middle of a full container is data.
victim=$(find "$pool/data/containers" -type f -size +800k | sort | head -n 1)
flip "$victim" 500000
expect 0 akin check --json
[ "$(summary bytes_not_read)" -gt 0 ] || fail "a quick check hides what it did not read"
expect 5 akin check --read-data --json
[ "$(summary chunks_damaged)" -ge 1 ] || fail "no damaged chunk"
assert_summary snapshots_damaged=1
[ "$(summary files_damaged)" -ge 1 ] || fail "no damaged file"
assert_eq "files named" "$(jq -r 'select(.type == "finding") | .path // empty' \
	"$out" | grep -c "^$src/")" "$(summary files_damaged)"
expect 5 akin check --read-data
assert_says "$out" 'akin '
assert_no_lie
got=0
akin restore "latest:$src" --target "$dst" >"$out" 2>"$err" || got=$?
[ $got = 3 ] || [ $got = 5 ] || fail "a restore of damaged data ended with $got"
whole=$(cmp -s "$src/one" "$dst/one" && echo one; cmp -s "$src/two" "$dst/two" && echo two) || :
[ -n "$whole" ] || fail "the file that is whole was not restored"

# Everything else, at several places each.
for f in $(cd "$pool" && find meta/catalog meta/superblock meta/runs \
	data/superblock data/snapshots -type f); do
	size=$(stat -c %s "$tmp/good/$f")
	for offset in 3 $((size / 3)) $((size / 2)) $((size - 2)); do
		again
		flip "$pool/$f" $offset
		got=0
		akin check --read-data >"$out" 2>"$err" || got=$?
		[ $got = 0 ] || [ $got = 5 ] || fail "check with $f: $got"
		assert_no_lie
	done
done
