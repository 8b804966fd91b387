#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The benches run, say the same in each form, and leave nothing behind; what
# must be so on any machine is so.
. "$(dirname "$0")/functions.sh"

bench() {
	TMPDIR=$tmp/pools expect 0 "$AKIN" bench --json --size 2M "$@"
	assert_eq "left behind" "$(find "$tmp/pools" -mindepth 1 | wc -l)" 0
}

mkdir "$tmp/pools"
# It is not the disk that is tested.
if mount -t tmpfs -o size=512M tmpfs "$tmp/pools" 2>/dev/null; then
	mounts+=("$tmp/pools")
fi
bench streams 2 --report "$tmp/streams.html"
assert_eq "streams" "$(jq -r 'select(.mb_per_s) | [.streams, .random_percent] |
	map(floor) | join("/")' "$out" | paste -sd ' ')" "2/0 2/50 2/100"
# The page stands alone, and is what a parser takes.
assert_says "$tmp/streams.html" '<polyline '
if grep -nE 'src=|href=|@import|url\(' "$tmp/streams.html"; then
	fail "the page needs something else"
fi
python3 - "$tmp/streams.html" <<'END'
import html.parser
import sys

rows = []


class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag == 'tr':
            rows.append([])
        elif tag == 'td':
            rows[-1].append('')

    def handle_data(self, data):
        if rows and rows[-1]:
            rows[-1][-1] += data.strip()


Page().feed(open(sys.argv[1], encoding='utf-8').read())
assert [row[:2] for row in rows[1:]] == [
    ['2', p] for p in ('0', '50', '100')], rows
END

# Each engine, data that repeats and data that is random: what a backup does to
# the metadata pool must not depend on it, nor does it read more data.
bench engines 2
# NUMBER ENGINE SHARE
engines() {
	jq "select(.type == \"engines\" and .engine == \"$2\" and
		.random_percent == $3) | .$1 | floor" "$out"
}
assert_eq "shares" "$(jq 'select(.type == "engines") | .random_percent | floor' \
	"$out" | sort -nu | paste -sd ' ')" "0 25 50 75 100"
for engine in identity similarity hybrid; do
	most=$(engines metadata_write_ops $engine 0)
	assert_between "metadata written by $engine" \
		"$(engines metadata_write_ops $engine 100)" 1 $((most * 12 / 10))
	most=$(engines data_read_ops $engine 0)
	assert_between "data read by $engine" \
		"$(engines data_read_ops $engine 100)" 0 $((most + 4))
done
assert_eq "phases" "$(jq -r 'select(.type == "phases") | .phase' "$out" |
	paste -sd,)" "backup 0%,restore 0%,backup 100%,restore 100%,$(
	)backup 100%, restores beside"
assert_eq "restored" "$(jq -r 'select(.type == "phases") | select(.phase |
	contains("restore")) | .restore_mb_per_s > 0' "$out" | sort -u)" true

bench targets 1 3
assert_eq "bars" "$(jq -r 'select(.bar) | .bar' "$out" | paste -sd ' ')" \
	"1.6 0.8"
assert_eq "ratios" "$(jq -r 'select(.bar) | .ratio > 0' "$out" | sort -u)" true
expect 2 "$AKIN" bench targets 10

bench verify
# NUMBER REPORT: of each level
levels() {
	jq -r "select(.type == \"$2\") | $1" "$out" | paste -sd ' '
}
for kind in verify verify_repeating; do
	assert_eq "levels" "$(levels .verify $kind)" "plain off match write"
	# Only who compares compares chunks.
	assert_eq "compared, $kind" "$(levels '.compared > 0' $kind)" \
		"false false true true"
	assert_eq "relative to none" "$(levels '.again_of_off == 1' $kind |
		cut -d' ' -f2)" true
done
# Equal blocks are stored once, and nothing has to be read to compare them.
assert_eq "stored once" "$(levels '.ratio > 5' verify)" \
	"false true true true"
assert_eq "stored as often as they come" \
	"$(levels '.ratio < 2.2' verify_repeating)" "true true true true"
assert_eq "read to compare" "$(levels '.data_read_mb > 0.5' verify_repeating)" \
	"false false true true"

# Each step brings as much new data, and fingerprints count as data of 8 KiB.
bench growth 3 --fingerprints 40000 --report "$tmp/growth.html"
assert_eq "grows" "$(jq -r 'select(.type == "growth") | .data_gb * 100 |
	floor' "$out" | paste -sd ' ')" "0 16 33"
assert_eq "new data is stored" "$(jq -s 'map(select(.type == "growth") |
	.pool_mb) | .[2] / .[0] > 2.8' "$out")" true
assert_eq "memory" "$(jq -r 'select(.type == "growth") | .memory_mb > 1' \
	"$out" | sort -u)" true
assert_eq "level" "$(jq -r 'select(.type == "growth_flat") |
	[.data, .bar, .last_of_first > 0] | join(" ")' "$out" | paste -sd ,)" \
	"new data 0.9 true,old data again 0.9 true"
assert_says "$tmp/growth.html" 'Memory of the process'
TMPDIR=$tmp/pools expect 0 "$AKIN" bench --size 2M growth 2
assert_says "$out" '^ +data GB +pool MB +new MB/s'
assert_eq "rows" "$(grep -cE '^ +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ ' \
	"$out")" 2
expect 2 "$AKIN" bench nothing
expect 2 "$AKIN" bench verify 3
expect 2 "$AKIN" bench streams 0
