#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every processor level cuts and hashes alike: a pool written with one finds
# everything with any other.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 2000000 >"$src/noise"
head -c 1000000 /dev/zero >"$src/zeros"
yes 'the same again' | head -c 500000 >"$src/periodic" || :
noise 77 5 >"$src/small"
: >"$src/empty"

new_pool
AKIN_CPU=portable backup "$src"
assert_between "new" "$(summary chunks_new)" 50 5000
chunks=$(summary chunks)
for level in '' ssse3 avx2 avx512 neon; do
	AKIN_CPU=$level backup --force "$src"
	assert_summary chunks="$chunks" chunks_new=0 bytes_new=0
done

"$AKIN" init --quiet --hash sha256 "$tmp/other"
pool=$tmp/other
backup "$src"
chunks=$(summary chunks)
AKIN_CPU=portable backup --force "$src"
assert_summary chunks="$chunks" chunks_new=0
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
