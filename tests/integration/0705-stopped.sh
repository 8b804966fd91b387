#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F26, F32: a backup that is stopped in the middle, while the snapshot whose
# data it shares is forgotten and everything that nobody needs is reclaimed. It
# goes on and is whole: what protects its data is its life, not a time.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 1 >"$src/a-shared"
noise 500000 2 >"$src/b-gone"
new_pool --container-size 1M
backup "$src"
first=$(summary snapshot)
rm "$src/b-gone"
for i in 1 2 3; do
	noise 6000000 "new$i" >"$src/c$i"
done

"$AKIN" -p "$pool" backup --json --force --limit-read 12M "$src" \
	>"$tmp/summary" 2>"$tmp/errors" &
victim=$!
pids+=("$victim")
for ((i = 0; i < 1200; i++)); do
	n=$(find "$pool/data/containers" -type f | wc -l)
	[ "$n" -lt 10 ] || break
	sleep 0.05
done
kill -STOP "$victim"
assert_between "containers so far" "$n" 10 20

expect 0 akin forget "$first"
for how in '' --interrupted; do
	# shellcheck disable=SC2086 # no word is no option
	expect 0 akin gc --threshold 1 $how
done
backup --stdin other </dev/null
expect 0 akin gc --threshold 1 --interrupted
kill -CONT "$victim"
got=0
wait "$victim" || got=$?
assert_eq "exit code ($(cat "$tmp/errors"))" "$got" 0

id=$(jq -r 'select(.type == "summary") | .snapshot' "$tmp/summary")
expect 0 akin check --read-data
restore "$id:$src" --target "$dst"
assert_same_tree "$src" "$dst"

# Now that it has ended, what only the first one had can go.
expect 0 akin gc --threshold 1 --json
expect 0 akin check --read-data --json
assert_summary findings=0 orphan_files=0
assert_between "KiB of containers" \
	"$(du -sk --apparent-size "$pool/data/containers" | cut -f 1)" 20000 24500
