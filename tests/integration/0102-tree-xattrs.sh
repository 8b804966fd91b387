#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F15: extended attributes, ACLs and capabilities, on symlinks too.
. "$(dirname "$0")/functions.sh"
requires_command setfattr setfacl
requires_xattr

mkdir -p "$src/dir"
echo data >"$src/file"
echo data >"$src/tool"
setfattr -n user.plain -v value "$src/file"
setfattr -n user.empty "$src/file"
setfattr -n user.binary -v 0x00ff0a1b "$src/file"
setfattr -n user.on-a-dir -v x "$src/dir"
setfattr -n user.long -v "$(printf '%01000d' 7)" "$src/dir"
setfacl -m u:1234:rwx,g:5678:r-- "$src/file"
setfacl -m d:u:1234:rwx "$src/dir"
chmod 0604 "$src/tool"
ln -s file "$src/link"
if [ "$(id -u)" = 0 ]; then
	setfattr -h -n trusted.on-a-link -v t "$src/link"
	setcap cap_net_raw,cap_chown=ep "$src/tool"
	chown 1234:5678 "$src/dir"
fi
# What is restored into a directory with a default ACL must not inherit it.
mkdir -m 700 "$dst"
setfacl -m d:u:999:rwx "$dst"

new_pool
backup "$src"
restore "latest:$src" --target "$dst"
assert_summary warnings=0
assert_same_tree "$src" "$dst"
assert_says "$tmp/manifest-b" user.binary=00ff0a1b

# Other values, over what is there: ours go, the stored ones come back.
setfattr -n user.plain -v other "$dst/file"
setfattr -n user.extra -v x "$dst/file"
setfacl -b "$dst/dir"
restore "latest:$src" --target "$dst" --overwrite always
assert_same_tree "$src" "$dst"
