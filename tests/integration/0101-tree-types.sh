#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every type of node comes back as it was; the first backup stores it once.
. "$(dirname "$0")/functions.sh"
requires_root

mkdir -p "$src/dir/empty"
noise 100000 >"$src/file"
: >"$src/nothing"
ln -s file "$src/dir/link"
ln -s /nowhere/at/all "$src/dangling"
mkfifo -m 640 "$src/fifo"
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$src/socket"
mknod -m 620 "$src/null" c 1 3 || skip "may not make device nodes"
mknod -m 660 "$src/loop" b 7 300
chown 1234:5678 "$src/file" "$src/fifo" "$src/null"
chown -h 4321:8765 "$src/dangling"

new_pool
backup "$src"
assert_summary files=2 others=6 warnings=0 partial=false bytes=100000 \
	bytes_read=100000
restore "latest:$src" --target "$dst"
assert_summary files=2 others=6 bytes=100000 warnings=0
assert_same_tree "$src" "$dst"

# Without a path the stored absolute path is put below the target.
restore latest --target "$tmp/whole"
assert_same_tree "$src" "$tmp/whole$src"
