#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repair of everything but containers: a flipped catalog, superblocks, index
# runs, records and labels, each missing or damaged. Nothing is lost.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 300000 1 >"$src/one"
new_pool --container-size 1M
backup --tag old "$src"
noise 300000 2 >"$src/two"
backup "$src"
akin tag tag:old --add more
akin protect tag:old
akin policy set --keep-last 2 --quiet
akin snapshots --json | jq -S 'select(.type == "snapshot")' >"$tmp/before"
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
	rm -rf "$pool"
	cp -a "$tmp/good" "$pool"
}
# Repaired, and nothing is missing.
repaired() {
	expect 5 akin repair --dry-run
	expect 0 akin repair --yes --json
	assert_summary findings=0
	cp "$out" "$tmp/summary"
	expect 0 akin check --read-data --json
	assert_summary findings=0 orphan_files=0
	akin snapshots --json | jq -S 'select(.type == "snapshot")' |
		diff "$tmp/before" -
	akin cat "tag:old:$src/one" | cmp - "$src/one"
	akin cat "latest:$src/two" | cmp - "$src/two"
	akin policy >"$out"
	cp "$tmp/summary" "$out"
}

expect 0 akin repair
assert_says "$out" 'nothing to repair'

# The catalog, wherever it is hit; its journal too.
size=$(stat -c %s "$pool/meta/catalog")
for offset in 20 5000 $((size / 3)) $((size / 2)); do
	again
	flip "$pool/meta/catalog" "$offset"
	got=0
	akin repair --yes --json >"$out" 2>"$err" || got=$?
	[ $got = 0 ] || { cat "$err"; fail "offset $offset: $got"; }
	# A page that nobody uses is no damage.
	[ "$(summary rebuilt)" = false ] ||
		[ -e "$pool/meta/quarantine/catalog" ] || fail "not put aside"
	akin policy | grep -q 2 || fail "the policy is gone"
	akin snapshots --json | jq -S 'select(.type == "snapshot")' |
		diff "$tmp/before" -
	expect 0 akin check --read-data
done
again
rm "$pool/meta/catalog"
repaired
assert_summary rebuilt=true policy_lost=false

# Superblocks: one copy, all of one, either directory's.
for disk in meta data; do
	again
	flip "$pool/$disk/superblock" 100
	repaired
	assert_summary rebuilt=false files_written=1
	cmp "$pool/$disk/superblock" "$tmp/good/$disk/superblock"
	again
	rm "$pool/$disk/superblock"
	expect 4 akin snapshots
	repaired
	assert_summary rebuilt=false
	cmp "$pool/$disk/superblock" "$tmp/good/$disk/superblock"
done
again
rm "$pool/meta/superblock" "$pool/data/superblock"
got=0
akin repair --yes >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "without any superblock"
assert_says "$err" 'holds the keys'

# Half of another pool is not touched.
again
"$AKIN" init --quiet "$tmp/other"
rm -rf "$pool/meta"
cp -a "$tmp/other/meta" "$pool/meta"
expect 5 akin repair --yes
assert_says "$err" 'two different pools'

# The index; the lock file; records and labels.
again
rm "$pool"/meta/runs/*
repaired
[ "$(summary index_entries)" -gt 10 ] || fail "no index"
again
rm "$pool/meta/locks"
expect 0 akin repair --yes
expect 0 akin check
for f in 0000000000000001 0000000000000001.label; do
	again
	rm "$pool/data/snapshots/$f"
	repaired
	assert_summary files_written=1 quarantined=0
	cmp "$pool/data/snapshots/$f" "$tmp/good/data/snapshots/$f"
	again
	flip "$pool/data/snapshots/$f" 40
	repaired
	assert_summary files_written=1 quarantined=1
	cmp "$pool/data/snapshots/$f" "$tmp/good/data/snapshots/$f"
done

# A label that cannot be read, and no catalog to say what it was.
again
rm -rf "$pool/meta"
flip "$pool/data/snapshots/0000000000000001.label" 40
expect 0 akin repair --yes
assert_says "$out" 'protected from now on'
expect 1 akin forget tag:old
