#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a running backup does, seen from outside: by row and for Prometheus.
. "$(dirname "$0")/functions.sh"

export AKIN_COUNTERS=$tmp/counters
mkdir -m 700 "$AKIN_COUNTERS"
mkdir "$src"
noise 30000000 1 >"$src/new"
new_pool --parity 10
backup --quiet /etc/hostname

# Nothing runs.
expect 0 akin sysstat -s -c 1 1
assert_says "$out" '^Summary of 1 interval '
assert_eq lines "$(wc -l <"$out")" 8
# The parts are all there is.
expect 0 akin stats --json
total=$(jq ".bytes_total // empty" "$out")
expect 0 akin metrics
assert_eq "size" "$(awk '/^akin_pool_size_bytes/ { n += $2 } END { print n }' "$out")" \
	"$total"
assert_says "$out" '^akin_pool_size_bytes[{].*part="parity"[}] [1-9]'
assert_says "$out" '^akin_pool_snapshots\{pool="[0-9a-f]{32}"\} 1$'
! grep -q ^akin_process_streams "$out" || fail "who runs?"

"$AKIN" -q -p "$pool" backup --limit-read 4MB "$src" &
pids+=($!)
sleep 1.5
expect 0 akin sysstat --json -s -c 3 1
assert_eq rows "$(jq -s 'map(select(.type == "interval")) | length' "$out")" 3
rate=$(jq -r 'select(.type == "summary") | .in_mb_s | floor' "$out")
assert_between "MB/s" "$rate" 2 6
# What comes in is counted when it is fed, what is new a batch later.
assert_between "dedup" "$(jq -r 'select(.type == "summary") |
	.dedup_factor * 100 | floor' "$out")" 80 130
# The mean lies between the rows.
jq -e 'select(.type == "summary") | .in_mb_s_min <= .in_mb_s and
	.in_mb_s <= .in_mb_s_max and .reference_factor == 1' "$out" >/dev/null ||
	fail "range"
# A stage takes some time, and what four megabytes a second take is little.
jq -e 'select(.type == "summary") | .stage_hash_percent > 0 and
	.stage_hash_percent < 100 and .stage_decode_percent == 0' \
	"$out" >/dev/null || fail "stages"
jq -e 'select(.type == "summary") | .processes == 1 and .chunks_s > 100 and
	.cpu_percent <= 100 and .disk_percent <= 100' "$out" >/dev/null ||
	fail "summary"

expect 0 akin metrics "$tmp/akin.prom"
cp "$tmp/akin.prom" "$out"
who='\{pool="[0-9a-f]{32}",pid="[0-9]+",handle="0",command=".*backup.*"\}'
assert_says "$out" "^akin_in_bytes_total$who [0-9]{7,}\$"
assert_says "$out" "^akin_commit_seconds_total$who [0-9.]+\$"
assert_says "$out" "^akin_process_streams$who 1\$"
assert_says "$out" "^akin_stage_hash_latency_seconds_count$who [1-9]"
assert_says "$out" '^# TYPE akin_data_write_latency_seconds histogram$'
assert_says "$out" '^akin_data_write_latency_seconds_bucket\{.*,le="\+Inf"\} [0-9]+$'
for left in "$tmp"/akin.prom.*; do
	assert_no_file "$left"
done
# Of every histogram the last bucket is the count, and buckets ascend.
awk '/_bucket/ {
	n = $NF; split($0, a, ",le="); if (a[1] == key && n < last) exit 1
	key = a[1]; last = n; if (/\+Inf/) inf = n
} /_count/ && $NF != inf { exit 1 }' "$out" || fail "histograms"
wait "${pids[0]}"
pids=()

# What a process did last counts, though it is gone when one looks.
"$AKIN" -p "$pool" sysstat --json -s -c 2 1 >"$tmp/short" &
pids+=($!)
sleep 0.5
backup --quiet /etc/hostname
wait "${pids[0]}"
pids=()
assert_eq "commits" "$(jq -r 'select(.type == "interval" and .commits_s > 0) |
	.commit_cause, .processes, (.file_ops_s > 0)' "$tmp/short" | xargs)" \
	"S 0 true"

expect 2 akin sysstat 0
expect 2 akin sysstat one
expect 2 akin sysstat -c none 1
got=0
akin metrics "$tmp/none/akin.prom" >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "wrote into a directory that is not there"
assert_says "$err" 'none/akin.prom'
