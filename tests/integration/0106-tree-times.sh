#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F11: times of any sign and size, to the nanosecond, as far as the file system
# holds them.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir"
set_time() {
	python3 -c 'import os, sys
ns = int(sys.argv[2])
os.utime(sys.argv[1], ns=(ns, ns), follow_symlinks=False)' "$@"
}
# Seconds, then nanoseconds.
times=(-1000000000 -1 0 1 999999999 -31536000123456789 -14182940000000001
	2147483648123456789 4294967296000000001 9223372036854775807)
for ns in "${times[@]}"; do
	echo x >"$src/t$ns"
	set_time "$src/t$ns" "$ns"
done
ln -s x "$src/symlink"
set_time "$src/symlink" -123456789
mkfifo "$src/fifo"
set_time "$src/fifo" 1123456789987654321
# Beyond what 64 bits of nanoseconds hold, where the file system can.
touch -d '@95617584000.5' "$src/year-5000" 2>/dev/null || :
touch -d '@253402300800.000000001' "$src/year-10000" 2>/dev/null || :
touch -d '@9000000000000000000' "$src/far" 2>/dev/null || :
set_time "$src/dir" -5000000007

new_pool
backup "$src"
assert_summary warnings=0
restore "latest:$src" --target "$dst"
assert_summary warnings=0
for f in "$src"/*; do
	g=$dst${f#"$src"}
	assert_eq "mtime of $f" "$(stat -c %.9Y "$g")" "$(stat -c %.9Y "$f")"
done

# Listings degrade to numbers, and do not fail.
expect 0 akin ls -l "latest:$src"
expect 0 akin ls --json "latest:$src"
jq -e . "$out" >/dev/null
assert_eq "mtime before 1970" "$(jq -r "select(.path == \"$src/t-1\") |
	\"\(.mtime_sec) \(.mtime_nsec)\"" "$out")" "-1 999999999"
