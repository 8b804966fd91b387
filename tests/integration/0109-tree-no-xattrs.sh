#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F15: onto a file system without extended attributes: one warning for each
# entry that loses some, and all data and all else there.
. "$(dirname "$0")/functions.sh"
requires_mount
requires_command setfattr
requires_xattr

mkdir -p "$src/dir"
noise 300000 1 >"$src/file"
noise 300000 2 >"$src/dir/file"
noise 300000 3 >"$src/plain"
setfattr -n user.one -v 1 "$src/file"
setfattr -n user.two -v 2 "$src/file"
setfattr -n user.one -v 1 "$src/dir"
ln -s file "$src/link"
setfattr -h -n trusted.link -v t "$src/link"
chmod 0640 "$src/dir/file"
touch -d '2001-02-03 04:05:06' "$src/dir/file"
new_pool
backup "$src"

mkdir -p "$dst"
mount -t ramfs ramfs "$dst" 2>/dev/null || skip "no ramfs here"
mounts+=("$dst")
! setfattr -n user.x -v 1 "$dst" 2>/dev/null || skip "ramfs has attributes"
expect 3 akin restore --json "latest:$src" --target "$dst/all"
assert_summary warnings=3 files=3
assert_eq "warned about" "$(jq -r 'select(.type == "warning") | .path' "$out" "$err" |
	xargs -n 1 basename | sort | paste -sd ' ')" "dir file link"
cmp "$src/file" "$dst/all/file"
cmp "$src/dir/file" "$dst/all/dir/file"
assert_eq mode "$(stat -c '%a %Y' "$dst/all/dir/file")" \
	"$(stat -c '%a %Y' "$src/dir/file")"
assert_eq link "$(readlink "$dst/all/link")" file

# And from one: nothing is missed.
backup "$dst/all"
restore "latest:$dst/all" --target "$tmp/back"
assert_summary warnings=0
cmp "$src/plain" "$tmp/back/plain"
