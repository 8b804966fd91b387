#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F01: a file that grows while it is read: what is recorded is what is stored,
# it is flagged, the exit code says so, and the pool stays clean.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 30000000 >"$src/log"
python3 - "$src/log" <<'PY' &
import sys, time
with open(sys.argv[1], 'ab', buffering=0) as f:
    while True:
        f.write(b'x' * 100)
        time.sleep(0.001)
PY
writer=$!
pids+=("$writer")
new_pool
# Starting Python may take longer than the backup, where much else runs.
while [ "$(stat -c %s "$src/log")" = 30000000 ]; do
	kill -0 "$writer" || fail "nobody writes"
	sleep 0.05
done
expect 3 akin backup --json --limit-read 20M "$src"
kill "$writer"
wait "$writer" || :
assert_summary files=1 partial=true warnings=1
assert_says "$err" 'changed while'
size=$(summary bytes)

expect 0 akin ls --json "latest:$src/log"
assert_eq "size and flag" "$(jq -r '"\(.size) \(.changed)"' "$out")" "$size true"
assert_eq "bytes stored" "$(akin cat "latest:$src/log" | wc -c)" "$size"
akin cat "latest:$src/log" | cmp - <(head -c "$size" "$src/log")
expect 0 akin snapshots --json
assert_eq partial "$(jq -r .partial "$out")" true
expect 0 akin check --read-data

# It is not taken for unchanged the next time.
backup "$src"
assert_summary files_unchanged=0 partial=false
akin cat "latest:$src/log" | cmp - "$src/log"
