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

# Beside what was asked for nobody has looked.
mkdir -p "$src/beside"
echo 3 >"$src/beside/three"
backup "$src/dir"
# Directories above it may be root's, who we may not be.
whole() {
	akin restore latest --target "$tmp/all" "$@" >"$out" 2>"$err" ||
		[ $? = 3 ] || { cat "$err"; fail "restore of all"; }
}
whole
mkdir -p "$tmp/all/mine" "$tmp/all$src/mine" "$tmp/all$src/dir/extra"
echo x >"$tmp/all$src/mine/x"
whole --delete
[ -d "$tmp/all/mine" ] || fail "removed at the top"
[ -e "$tmp/all$src/mine/x" ] || fail "removed beside what was backed up"
assert_no_file "$tmp/all$src/dir/extra"
restore "latest:$src" --target "$src" --delete
[ -e "$src/beside/three" ] || fail "removed beside what was backed up"

# Nor in the pool, which backups leave out; and an older snapshot knows of none.
mkdir "$tmp/home"
echo 4 >"$tmp/home/four"
old=$pool
"$AKIN" init --quiet "$tmp/home/pool"
pool=$tmp/home/pool
backup "$tmp/home"
restore "latest:$tmp/home" --target "$tmp/home" --delete
assert_summary removed=0
expect 0 akin check
pool=$old
rm -r "$tmp/home/pool"
backup "$tmp/home"
mkdir "$tmp/home/sub"
cp -a "$pool" "$tmp/home/sub/pool"
pool=$tmp/home/sub/pool
expect 3 akin restore "latest:$tmp/home" --target "$tmp/home" --delete
assert_says "$err" 'could not be deleted'
expect 0 akin check
