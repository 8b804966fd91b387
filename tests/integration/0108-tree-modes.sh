#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F16: modes, odd ones too; they are applied last.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/readonly/below" "$src/empty" "$src/sticky"
echo x >"$src/readonly/below/file"
chmod 0555 "$src/readonly/below" "$src/readonly"
chmod 0500 "$src/empty"
chmod 1777 "$src/sticky"
echo x >"$src/suid"
chmod 6755 "$src/suid"
echo x >"$src/write-only"
chmod 0644 "$src/write-only"
mkdir -m 2775 "$src/setgid"
echo x >"$src/setgid/file"

new_pool
backup "$src"
assert_summary warnings=0
restore "latest:$src" --target "$dst"
assert_summary warnings=0
assert_same_tree "$src" "$dst"

# Again over it, with the directories read-only.
chmod u+w "$dst/readonly/below" && echo y >"$dst/readonly/below/file"
chmod 0555 "$dst/readonly/below"
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
