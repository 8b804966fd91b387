#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F04: a sparse file costs what its data costs: time in the backup, space in the
# pool, and space after the restore.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
truncate -s 64G "$src/huge" 2>/dev/null || skip "no file of 64 GiB here"
noise 1048576 | dd of="$src/huge" bs=64K seek=$((65536 * 16 - 16)) \
	conv=notrunc iflag=fullblock status=none
assert_eq "size of the source" "$(stat -c %s "$src/huge")" 68719476736
[ "$(kib_of "$src/huge")" -lt 2048 ] || skip "no sparse files here"
# Holes in front, between, and at the end; and zeros that are no hole.
truncate -s 10M "$src/mixed"
noise 4096 2 | dd of="$src/mixed" bs=4K seek=100 conv=notrunc status=none
head -c 65536 /dev/zero | dd of="$src/mixed" bs=4K seek=200 conv=notrunc \
	status=none
truncate -s 5M "$src/all-hole"

new_pool
backup "$src"
assert_summary bytes=$((68719476736 + 10485760 + 5242880))
assert_between "bytes read" "$(summary bytes_read)" 1118208 1300000
assert_between "bytes new" "$(summary bytes_new)" 1052672 1250000
assert_between "seconds" "$(summary seconds | cut -d. -f1)" 0 60

restore "latest:$src" --target "$dst"
for name in huge mixed all-hole; do
	assert_eq "size of $name" "$(stat -c %s "$dst/$name")" \
		"$(stat -c %s "$src/$name")"
	assert_between "KiB of $name" "$(kib_of "$dst/$name")" 0 \
		$(($(kib_of "$src/$name") + 64))
done
cmp "$src/mixed" "$dst/mixed"
cmp "$src/all-hole" "$dst/all-hole"
tail -c 2M "$src/huge" | cmp - <(tail -c 2M "$dst/huge")

# Again over it: data that became holes becomes holes again.
noise 3000000 5 | dd of="$dst/huge" bs=64K seek=1000 conv=notrunc status=none
restore "latest:$src" --target "$dst" --overwrite always
assert_between "KiB of huge" "$(kib_of "$dst/huge")" 1024 \
	$(($(kib_of "$src/huge") + 64))
tail -c 2M "$src/huge" | cmp - <(tail -c 2M "$dst/huge")

# Into a file, cat leaves holes.
akin cat "latest:$src/mixed" >"$tmp/mixed"
cmp "$src/mixed" "$tmp/mixed"
assert_between "KiB of cat's file" "$(kib_of "$tmp/mixed")" 0 512
