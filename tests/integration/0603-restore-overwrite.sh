#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What happens to files that exist: if-changed trusts size and time, always
# trusts nothing, never keeps all.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 500000 1 >"$src/same"
noise 500000 2 >"$src/touched"
noise 500000 3 >"$src/sneaky"
noise 500000 4 >"$src/gone"
new_pool
backup "$src"
prepare() {
	rm -rf "$dst"
	cp -a "$src" "$dst"
	touch "$dst/touched"
	# Other bytes under the same size and time.
	printf 'XX' | dd of="$dst/sneaky" bs=1 seek=250000 conv=notrunc status=none
	touch -r "$src/sneaky" "$dst/sneaky"
	rm "$dst/gone"
	echo extra >"$dst/extra"
}
differs() {
	! cmp -s "$src/sneaky" "$dst/sneaky"
}

prepare
restore "latest:$src" --target "$dst"
assert_summary files_skipped=2
cmp "$src/gone" "$dst/gone"
assert_eq mtime "$(stat -c %Y "$dst/touched")" "$(stat -c %Y "$src/touched")"
differs || fail "if-changed does not trust size and time"

prepare
restore "latest:$src" --target "$dst" --overwrite always
assert_summary files_skipped=0
rm "$dst/extra"
assert_same_tree "$src" "$dst"

prepare
mtime=$(stat -c %Y "$dst/touched")
restore "latest:$src" --target "$dst" --overwrite never
cmp "$src/gone" "$dst/gone"
assert_eq mtime "$(stat -c %Y "$dst/touched")" "$mtime"
differs || fail "never overwrote"
assert_eq extra "$(cat "$dst/extra")" extra
expect 2 akin restore latest --target "$dst" --overwrite sometimes
