#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F12: FIFOs, sockets and devices are never opened, unless asked; and then a
# FIFO that nobody writes ends after a while.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
mkfifo "$src/fifo"
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$src/socket"
ln -s nowhere "$src/dangling"
[ "$(id -u)" != 0 ] || mknod "$src/zero" c 1 5 || :
new_pool
expect 0 timeout 60 "$AKIN" -p "$pool" backup --json "$src"
assert_summary files=0 bytes=0 bytes_read=0 warnings=0

# Somebody writes: the contents are a file.
noise 300000 >"$tmp/data"
rm -f "$src/zero" "$src/socket"
cat "$tmp/data" >"$src/fifo" &
pids+=($!)
expect 0 timeout 60 "$AKIN" -p "$pool" backup --json --read-special "$src/fifo"
assert_summary files=1 bytes=300000
akin cat "latest:$src/fifo" | cmp - "$tmp/data"

# Nobody writes: a warning after some seconds, not for ever.
expect 3 timeout 60 "$AKIN" -p "$pool" backup --json --read-special "$src"
assert_summary warnings=1
assert_eq "warning" "$(jq -r 'select(.type == "warning") | .path' "$err")" \
	"$src/fifo"
