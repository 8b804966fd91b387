#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers that cannot be opened any more: what is left in them is salvaged,
# what is lost is said by file and snapshot, and the old file is put aside.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
for i in $(seq 16); do
	noise 50000 "a$i" >"$src/a$i"
	seq "$i" 3000 >"$src/text$i"
done
new_pool --container-size 1M --delta-depth 2
backup --tag one "$src"
cp -a "$src" "$tmp/one"
for i in $(seq 16); do
	seq "$i" 7 3000 >>"$src/text$i"
done
noise 200000 b >"$src/b"
backup --tag two "$src"
cp -a "$src" "$tmp/two"
cp -a "$pool" "$tmp/good"
victim=$(find "$pool/data/containers" -type f -size +700k | sort | head -n 1)
size=$(stat -c %s "$victim")
name=$(basename "$victim")

again() {
	rm -rf "$pool"
	cp -a "$tmp/good" "$pool"
}
# zeros OFFSET LENGTH: in the victim.
zeros() {
	dd if=/dev/zero of="$victim" bs=1 seek="$1" count="$2" conv=notrunc status=none
}
whole() {
	local v
	for v in one two; do
		rm -rf "$dst"
		restore "tag:$v:$src" --target "$dst"
		assert_same_tree "$tmp/$v" "$dst"
	done
	expect 0 akin check --read-data --json
	assert_summary findings=0
	expect 0 akin gc --json
	expect 0 akin repair
	assert_says "$out" 'nothing to repair'
}
# Files that a restore gives back are right; those of $tmp/lost are missing, and
# no others.
in_part() {
	local v
	for v in one two; do
		rm -rf "$dst"
		got=0
		akin restore "tag:$v:$src" --target "$dst" >"$tmp/o" 2>"$tmp/e" || got=$?
		[ $got = 3 ] || [ $got = 5 ] || fail "restore of $v: $got"
		(cd "$dst" && find . -type f -printf '%P\n') | while read -r f; do
			cmp -s "$dst/$f" "$tmp/$v/$f" ||
				grep -qx "$v $src/$f" "$tmp/lost" ||
				fail "$v: $f differs and was not named"
		done
	done
}
# The lost files as the repair names them: "TAG PATH".
name_lost() {
	local id
	jq -r 'select(.type == "finding" and .path) | .snapshot + " " + .path' "$out" |
		sort -u | while read -r id path; do
		if [ "$id" = "$one" ]; then echo "one $path"; else echo "two $path"; fi
	done >"$tmp/lost"
}
one=$(akin snapshots --json --tag one | jq -r '.id // empty')

# The footer alone; the directory too; with a bit of it left.
zeros $((size - 64)) 64
expect 5 akin check
expect 5 akin repair --dry-run
assert_says "$out" 'salvage|what is left'
expect 0 akin repair --yes --json
assert_summary quarantined=1
[ -e "$pool/data/quarantine/$name" ] || fail "it was not put aside"
whole
# The new generation keeps its entries when a reclaim copies it.
akin forget --quiet tag:two
akin gc --quiet --threshold 1
rm -rf "$dst"
restore "tag:one:$src" --target "$dst"
assert_same_tree "$tmp/one" "$dst"

again
truncate -s $((size - 30)) "$victim"
expect 0 akin repair --yes --read-data --json
assert_summary findings=0 quarantined=1
again
dir=$(grep -obUaP 'AKINDIR\0' "$victim" | tail -n 1 | cut -d: -f1)
zeros $((dir + 10)) $((size - dir - 10))
expect 0 akin repair --yes --json
[ "$(summary chunks_salvaged)" -gt 50 ] || fail "little was salvaged"
whole

# Cut in the middle: files in the first part are whole.
again
truncate -s $((size / 2)) "$victim"
expect 5 akin repair --dry-run --json
name_lost
nr=$(wc -l <"$tmp/lost")
assert_between "files lost" "$nr" 10 65
expect 5 akin repair --yes --json
[ "$(summary groups_salvaged)" -ge 2 ] || fail "nothing was salvaged"
assert_summary quarantined=1
expect 5 akin check --json
name_lost
assert_between "files lost after it" "$(wc -l <"$tmp/lost")" 5 $((nr - 5))
in_part
# Again: nothing more to be done, and nothing is lost by it.
expect 5 akin repair --yes --json
assert_summary steps=0
in_part
# The data is still there: the next backup makes everything whole.
backup --force "$tmp/one"
backup --force "$tmp/two"
rm -rf "$dst"
restore "tag:two:$src" --target "$dst"
assert_same_tree "$tmp/two" "$dst"

# The same with the metadata lost as well.
again
truncate -s $((size / 2)) "$victim"
rm -rf "$pool/meta"
expect 5 akin repair --yes --json
assert_summary rebuilt=true snapshots=2 snapshots_part=2 quarantined=1
[ "$(summary groups_salvaged)" -ge 2 ] || fail "nothing was salvaged"
expect 5 akin check --json
name_lost
in_part

# Nothing is left of it.
again
head -c "$size" /dev/urandom >"$victim"
expect 5 akin repair --yes --json
assert_summary quarantined=1 groups_salvaged=0
expect 5 akin repair --yes --json
assert_summary steps=0
backup --force "$tmp/one"
rm -rf "$dst"
restore "tag:one:$src" --target "$dst"
assert_same_tree "$tmp/one" "$dst"

# A container of metadata without its directory: found through the index.
again
for victim in "$pool"/data/containers/*/*; do
	"$AKIN" inspect "$victim" | grep -q 'metadata' && break
done
size=$(stat -c %s "$victim")
dir=$(grep -obUaP 'AKINDIR\0' "$victim" | tail -n 1 | cut -d: -f1)
zeros $((dir + 10)) $((size - dir - 10))
expect 0 akin repair --yes --json
assert_summary quarantined=1
whole
