#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F10: whatever somebody called a file, a tag or a host: no control byte reaches
# the terminal, and JSON is JSON.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
evil=$'a\e]0;title\a\e[2J%s%n"\\\t\r\x9b31m\x7f'
mkdir "$src/$evil"
echo x >"$src/$evil/$evil"
chmod 000 "$src/$evil/$evil"
ln -s "$evil" "$src/$evil/link"
echo x >"$src/"$'rtl\xe2\x80\xaename'
clean() {
	local f
	for f; do
		! grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$f" ||
			{ cat -v "$f"; fail "raw control bytes"; }
		iconv -f UTF-8 -t UTF-8 "$f" >/dev/null || fail "invalid UTF-8"
	done
}

new_pool
try() {
	local got=0
	"$@" >"$out" 2>"$err" || got=$?
	[ $got -lt 100 ] || fail "'$*' ended with $got"
	clean "$out" "$err"
	got=0
	"$@" --json >"$out" 2>"$err" || got=$?
	clean "$out" "$err"
	jq -e . "$out" "$err" >/dev/null || [ ! -s "$out$err" ] || fail "no JSON"
}
try akin backup --verbose --tag "$evil" --host "$evil" "$src"
chmod 644 "$src/$evil/$evil"
try akin backup --verbose --tag "$evil" --host "$evil" "$src"
try akin snapshots --verbose
try akin ls -l "latest:$src"
try akin ls "latest:$src/$evil"
try akin ls "latest:$src/$evil/none$evil"
try akin find 'a*'
try akin find "$evil"
try akin diff latest latest
try akin restore "latest:$src" --target "$tmp/$evil" --verbose
try akin restore "$evil" --target "$tmp/x"
try akin restore "latest:$src/none$evil" --target "$tmp/x"
try akin stats latest
try akin check --read-data
try "$AKIN" -p "$tmp/$evil" snapshots
try "$AKIN" inspect "$tmp/$evil/none"
assert_eq "tag in JSON" "$(akin snapshots --json | jq -r '.tags_hex[0]' |
	head -n 1)" "$(printf '%s' "$evil" | od -An -tx1 | tr -d ' \n')"
