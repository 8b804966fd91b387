#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F23: kill -9 in the middle of a backup: no snapshot, nothing broken, and the
# next run finds what was stored.
. "$(dirname "$0")/functions.sh"

mkdir "$src" "$tmp/small"
# What is stored is given to the session after 16 containers, then after 32.
for i in 1 2 3 4; do
	noise 10000000 "$i" >"$src/f$i"
done
echo x >"$tmp/small/x"
new_pool --container-size 1M
backup "$tmp/small"

"$AKIN" -p "$pool" backup --limit-read 12M "$src" >"$out" 2>"$err" &
victim=$!
pids+=("$victim")
for ((i = 0; i < 1200; i++)); do
	n=$(find "$pool/data/containers" -type f | wc -l)
	[ "$n" -lt 22 ] || break
	sleep 0.05
done
kill -KILL "$victim"
wait "$victim" 2>/dev/null || :
assert_between "containers before the kill" "$n" 22 34
assert_eq snapshots "$(nr_snapshots)" 1
expect 0 akin cat "latest:$tmp/small/x"

backup "$src"
assert_summary files=4 bytes=40000000 parent=null
assert_between "bytes new" "$(summary bytes_new)" 1 25000000
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
assert_eq snapshots "$(nr_snapshots)" 2
expect 0 akin check --read-data

# A reclaim and a check die, too; whatever looks like a lock is none.
expect 0 akin forget latest
for delay in 0.01 0.02 0.04; do
	for command in gc 'check --read-data'; do
		# shellcheck disable=SC2086 # words
		timeout -s KILL "$delay" "$AKIN" -p "$pool" $command \
			>"$out" 2>"$err" || :
	done
done
: >"$pool/meta/locks"
: >"$pool/meta/catalog.lock"
mkdir "$pool/meta/lock" "$pool/data/lock"
backup "$src"
expect 0 akin gc
expect 0 akin check --read-data

# Without the file of the locks readers go on, and writers say what helps.
rm "$pool/meta/locks"
expect 0 akin cat "latest:$src/f1"
cmp "$out" "$src/f1"
expect 1 akin backup "$src"
assert_says "$err" "'akin repair' makes it anew"
expect 0 akin repair --yes
backup "$src"
