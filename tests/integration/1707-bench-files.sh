#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A study's files listed, read and written while others copy and small ones come.
. "$(dirname "$0")/functions.sh"

mkdir "$tmp/pools"
# It is not the disk that is tested.
if mount -t tmpfs -o size=512M tmpfs "$tmp/pools" 2>/dev/null; then
	mounts+=("$tmp/pools")
fi
# Files: what is written and copied beside does not change what is listed.
TMPDIR=$tmp/pools expect 0 "$AKIN" bench --json --size 8K --files 400 \
	--compression lz4 --report "$tmp/files.html" files 2
assert_eq "left behind" "$(find "$tmp/pools" -mindepth 1 | wc -l)" 0
assert_eq "states" "$(jq -r 'select(.type == "files") | .state' \
	"$out" | paste -sd ';')" "$(printf '%s, first;%s, again;%s, beside 5 '`
	`'copies;' plain plain plain lz4 lz4 lz4 | sed 's/;$//')"
assert_eq "times" "$(jq 'select(.type == "files") | .list_ms > 0 and
	.read_ms > 0 and .write_ms > 0' "$out" | sort -u)" true
assert_eq "growth" "$(jq -r 'select(.type == "files_growth") |
	[.store, (.files | floor)] | join(" ")' "$out" | paste -sd ,)" \
	"plain 400,plain 800,akin 400,akin 800"
assert_says "$tmp/files.html" 'while files come'
expect 2 "$AKIN" bench --files 1M files
