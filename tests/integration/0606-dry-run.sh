#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A dry run says what would happen, and nothing does.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir"
noise 300000 >"$src/dir/file"
new_pool
state() {
	(cd "$pool" && find . -type f -exec sha256sum {} + | sort -k 2)
}
state >"$tmp/before"
backup --dry-run "$src"
assert_summary dry_run=true files=1 bytes=300000 bytes_new=300000 snapshot=null
assert_eq snapshots "$(nr_snapshots)" 0
[ "$(find "$pool/data/containers" -type f | wc -l)" = 0 ] || fail "stored data"

backup "$src"
backup --dry-run --force "$src"
assert_summary bytes_read=300000 bytes_new=0
restore "latest:$src" --target "$dst" --dry-run
assert_summary dry_run=true files=1 bytes=300000
assert_no_file "$dst"
restore "latest:$src" --target "$dst"
echo x >>"$dst/dir/file"
manifest "$dst" >"$tmp/before"
restore "latest:$src" --target "$dst" --dry-run --delete --overwrite always
manifest "$dst" | cmp - "$tmp/before"
