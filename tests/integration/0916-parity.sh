#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A pool with parity loses sectors in every container, of data and metadata:
# everything can be read, a check names them, no chunk is damaged, and a repair
# writes them back. Parity is switched on and off, and goes with its container.
. "$(dirname "$0")/functions.sh"

# spoil PERMILLE: other bytes in so much of each container, two sectors at least.
spoil() {
	find "$pool/data/containers" -type f ! -name '*.parity' |
		python3 -c '
import os, random, sys
random.seed(1)
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

sums() {
	(cd "$pool/data" && find containers -type f -print0 | sort -z |
		xargs -0 sha256sum)
}

containers() {
	find "$pool/data/containers" -type f ! -name '*.parity' | wc -l
}

mkdir "$src"
noise 3000000 1 >"$src/noise"
cp -r "$here" "$src/text"
cp -r "$here" "$tmp/more"
new_pool --parity 5% --container-size 1M
backup "$src"
expect 0 akin check --read-data --json
assert_summary findings=0 orphan_files=0 parity_containers="$(containers)"
expect 0 akin stats --json
[ "$(jq -r 'select(.type == "stats") | .bytes_total' "$out")" = \
	"$(du -s --block-size=1 "$pool/meta" "$pool/data" |
		awk '{ n += $1 } END { print n }')" ] || fail "not what du says"
[ "$(jq -r 'select(.type == "stats") | .parity_percent' "$out")" = 5 ] ||
	fail "another share"
for f in "$pool"/data/containers/01/*.parity; do
	expect 0 akin inspect "$f"
	assert_says "$out" 'parity number=1 .* percent=5$'
done

sums >"$tmp/sums.good"
spoil 20
expect 0 akin restore latest --target "$dst"
assert_says "$err" 'sectors of the pool were made up for by parity'
diff -r "$src" "$dst$src"
expect 5 akin check --read-data --json
assert_summary chunks_damaged=0 files_damaged=0 findings="$(containers)"
[ "$(summary sectors_healable)" -ge $((2 * $(containers))) ] ||
	fail "$(summary sectors_healable) sectors"
expect 5 akin check
assert_says "$out" "'akin repair' writes it back"

expect 5 akin repair --dry-run
assert_says "$out" 'write back [0-9]+ sectors from its parity'
expect 0 akin repair --yes --json
[ "$(summary sectors_healed)" -ge $((2 * $(containers))) ] ||
	fail "$(summary sectors_healed) sectors"
sums >"$tmp/sums"
cmp "$tmp/sums" "$tmp/sums.good"
expect 0 akin check --read-data --json
assert_summary findings=0

# Parity itself: a sector of it, all of it, a container without its end.
mapfile -t files < <(find "$pool/data/containers" -type f -name '*.parity' | sort)
printf 'xxxx' | dd of="${files[0]}" bs=1 seek=9000 conv=notrunc status=none
printf 'xxxx' >"${files[1]}"
truncate -s -5000 "${files[2]%.parity}"
expect 5 akin check --read-data --json
assert_summary parity_damaged=2 chunks_damaged=0 files_damaged=0 findings=3
expect 0 akin repair --yes
sums >"$tmp/sums"
cmp "$tmp/sums" "$tmp/sums.good"

# What is lost must not be a hole of more than that, and is said as ever.
victim=$(find "$pool/data/containers" -type f ! -name '*.parity' -size +900k |
	head -n 1)
cp "$victim" "$tmp/victim"
dd if=/dev/zero of="$victim" bs=4096 seek=20 count=60 conv=notrunc status=none
expect 5 akin check --read-data --json
[ "$(summary chunks_damaged)" -gt 0 ] || fail "no damage"
expect 5 akin repair --yes
cp "$tmp/victim" "$victim"
expect 0 akin repair --read-data --yes

# Off, on, more; what backups write meanwhile; reclaimed with its container.
expect 0 akin optimize --parity 0 --json
[ "$(find "$pool" -name '*.parity' | wc -l)" = 0 ] || fail "some is left"
rm -r "$src/text"
backup "$src" "$tmp/more"
expect 0 akin optimize --parity 10 --dry-run
assert_says "$out" 'would be given'
[ "$(find "$pool" -name '*.parity' | wc -l)" = 0 ] || fail "dry"
expect 0 akin optimize --parity 10%
find "$pool/data/containers" -type f ! -name '*.parity' -printf '%P.parity\n' |
	sort >"$tmp/want"
find "$pool/data/containers" -name '*.parity' -printf '%P\n' | sort |
	cmp - "$tmp/want"
expect 0 akin optimize --parity 10%
assert_says "$out" 'all [0-9]+ containers have parity of 10%'
spoil 40
expect 0 akin forget --keep-last 1
expect 0 akin gc --threshold 1
assert_says "$err" 'made up for by parity'
expect 5 akin check --read-data
! grep -q 'chunk .*damaged' "$out" || fail "damage was copied"
expect 0 akin repair --read-data --yes
expect 0 akin check --read-data --json
assert_summary findings=0 orphan_files=0 parity_containers="$(containers)"
rm -rf "$dst"
expect 0 akin restore latest --target "$dst"
diff -r "$src" "$dst$src"
diff -r "$tmp/more" "$dst$tmp/more"

# A container that is damaged gets none.
expect 0 akin optimize --parity 0
victim=$(find "$pool/data/containers" -type f -size +900k | head -n 1)
printf 'xxxx' | dd of="$victim" bs=1 seek=50000 conv=notrunc status=none
expect 3 akin optimize --parity 3 --json
[ "$(jq .damaged "$out")" = 1 ] || fail "$(cat "$out")"
