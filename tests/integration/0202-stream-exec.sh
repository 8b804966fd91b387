#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A producer that fails leaves no snapshot; one that succeeds does.
. "$(dirname "$0")/functions.sh"

new_pool
expect 1 akin backup --stdin x --exec -- sh -c 'echo half; exit 3'
assert_says "$err" 'exit|status|3'
assert_eq snapshots "$(nr_snapshots)" 0
expect 1 akin backup --stdin x --exec -- sh -c 'echo half; kill -TERM $$'
assert_eq snapshots "$(nr_snapshots)" 0
expect 1 akin backup --stdin x --exec -- "$tmp/no-such-command"
assert_eq snapshots "$(nr_snapshots)" 0

noise 200000 >"$tmp/data"
expect 0 akin backup --stdin x --exec -- cat "$tmp/data"
assert_eq snapshots "$(nr_snapshots)" 1
akin cat latest:x | cmp - "$tmp/data"

# Usage: nothing to run, or both at once.
expect 2 akin backup --stdin x --exec
expect 2 akin backup --stdin x "$tmp/data"
expect 2 akin backup --exec -- true
