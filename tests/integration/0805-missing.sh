#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A pool that is not there, or half of it: said so, with exit code 4, and
# nothing is made.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
echo x >"$src/x"
expect 4 akin snapshots
expect 4 akin backup "$src"
assert_no_file "$pool"
mkdir "$tmp/empty"
expect 4 "$AKIN" -p "$tmp/empty" snapshots
expect 2 "$AKIN" snapshots

new_pool
backup "$src"
expect 2 "$AKIN" init "$pool"
assert_says "$err" 'pool'

# The disk with the data is not mounted: its directory is empty.
mv "$pool/data" "$tmp/data"
for left in nothing empty; do
	[ $left = nothing ] || mkdir "$pool/data"
	for command in snapshots "backup $src" stats "check" "ls latest"; do
		# shellcheck disable=SC2086 # words
		expect 4 akin $command
		assert_says "$err" 'no data pool'
		assert_says "$err" 'mounted'
	done
done
rmdir "$pool/data"
mv "$tmp/data" "$pool/data"
mv "$pool/meta" "$tmp/meta"
expect 4 akin snapshots
assert_says "$err" meta
mv "$tmp/meta" "$pool/meta"
expect 0 akin cat "latest:$src/x"

# Two halves of two pools are refused.
"$AKIN" init --quiet "$tmp/other"
mv "$pool/data" "$tmp/data"
mv "$tmp/other/data" "$pool/data"
expect 5 akin snapshots

# A data directory elsewhere is used, or refused; never silently another one.
mkdir -p "$tmp/half/data"
expect 2 "$AKIN" init "$tmp/half" --data-dir "$tmp/elsewhere"
assert_says "$err" "is there already and is not"
expect 0 "$AKIN" init --quiet "$tmp/split" --data-dir "$tmp/elsewhere"
assert_eq link "$(readlink "$tmp/split/data")" "$tmp/elsewhere"
