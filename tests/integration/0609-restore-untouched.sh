#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A restore over what is already there as it should be touches no inode: the
# next backup need not read it.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir/below"
noise 100000 1 >"$src/file"
noise 100000 2 >"$src/dir/below/file"
truncate -s 300000 "$src/sparse"
printf 'in the middle' | dd of="$src/sparse" bs=1 seek=150000 conv=notrunc status=none
ln -s file "$src/link"
chmod 2750 "$src/dir"
chmod 640 "$src/file"
touch -d '1961-02-03 04:05:06.7' "$src/dir/below/file"
ctimes() {
	find "$src" -printf '%P %C@\n' | sort
}
new_pool
backup "$src"
before=$(ctimes)
for how in if-changed always; do
	restore "latest:$src" --target "$src" --overwrite "$how"
	assert_eq "change times after $how" "$(ctimes)" "$before"
done

# What is not as it should be is set, and nothing else.
chmod 600 "$src/file"
touch "$src/dir"
restore "latest:$src" --target "$src"
assert_eq mode "$(stat -c %a "$src/file")" 640
assert_eq "untouched: link" "$(ctimes | grep ^link)" "$(grep ^link <<<"$before")"
backup "$src"
