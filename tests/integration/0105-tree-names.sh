#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F09: names are bytes: any of them come back, and a listed name can be pasted
# into the shell.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
cd "$src"
# shellcheck disable=SC2016 # as they are
names=($'\xff' $'\xc3\x28' $'new\nline' 'trailing ' -rf --help $'tab\there'
	$'esc\e[31mred' "quote'" 'double"quote' '$HOME' '`id`' '%s%n' '*' '?x' '~'
	'back\slash' $'\x7f' 'ümläut' $'\xe2\x80\xaertl' ' ' '#' "a'b\"c\\d" $'\r'
	"$(printf '%0255d' 5)")
for i in "${!names[@]}"; do
	printf '%s' "$i" >"./${names[i]}" 2>/dev/null ||
		skip "this file system refuses such names"
done
ln -s $'target\xff\n' link
mkdir $'dir\xfe\n'
echo below >$'dir\xfe\n/file'
cd "$tmp"

new_pool
backup "$src"
assert_summary files=$((${#names[@]} + 1)) warnings=0
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"

# Every name in the listing, read by the shell, is a path that exists.
akin ls -1 "latest:$src" >"$tmp/listing"
n=0
while IFS= read -r line; do
	path=
	eval "path=$line"
	[ -e "$path" ] || [ -L "$path" ] || fail "no such path: $line"
	n=$((n + 1))
done <"$tmp/listing"
assert_eq "lines" "$n" $((${#names[@]} + 2))
! grep -q $'[\x01-\x09\x0b-\x1f\x7f]' "$tmp/listing" || fail "raw control bytes"
iconv -f UTF-8 -t UTF-8 "$tmp/listing" >/dev/null || fail "invalid UTF-8"

# And it can be named again.
akin cat "latest:$src/"$'\xff' >"$tmp/one"
assert_eq content "$(cat "$tmp/one")" 0
akin cat "latest:$src/"$'new\nline' >"$tmp/one"
assert_eq content "$(cat "$tmp/one")" 2

# JSON stays valid, and the exact bytes stand beside.
akin ls -1 --json "latest:$src" >"$tmp/json"
jq -e . "$tmp/json" >/dev/null
hex=$(printf '%s' "$src/"$'\xff' | od -An -tx1 | tr -d ' \n')
assert_eq "path_hex" "$(jq -r 'select(.path_hex != null) | .path_hex' \
	"$tmp/json" | grep -cx "$hex")" 1
