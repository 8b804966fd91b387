#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --delete removes what the snapshot does not have, and only below what is
# restored.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir" "$src/other"
echo 1 >"$src/dir/one"
echo 2 >"$src/other/two"
new_pool
backup "$src"
restore "latest:$src" --target "$dst"
mkdir -p "$dst/dir/extra/deep" "$dst/new"
echo x >"$dst/dir/extra/deep/x"
echo x >"$dst/new/x"
ln -s "$src/other" "$dst/dir/symlink"	# what it leads to must survive
chmod 555 "$dst/dir/extra/deep"

restore "latest:$src" --target "$dst"
assert_summary removed=0
[ -e "$dst/dir/extra/deep/x" ] || fail "removed without --delete"

expect 0 akin restore --json "latest:$src" --target "$dst" --delete --dry-run
[ "$(summary removed)" -ge 1 ] || fail "a dry run does not say what it would remove"
[ -e "$dst/dir/extra/deep/x" ] || fail "a dry run removed"

# A part: only there.
restore "latest:$src/dir" --target "$dst/dir" --delete
assert_no_file "$dst/dir/extra"
[ -e "$dst/new/x" ] || fail "removed outside of what is restored"

# What patterns leave out is no extra.
restore "latest:$src" --target "$dst" --delete --exclude other
[ -e "$dst/other/two" ] || fail "removed what was left out"
assert_no_file "$dst/new"
restore "latest:$src" --target "$dst" --delete
assert_same_tree "$src" "$dst"
[ -e "$src/other/two" ] || fail "followed a symlink"
expect 2 akin restore "latest:$src" "latest:$src/dir" --target "$dst" --delete
