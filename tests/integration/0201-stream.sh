#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stream is stored under a name, comes back byte for byte, and a second
# version costs what changed.
. "$(dirname "$0")/functions.sh"

noise 3000000 >"$tmp/one"
new_pool
expect 0 akin backup --json --stdin data.img --tag a <"$tmp/one"
assert_summary files=1 bytes=3000000 bytes_read=3000000 bytes_new=3000000 \
	partial=false
akin cat latest:data.img | cmp - "$tmp/one"
akin cat latest:/data.img | cmp - "$tmp/one"

{ head -c 1000000 "$tmp/one"; echo inserted; tail -c 2000000 "$tmp/one"; } >"$tmp/two"
expect 0 akin backup --json --stdin data.img --tag b <"$tmp/two"
assert_between "bytes new" "$(summary bytes_new)" 9 300000
akin cat tag:a:data.img | cmp - "$tmp/one"
akin cat tag:b:data.img | cmp - "$tmp/two"

# It can be restored as a file, too.
restore tag:a:data.img --target "$dst"
cmp "$tmp/one" "$dst/data.img"

# An empty stream is a stream.
expect 0 akin backup --json --stdin nothing </dev/null
assert_summary files=1 bytes=0
assert_eq "empty" "$(akin cat latest:nothing | wc -c)" 0
