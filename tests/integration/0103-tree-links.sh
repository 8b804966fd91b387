#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F13: hard links: the right names share an inode, whatever is restored and
# however often.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/a" "$src/b"
noise 50000 1 >"$src/a/one"
noise 50000 1 >"$src/a/two"	# equal bytes, another file
ln "$src/a/one" "$src/b/one-again"
ln "$src/a/two" "$src/b/two-again"
ln -s x "$src/a/symlink"
ln "$src/a/symlink" "$src/b/symlink-again"
: >"$tmp/outside"
ln "$tmp/outside" "$src/a/linked-outward"

new_pool
backup "$src"
assert_summary bytes_new=50000 warnings=0
same_inode() {
	[ "$(stat -c %i "$1")" = "$(stat -c %i "$2")" ]
}

restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst" --omit links
same_inode "$dst/a/one" "$dst/b/one-again" || fail "one is two"
same_inode "$dst/a/two" "$dst/b/two-again" || fail "two are apart"
same_inode "$dst/a/symlink" "$dst/b/symlink-again" || fail "symlinks are apart"
! same_inode "$dst/a/one" "$dst/a/two" || fail "two files are one"

# A second time over the result, and once more after a link was broken.
restore "latest:$src" --target "$dst"
same_inode "$dst/a/one" "$dst/b/one-again" || fail "one is two the second time"
cp "$dst/b/one-again" "$tmp/copy"
mv "$tmp/copy" "$dst/b/one-again"
restore "latest:$src" --target "$dst"
same_inode "$dst/a/one" "$dst/b/one-again" || fail "the link was not mended"
! same_inode "$dst/a/one" "$dst/a/two" || fail "two files are one"
assert_same_tree "$src" "$dst" --omit links

# A part without the first name still has the data.
restore "latest:$src/b" --target "$tmp/part"
cmp "$src/a/one" "$tmp/part/one-again"
cmp "$src/a/two" "$tmp/part/two-again"
