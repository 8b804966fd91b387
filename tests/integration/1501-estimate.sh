#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Estimates of trees, files and pipes with known duplicates; of states and of
# pools; of a share; the page of a report; and plans of them.
. "$(dirname "$0")/functions.sh"
export TMPDIR=$tmp

cat >"$tmp/value.py" <<'PY'
import json, sys
kind, cut, block, key = sys.argv[2:]
with open(sys.argv[1]) as f:
    for o in map(json.loads, f):
        if o['type'] == kind and (kind != 'method' or
                                  (o['cut'], o['block_bytes']) == (cut, int(block))):
            print(o[key])
PY
value() {
	python3 "$tmp/value.py" "$out" "$@"
}
last() {
	jq -r "select(.type == \"estimate\") | .$1" "$out"
}

# 1 MiB of noise under three names of two files, one of them a hard link.
mkdir -p "$src/deep/er" "$src/empty"
noise 1048576 1 >"$src/a"
cp "$src/a" "$src/deep/er/b"
ln "$src/a" "$src/deep/link"
ln -s a "$src/symlink"
mkfifo "$src/fifo"
: >"$src/nothing"
expect 0 "$AKIN" estimate --json "$src"
assert_eq read "$(value method fixed 4096 logical_bytes)" 2097152
assert_eq blocks "$(value method fixed 4096 blocks)" 512
assert_eq distinct "$(value method fixed 4096 distinct)" 256
assert_eq unique "$(value method content 8192 unique_bytes)" 1048576
assert_eq "exact" "$(value method content 8192 unique_bytes_low) $(value \
	method content 8192 unique_bytes_high)" "1048576 1048576"
assert_eq "the table of ZFS" "$(value method fixed 131072 zfs_table_bytes)" 2560
assert_eq noise "$(value method content 8192 factor_zstd)" 1.0
assert_eq product "$(value method content 8192 product_zstd)" 2.0
assert_eq histogram "$(jq -r 'select(.type == "histogram") |
	[.references, .bytes, .referenced_bytes] | join(" ")' "$out")" \
	"2 1048576 2097152"
assert_eq "who saves" "$(jq -r 'select(.type == "file" and
	.order == "saves") | .path' "$out")" "$src/deep/er/b"
assert_eq "which directory" "$(jq -r 'select(.type == "directory" and
	.order == "saves") | .path' "$out" | head -n 1)" "$src/deep/er"
assert_eq logical "$(last logical_bytes)" 2097152
assert_eq unique "$(last unique_bytes)" 1048576
# In a pool, with a directory and the head of a container.
assert_between stored "$(last stored_bytes)" 1048576 1060000
assert_eq references "$(value references - 0 stored_bytes)" "$(last stored_bytes)"
assert_eq "what is left behind" "$(find "$tmp" -maxdepth 1 -name 'akin-estimate*' |
	wc -l)" 0
expect 0 "$AKIN" estimate --json --identity-only "$src"
assert_eq references "$(value references - 0 factor)" ""
assert_eq stored "$(last stored_bytes)" 1048576

# A plan reads it, from a file and from a pipe.
cp "$out" "$tmp/estimate"
expect 0 "$AKIN" capacity plan "$tmp/estimate" --disk 1TB
assert_says "$out" '^fits'
"$AKIN" estimate --json "$src" | "$AKIN" capacity plan - --disk 1MB >"$tmp/plan"
assert_says "$tmp/plan" 'full|never|not'

# A stream, twice the same data; text for people.
cat "$src/a" "$src/a" | "$AKIN" estimate --json - >"$out"
assert_eq stream "$(value method fixed 4096 distinct)" 256
expect 0 "$AKIN" estimate "$src/a" "$src/deep/er/b"
assert_says "$out" '^2 files, 2.00 MiB'
assert_says "$out" '^fixed +4.00 KiB +512 +256 +1.00 MiB +exact +2.00x +80.0 KiB'
assert_says "$out" '^VDO +4.00 KiB'
assert_says "$out" '^2 +[0-9]+ +1.00 MiB +[0-9]+ +2.00 MiB'

# States: a tenth changes from one to the next, half a day apart. What changes
# is text, of which a word in a hundred differs: references see that.
cat >"$tmp/states.py" <<'PY'
import random, sys
r = random.Random(5)
words = [f'{r.getrandbits(40):x}' for i in range(200000)]
for state in range(4):
    with open(f'{sys.argv[1]}/{state}', 'w') as f:
        f.write('\n'.join(words))
    at = state * 20000
    for i in range(at, at + 20000, 100):
        words[i] = f'{r.getrandbits(40):x}'
