#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The metadata directory is gone: it is made anew from the data directory, with
# every snapshot, its tags and its protection, and everything works on.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
for v in 1 2 3; do
	noise 1000000 "$v" >"$src/f$v"
	noise 1000000 same >"$src/same"
	mkdir -p "$src/d/$v"
	seq 1 $((v * 1000)) >"$src/d/$v/numbers"
	[ -d "$pool" ] || new_pool --container-size 1M
	backup --tag "v$v" "$src"
	cp -a "$src" "$tmp/v$v"
done
noise 300000 stream | akin backup --quiet --stdin stream
akin tag tag:v1 --add first
akin protect tag:v2
akin forget tag:v3
akin snapshots --json | jq -S 'select(.type == "snapshot")' >"$tmp/before"
last=$(find "$pool/data/containers" -type f -printf '%f\n' | sort | tail -n 1)

# Neither without being asked, nor in a dry run.
rm -rf "$pool/meta"
expect 4 akin snapshots
expect 5 akin repair --dry-run
assert_says "$out" 'catalog and the index anew'
assert_says "$out" 'records of 3 snapshots, and of 1 that were forgotten'
assert_says "$out" 'not mounted'
assert_no_file "$pool/meta"
expect 2 akin repair
assert_says "$err" 'yes'
assert_no_file "$pool/meta"

whole() {
	local v
	akin snapshots --json | jq -S 'select(.type == "snapshot")' >"$tmp/after"
	diff "$tmp/before" "$tmp/after"
	for v in 1 2; do
		rm -rf "$dst"
		restore "tag:v$v:$src" --target "$dst"
		assert_same_tree "$tmp/v$v" "$dst"
	done
	noise 300000 stream | cmp - <(akin cat latest:stream)
	expect 1 akin forget tag:v2
	expect 0 akin check --read-data --json
	assert_summary findings=0
}
expect 0 akin repair --yes --json
assert_summary rebuilt=true snapshots=3 snapshots_part=0 forgotten=1 quarantined=0 findings=0
whole
# Nothing is left to do.
expect 0 akin repair
assert_says "$out" 'nothing to repair'

# What was forgotten can still be undeleted.
cp -a "$pool" "$tmp/rebuilt"
akin undelete tag:v3
restore "tag:v3:$src" --target "$tmp/three"
assert_same_tree "$tmp/v3" "$tmp/three"
rm -rf "$pool"
mv "$tmp/rebuilt" "$pool"

# A backup finds everything, and uses numbers above all there were.
backup --force "$tmp/v1"
assert_summary bytes_new=0
first=$(find "$pool/data/containers" -type f -newer "$out" -printf '%f\n')
noise 1000000 new >"$tmp/new"
backup "$tmp/new"
new=$(find "$pool/data/containers" -type f -printf '%f\n' | sort | tail -n 1)
[[ $new > $last ]] || fail "$new is not above $last"
akin forget latest
akin forget latest

# A reclaim returns what nobody needs and no more.
expect 0 akin gc --json --threshold 1
[ "$(summary freed_bytes)" -gt 1000000 ] || fail "nothing was freed"
whole

# The same with what a reclaim has left, with the directory there and empty,
# and once more.
rm -rf "$pool/meta"
mkdir "$pool/meta"
expect 0 akin repair --yes --json
assert_summary rebuilt=true snapshots=3 findings=0
whole
expect 0 akin gc --json
expect 0 akin check --read-data --json
assert_summary findings=0 orphan_files=0

# Without the data directory there is nothing to make it from.
mv "$pool/data" "$tmp/data"
expect 4 akin repair --yes
mkdir "$pool/data"
expect 4 akin repair --yes
assert_says "$err" 'mounted'
rmdir "$pool/data"
mv "$tmp/data" "$pool/data"
whole
# A link that leads nowhere is a disk that is not mounted.
mv "$pool/meta" "$tmp/meta"
ln -s "$tmp/elsewhere" "$pool/meta"
got=0
akin repair --yes >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "a dangling link was repaired"
assert_no_file "$tmp/elsewhere"
