#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What may not be read is named, the rest is stored, and the snapshot is marked.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/open" "$src/closed-dir"
echo good >"$src/open/file"
echo secret >"$src/closed"
echo secret >"$src/closed-dir/file"
chmod 000 "$src/closed" "$src/closed-dir"
run() {
	"$@"
}
if [ "$(id -u)" = 0 ]; then
	requires_nobody
	AKIN=$tmp/akin
	chown -R 65534:65534 "$src"
	mkdir "$pool"
	chown 65534:65534 "$pool"
	run() {
		as_nobody "$@"
	}
fi

run "$AKIN" init --quiet "$pool"
expect 3 run "$AKIN" -p "$pool" backup --json "$src"
assert_summary partial=true warnings=2
assert_eq "warnings" "$(jq -r 'select(.type == "warning") | .path' "$err" |
	sort | paste -sd ' ')" "$src/closed $src/closed-dir"
expect 0 run "$AKIN" -p "$pool" cat "latest:$src/open/file"
assert_eq content "$(cat "$out")" good
expect 0 run "$AKIN" -p "$pool" snapshots
assert_says "$out" '!'

# Once it can be read it is, though nothing else changed.
chmod 644 "$src/closed"
chmod 755 "$src/closed-dir"
expect 0 run "$AKIN" -p "$pool" backup --json "$src"
assert_summary partial=false warnings=0 files_unchanged=1 files=3
expect 0 run "$AKIN" -p "$pool" cat "latest:$src/closed"
assert_eq content "$(cat "$out")" secret

# A path that was asked for and is not there is missed, not ignored.
expect 3 run "$AKIN" -p "$pool" backup --json "$src/none" "$src/open"
assert_summary files=1 partial=true warnings=1
assert_eq "warning" "$(jq -r 'select(.type == "warning") | .path' "$err")" \
	"$src/none"

# Nor if the directory that held it is gone too; the series stays one.
expect 3 run "$AKIN" -p "$pool" backup --json "$src/none/below" "$src/open"
assert_summary files=1 partial=true warnings=1
assert_eq "warning" "$(jq -r 'select(.type == "warning") | .path' "$err")" \
	"$src/none"
# If nothing is there at all, there is no snapshot.
before=$("$AKIN" -p "$pool" snapshots --json | wc -l)
expect 1 run "$AKIN" -p "$pool" backup "$src/none/below" "$src/nothing"
assert_eq snapshots "$("$AKIN" -p "$pool" snapshots --json | wc -l)" "$before"
