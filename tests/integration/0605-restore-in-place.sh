#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F06: an image restored over an older, longer or shorter one is that image, bit
# for bit and byte for byte long, in the same inode; equal blocks are not
# written.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
new_pool
version() {
	noise 2000000 1 >"$src/image"
	truncate -s "$2" "$src/image"
	noise 5000 "$1" | dd of="$src/image" bs=1 seek=1000000 conv=notrunc \
		status=none
	cp "$src/image" "$tmp/$1"
	backup --tag "$1" "$src"
}
version small 1500000
version large 2500000
version middle 2000000

mkdir "$dst"
: >"$dst/image"
inode=$(stat -c %i "$dst/image")
for v in large small middle large middle small small large; do
	restore "tag:$v:$src" --target "$dst" --overwrite always
	cmp "$tmp/$v" "$dst/image"
	assert_eq size "$(stat -c %s "$dst/image")" "$(stat -c %s "$tmp/$v")"
	assert_eq inode "$(stat -c %i "$dst/image")" "$inode"
done

# A name elsewhere of the same inode is not written through.
ln "$dst/image" "$tmp/other-name"
restore "tag:small:$src" --target "$dst" --overwrite always
cmp "$tmp/small" "$dst/image"
cmp "$tmp/large" "$tmp/other-name"

# Nor a symlink.
echo mine >"$tmp/mine"
ln -sf "$tmp/mine" "$dst/image"
restore "tag:small:$src" --target "$dst" --overwrite always
cmp "$tmp/small" "$dst/image"
assert_eq "what the symlink led to" "$(cat "$tmp/mine")" mine
