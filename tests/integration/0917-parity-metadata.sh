#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sectors are lost all over a pool with parity, in its metadata, too: the
# catalog, the runs, one copy of both superblocks, and every container. One
# repair makes all of it whole; so it does without a metadata directory.
. "$(dirname "$0")/functions.sh"

# spoil PERMILLE: other bytes in so many sectors of each file named on stdin, two
# at least.
spoil() {
	python3 -c '
import os, random, sys
random.seed(2)
for name in sorted(sys.stdin.read().split()):
    sectors = (os.path.getsize(name) + 4095) // 4096
    n = max(2, sectors * int(sys.argv[1]) // 1000)
    with open(name, "r+b") as f:
        for i in random.sample(range(sectors), min(n, sectors)):
            f.seek(i * 4096)
            data = f.read(4096)
            f.seek(i * 4096)
            f.write(bytes(b ^ 0x5a for b in data))
' "$1"
}

spoil_containers() {
	find "$pool/data/containers" -type f ! -name '*.parity' | spoil 20
}

sums() {
	(cd "$pool/data" && find containers -type f -print0 | sort -z |
		xargs -0 sha256sum)
}

# expect_whole: the containers are what they were, nothing is wrong, and
# everything comes back.
expect_whole() {
	sums >"$tmp/sums"
	cmp "$tmp/sums" "$tmp/sums.good"
	expect 0 akin check --read-data --json
	assert_summary findings=0 chunks_damaged=0 snapshots=2
	rm -rf "$dst"
	expect 0 akin restore latest --target "$dst"
	diff -r "$src" "$dst$src"
}

mkdir "$src"
noise 2000000 3 >"$src/noise"
cp -r "$here" "$src/text"
new_pool --parity 5% --container-size 1M
backup "$src"
noise 400000 4 >"$src/more"
backup "$src"
sums >"$tmp/sums.good"

spoil_containers
find "$pool/meta/catalog" "$pool/meta/runs" -type f | spoil 100
for disk in meta data; do
	printf 'xxxx' | dd of="$pool/$disk/superblock" bs=1 seek=100 \
		conv=notrunc status=none
done
expect 5 akin restore latest --target "$dst"
expect 0 akin repair --read-data --yes --json
[ "$(summary sectors_healed)" -ge 4 ] || fail "$(cat "$out")"
expect_whole

spoil_containers
rm -r "$pool/meta"
expect 0 akin repair --read-data --yes --json
[ "$(summary sectors_healed)" -ge 4 ] || fail "$(cat "$out")"
expect_whole
# As much parity as before goes beside what comes now.
expect 0 akin stats --json
[ "$(jq -r 'select(.type == "stats") | .parity_percent' "$out")" = 5 ] ||
	fail "another share"
noise 300000 5 >"$src/last"
backup "$src"
expect 0 akin check --read-data --json
assert_summary findings=0 parity_containers="$(find "$pool/data/containers" \
	-type f ! -name '*.parity' | wc -l)"
