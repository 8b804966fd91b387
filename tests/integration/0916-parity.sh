#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A pool with parity loses sectors in every container, of data and metadata:
# everything can be read, a check names them, and no chunk is damaged.
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
