#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A dozen versions of a file, each a little different; the first, the last
# and one between come back.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 1000000 >"$src/f"
new_pool --chunk-size 4K --compression lz4
n=12
for ((i = 0; i < n; i++)); do
	noise 100 "v$i" | dd of="$src/f" bs=1 seek=$((i * 50000)) conv=notrunc \
		status=none
	sum[i]=$(sha256sum <"$src/f")
	backup --tag "v$i" "$src"
	[ $i = 0 ] || assert_between "new" "$(summary bytes_new)" 100 60000
done
for i in 0 7 $((n - 1)); do
	assert_eq "version $i" "$(akin cat "tag:v$i:$src/f" | sha256sum)" \
		"${sum[i]}"
done
