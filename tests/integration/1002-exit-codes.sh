#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The table of exit codes, as far as no other test has it; and the shape of
# help.
. "$(dirname "$0")/functions.sh"

expect 2 "$AKIN"
expect 2 "$AKIN" nonsense
expect 2 "$AKIN" snapshots --nonsense
expect 2 "$AKIN" -p "$pool" backup
expect 2 "$AKIN" init
expect 2 "$AKIN" init "$tmp/a" "$tmp/b"
expect 2 "$AKIN" init --chunk-size 3000 "$tmp/a"
expect 2 "$AKIN" init --compression nonsense "$tmp/a"
expect 2 "$AKIN" -p "$pool" snapshots --memory nonsense
assert_no_file "$tmp/a"
# JSON is asked for behind what is wrong.
for word in nonsense 'snapshots --nonsense' 'snapshots --memory nonsense'; do
	# shellcheck disable=SC2086 # words
	expect 2 "$AKIN" $word --json
	assert_says "$err" '^\{"type":"error","code":"usage"'
done
for command in '' init backup snapshots ls find diff cat restore check repair stats \
	inspect capacity version help; do
	# shellcheck disable=SC2086 # a word or none
	expect 0 "$AKIN" $command --help
	assert_says "$out" '^Usage: '
	[ ! -s "$err" ] || fail "help of '$command' goes to standard error"
done
expect 0 "$AKIN" version
assert_says "$out" '^akin [0-9]+\.[0-9]+'
expect 0 "$AKIN" help exit-codes
assert_says "$out" '128\+n'

mkdir "$src"
echo x >"$src/x"
new_pool
expect 1 akin ls latest
expect 1 akin cat "latest:$src/x"
backup "$src"
expect 0 akin cat "latest:$src/x"
expect 1 akin cat "latest:$src/none"
expect 1 akin cat 00000000000000000000000000000000:/x
expect 1 akin ls tag:none
expect 2 akin snapshots --memory 1M

# Nobody reads the output any more.
mkdir "$src/many"
(cd "$src/many" && seq -f 'a-rather-long-name-to-fill-a-pipe-%g' 3000 | xargs touch)
backup "$src"
got=0
{ akin ls latest || echo $? >"$tmp/code"; } 2>"$err" | head -n 1 >"$out"
assert_eq "exit code" "$(cat "$tmp/code")" 141
[ ! -s "$err" ] || fail "noise about a closed pipe"

# Standard output on a full device.
got=0
akin ls latest >/dev/full 2>"$err" || got=$?
[ $got != 0 ] || fail "output was lost without a word"
