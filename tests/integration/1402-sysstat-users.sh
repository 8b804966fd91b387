#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who may read the pool sees what others do with it, and nobody else does.
. "$(dirname "$0")/functions.sh"
requires_nobody

mkdir "$src"
noise 8000000 1 >"$src/a"
new_pool
chmod -R o+rX "$pool"

# seen NR: by nobody, of backups of ours.
seen() {
	"$AKIN" -q -p "$pool" backup --limit-read 1MB "$src" &
	pids=($!)
	sleep 1
	expect 0 as_nobody "$tmp/akin" -p "$pool" sysstat --json -c 1 1
	assert_eq "processes" "$(jq .processes "$out")" "$1"
	kill "${pids[0]}"
	wait "${pids[0]}" || :
	pids=()
}

# In a directory of our own that others may enter, as the usual one is.
export AKIN_COUNTERS=$tmp/counters
seen 1
assert_eq "mode" "$(stat -c %a "$tmp"/counters/* | sort -u)" 604
# The superblock may be read, but there is no way to it.
rm "$tmp"/counters/*
chmod o-x "$pool/meta"
akin backup --quiet /etc/hostname
assert_eq "mode" "$(stat -c %a "$tmp"/counters/* | sort -u)" 600