PY
mkdir "$tmp/states"
python3 "$tmp/states.py" "$tmp/states"
expect 0 "$AKIN" estimate --series --every 12h --json --report "$tmp/r.html" \
	"$tmp/states"/*
assert_eq states "$(last states)" 4
assert_eq days "$(last days_between)" 0.5
assert_eq "the last state" "$(last logical_bytes)" "$(stat -c %s "$tmp/states/3")"
# 1 - 0.9^2, and a chunk more at each end.
assert_between change "$(last change_per_day | cut -c 3-5)" 185 260
assert_eq growth "$(last 'growth_per_year < 0.1')" true
assert_between "of changes" "$(last change_compression | cut -d . -f 1)" 10 200
assert_between "of all" "$(jq -s '.[-1] | .unique_bytes * 10 / .stored_bytes |
	floor' "$out")" 15 25
cp "$out" "$tmp/estimate"

# What a pool takes: within a hundredth.
new_pool
for i in 0 1 2 3; do
	cp "$tmp/states/$i" "$tmp/data"
	backup "$tmp/data"
done
expect 0 akin stats --json
stored=$(jq -s 'map(.bytes_data? // empty) | first' "$out")
cp "$tmp/estimate" "$out"
refs=$(value references - 0 stored_bytes)
assert_between "references" "$refs" $((stored * 99 / 100)) $((stored * 101 / 100))

# The report is one page that needs nothing else.
assert_says "$tmp/r.html" '^<!doctype html>'
assert_says "$tmp/r.html" '<h2>States</h2>'
[ "$(grep -c '<svg' "$tmp/r.html")" -ge 5 ] || fail "no charts"
if grep -qE '<script|href=|src=|url\(|@import' "$tmp/r.html"; then
	fail "the report needs more than itself"
fi
python3 - "$tmp/r.html" <<'PY'
import html.parser, sys
html.parser.HTMLParser().feed(open(sys.argv[1], encoding='utf-8').read())
PY

# The pool itself: its snapshots are the states.
expect 0 "$AKIN" estimate --json --every 1d "$pool"
assert_eq states "$(last states)" 4
assert_eq unique "$(value method content 8192 unique_bytes)" "$(jq -r \
	'select(.type == "method" and .cut == "content" and .block_bytes == 8192) |
	.unique_bytes' "$tmp/estimate")"

# A plan with rates of change: a small disk lasts.
expect 0 "$AKIN" capacity plan "$tmp/estimate" --disk 1GB
assert_says "$out" '^fits'
expect 0 "$AKIN" capacity plan "$tmp/estimate" --disk 1GB --explain
assert_says "$out" 'compression of what changes'

# A share, with intervals that hold the truth; the same again with a seed.
expect 0 "$AKIN" estimate --json --sample 30% --seed 7 "$tmp/states/0" "$src"
truth=$(($(stat -c %s "$tmp/states/0") + 1048576))
assert_eq "all of it" "$(value method fixed 4096 logical_bytes)" \
	$((truth + 1048576))
low=$(value method content 8192 unique_bytes_low)
high=$(value method content 8192 unique_bytes_high)
assert_between truth "$truth" "$low" "$high"
cp "$out" "$tmp/again"
expect 0 "$AKIN" estimate --json --sample 30% --seed 7 "$tmp/states/0" "$src"
assert_eq "the same" "$(value method content 8192 unique_bytes)" "$(jq -r \
	'select(.type == "method" and .cut == "content" and .block_bytes == 8192) |
	.unique_bytes' "$tmp/again")"

# What cannot be.
expect 2 "$AKIN" estimate
expect 2 "$AKIN" estimate --memory 1M "$src"
expect 2 "$AKIN" estimate --sample 0% "$src"
assert_says "$err" "such as 5%"
expect 2 "$AKIN" estimate --sample 101% "$src"
expect 2 "$AKIN" estimate --sample nan% "$src"
expect 2 "$AKIN" estimate --sample 5 "$src"
expect 2 "$AKIN" estimate --every 0d --series "$src/a" "$src/a"
expect 2 "$AKIN" estimate --every 5G --series "$src/a" "$src/a"
expect 2 "$AKIN" estimate --series "$src"
assert_says "$err" "two at least"
expect 2 "$AKIN" estimate - -
expect 2 "$AKIN" estimate "$pool" "$src"
expect 2 "$AKIN" estimate --seed x "$src"
"$AKIN" estimate "$tmp/missing" >"$out" 2>"$err" && fail "of what is not there"
assert_says "$err" 'missing'
# No room to try references, or nowhere: an estimate without.
expect 0 "$AKIN" estimate --json --scratch "$tmp/nowhere" "$src"
assert_eq references "$(value references - 0 factor)" ""
expect 1 "$AKIN" estimate --report "$tmp/no/where" "$src"
