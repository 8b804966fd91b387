#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F16: an ordinary user gets all the data of a snapshot made by root; owners
# that cannot be set are summarised, and the exit code says so.
. "$(dirname "$0")/functions.sh"
requires_nobody

mkdir -p "$src/readonly/below"
noise 100000 >"$src/readonly/root-file"
echo x >"$src/readonly/below/other"
chown 1234:5678 "$src/readonly/below/other" "$src/readonly"
chmod 0555 "$src/readonly" "$src/readonly/below"
chmod 0400 "$src/readonly/root-file"
ln -s x "$src/link"
mknod "$src/null" c 1 3 || skip "may not make device nodes"
new_pool
backup "$src"
chmod -R a+rX "$pool"

mkdir "$dst"
chown 65534:65534 "$dst"
expect 3 as_nobody "$tmp/akin" -p "$pool" restore --json "latest:$src" --target "$dst"
assert_summary files=2 bytes=100002 partial=true
[ "$(summary owner_failures)" -ge 4 ] || fail "owner failures are not counted"
assert_between warnings "$(grep -c '"type":"warning"' "$err")" 1 3
assert_no_file "$dst/null"
rm "$src/null"
assert_same_tree "$src" "$dst" --omit owner
