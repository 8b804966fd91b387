#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F39: the index is a cache of what the containers say: without it, or with half
# of it, everything works, and the next backup rebuilds it.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
for i in 1 2 3; do
	noise 2000000 "$i" >"$src/f$i"
	noise 100000 "x$i" >"$src/g$i"
	[ -d "$pool" ] || new_pool --container-size 1M
	backup "$src"
done
cp -a "$pool" "$tmp/good"
akin ls --json latest >"$tmp/listing"

works() {
	akin ls --json latest | cmp - "$tmp/listing"
	rm -rf "$dst"
	restore "latest:$src" --target "$dst"
	assert_same_tree "$src" "$dst"
	# A lost index is a finding, and no damage to anything.
	expect 5 akin check --read-data --json
	assert_summary chunks_damaged=0 files_damaged=0 snapshots_damaged=0
	assert_eq "findings that are not about the index" "$(jq -r 'select(.type ==
		"finding") | .message' "$out" | grep -vc '^index run' || :)" 0
	# A backup rebuilds it first, and then finds everything.
	backup --force "$src"
	assert_says "$err" 'rebuilding the index from the containers'
	assert_summary files=6 bytes=6300000 bytes_read=6300000 bytes_new=0
	expect 0 akin check --read-data
	backup --force "$src"
	assert_eq "lines about the index" "$(grep -c index "$err" || :)" 0
	rm -rf "$dst"
	restore "latest:$src" --target "$dst"
	assert_same_tree "$src" "$dst"
}

rm -f "$pool"/meta/runs/*
works
again() {
	rm -rf "$pool"
	cp -a "$tmp/good" "$pool"
}
again
rm "$(find "$pool/meta/runs" -type f | sort | head -n 1)"
works
again
for f in "$pool"/meta/runs/*; do
	truncate -s 100 "$f"
done
works
again
for f in "$pool"/meta/runs/*; do
	size=$(stat -c %s "$f")
	head -c "$size" /dev/urandom >"$f"
done
works

# Files of the index that nobody names go with the next backup.
again
touch "$pool/meta/runs/00000000000000ff" "$pool/meta/runs/notes" \
	"$pool/meta/tmp/tmp-1-2-3"
backup "$src"
[ ! -e "$pool/meta/runs/00000000000000ff" ] || fail "an orphan stays"
[ ! -e "$pool/meta/tmp/tmp-1-2-3" ] || fail "a temporary file stays"
[ -e "$pool/meta/runs/notes" ] || fail "a stranger's file is gone"
