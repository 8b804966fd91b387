#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SIGINT ends a backup soon, with 130 and no snapshot; the next run uses what
# was stored. SIGTERM likewise, with 143.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
for i in 1 2 3 4 5 6; do
	noise 6000000 "$i" >"$src/f$i"
done
new_pool --container-size 1M
# interrupt SIGNAL CODE
interrupt() {
	local victim got=0 n i before
	before=$(find "$pool/data/containers" -type f | wc -l)
	# A job in the background ignores SIGINT; this one must not.
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$AKIN" -p "$pool" backup --limit-read 6M \
		"$src" >"$out" 2>"$err" &
	victim=$!
	pids+=("$victim")
	for ((i = 0; i < 600; i++)); do
		n=$(find "$pool/data/containers" -type f | wc -l)
		[ "$n" -lt $((before + 5)) ] || break
		sleep 0.05
	done
	kill "-$1" "$victim"
	wait "$victim" || got=$?
	assert_eq "exit code ($(cat "$err"))" "$got" "$2"
	assert_says "$err" interrupted
}

interrupt INT 130
assert_eq snapshots "$(nr_snapshots)" 0
backup --dry-run "$src"
first=$(summary bytes_new)
assert_between "bytes not stored yet" "$first" 1000000 33000000

interrupt TERM 143
backup "$src"
assert_between "bytes new" "$(summary bytes_new)" 1 $((first - 2000000))
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
expect 0 akin check --read-data

# A restore that is interrupted can be run again.
python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$AKIN" -p "$pool" restore "latest:$src" \
	--target "$tmp/again" >"$out" 2>"$err" &
victim=$!
pids+=("$victim")
sleep 0.05
kill -INT "$victim" 2>/dev/null || :
got=0
wait "$victim" || got=$?
[ $got = 130 ] || [ $got = 0 ] || fail "a restore ended with $got"
restore "latest:$src" --target "$tmp/again"
assert_same_tree "$src" "$tmp/again"
