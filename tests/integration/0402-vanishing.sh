#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F03: files and directories that come and go during the walk are no errors.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/still"
echo x >"$src/still/here"
python3 - "$src" <<'PY' &
import os, shutil, sys
os.chdir(sys.argv[1])
while True:
    for i in range(50):
        os.makedirs('d%d/e' % i, exist_ok=True)
        for name in ('a', 'e/b'):
            with open('d%d/%s' % (i, name), 'w') as f:
                f.write('x' * 5000)
    for i in range(50):
        shutil.rmtree('d%d' % i)
PY
pids+=($!)
new_pool
for i in 1 2 3 4 5 6 7 8; do
	got=0
	akin backup --json --force "$src" >"$out" 2>"$err" || got=$?
	[ $got = 0 ] || [ $got = 3 ] || { cat "$err"; fail "exit code $got"; }
	jq -e . "$err" >/dev/null
	# Gone is a note. Only a file that was being written is a warning.
	assert_eq "other warnings" "$(jq -r 'select(.type == "warning") |
		.code' "$err" | grep -cvx source_changed || :)" 0
	expect 0 akin cat "latest:$src/still/here"
	assert_eq content "$(cat "$out")" x
done
kill "${pids[0]}"
assert_eq snapshots "$(nr_snapshots)" 8
expect 0 akin check --read-data
