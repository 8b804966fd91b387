#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --one-file-system stores a mount point and nothing below it, unless that was
# asked for by name.
. "$(dirname "$0")/functions.sh"
requires_mount

mkdir -p "$src/mnt"
echo x >"$src/file"
mount_tmpfs "$src/mnt" 1m
mkdir -p "$src/mnt/dir/deep" "$src/mnt/aside"
echo y >"$src/mnt/other"
echo z >"$src/mnt/dir/deep/file"
echo w >"$src/mnt/aside/file"
listing() {
	akin ls --json "latest:$src" | jq -r .path | sed "s,^$src/*,," | sort |
		grep . | paste -sd ' '
}

new_pool
backup "$src"
assert_summary files=4
backup -x "$src"
assert_eq listing "$(listing)" "file mnt"

backup -x "$src" "$src/mnt/"
assert_eq listing "$(listing)" "file mnt mnt/aside mnt/aside/file mnt/dir\
 mnt/dir/deep mnt/dir/deep/file mnt/other"
backup -x "$src" "$src/mnt/dir/deep" "$src/mnt/other" "$src"
assert_eq listing "$(listing)" "file mnt mnt/dir mnt/dir/deep\
 mnt/dir/deep/file mnt/other"
backup -x "$src/mnt/dir" "$src/file"
assert_eq listing "$(listing)" "file mnt mnt/dir mnt/dir/deep mnt/dir/deep/file"

# With nothing changed, unchanged files stay unread.
backup -x "$src/mnt/dir" "$src/file"
assert_summary files_unchanged=2 bytes_read=0

# What was not looked into is not emptied by a restore.
backup -x "$src"
akin ls -l "latest:$src" >"$out"
assert_says "$out" '/mnt  \(in part\)$'
mkdir -p "$dst/mnt/dir" "$dst/extra"
echo kept >"$dst/mnt/dir/kept"
restore "latest:$src" --target "$dst" --delete
assert_no_file "$dst/extra"
[ -e "$dst/mnt/dir/kept" ] || fail "emptied another file system"
restore "latest:$src/mnt" --target "$dst/mnt" --delete
[ -e "$dst/mnt/dir/kept" ] || fail "emptied another file system by name"
