#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files of every length around what a restore writes at a time, with holes and
# repetitions across its borders, come back, also over others; and a target
# that is full before the last bytes are written is an error.
. "$(dirname "$0")/functions.sh"

w=262144
mkdir "$src"
for n in 0 1 4095 $((w - 1)) $w $((w + 1)) $((2 * w)) $((3 * w + 17)); do
	noise "$n" "$n" >"$src/noise-$n"
done
# Long runs of one chunk, and data in pieces between holes.
head -c $((2 * w + 5)) /dev/zero >"$src/zeros"
{ noise $((w - 9)) 1; head -c $((w + 30)) /dev/zero; noise 70000 2; } \
	>"$src/noise-zeros-noise"
truncate -s $((4 * w)) "$src/holes"
for at in 1 3 60 63 64 65 127 200; do
	noise 5000 $at | dd of="$src/holes" bs=4K seek=$at conv=notrunc \
		status=none
done

new_pool
backup "$src"
restore "latest:$src" --target "$dst"
diff -r "$src" "$dst"

# Over files of the same names and other contents.
for f in "$src"/*; do
	noise $((w + 99)) 7 >"$dst/$(basename "$f")"
done
restore "latest:$src" --target "$dst" --overwrite always
diff -r "$src" "$dst"

[ "$(id -u)" = 0 ] || exit 0
mkdir "$tmp/small"
mount -t tmpfs -o size=700k none "$tmp/small" 2>/dev/null || exit 0
mounts+=("$tmp/small")
if akin restore -q "latest:$src/noise-$((3 * w + 17))" \
	--target "$tmp/small" >"$out" 2>"$err"; then
	fail "a full target went unnoticed"
fi
grep -q "No space left" "$err"
