#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A path longer than the kernel takes in one call.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
python3 - "$src" <<'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(40):
    name = '%03d-' % i + 'd' * 200
    os.mkdir(name, dir_fd=fd)
    new = os.open(name, os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = new
with open(os.open('bottom', os.O_WRONLY | os.O_CREAT, 0o640, dir_fd=fd), 'w') as f:
    f.write('deep')
os.symlink('bottom', 'link', dir_fd=fd)
PY

new_pool
backup "$src"
assert_summary files=1 warnings=0
restore "latest:$src" --target "$dst"
assert_summary files=1 warnings=0
assert_same_tree "$src" "$dst"
manifest "$dst" >"$tmp/manifest"
assert_eq "nodes" "$(wc -l <"$tmp/manifest")" 42
assert_says "$tmp/manifest" "/bottom file 0640 .* 4 "

# Nothing changed: nothing is read again, also down there.
backup "$src"
assert_summary files_unchanged=1 bytes_read=0
