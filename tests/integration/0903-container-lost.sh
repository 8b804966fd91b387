#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F37: a container is gone: it is noticed, nothing new builds on it, and the
# next backup of the same data heals the old snapshot.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 1 >"$src/one"
noise 3000000 2 >"$src/two"
new_pool --container-size 1M
backup --tag old "$src"
victim=$(find "$pool/data/containers" -type f -size +800k | sort | sed -n 2p)
mv "$victim" "$tmp/victim"

expect 5 akin check --json
[ "$(summary findings)" -ge 1 ] || fail "not noticed"
got=0
akin restore "latest:$src" --target "$tmp/broken" >"$out" 2>"$err" || got=$?
[ $got = 3 ] || [ $got = 5 ] || fail "a restore without a container ended with $got"

backup "$src"
assert_between "bytes new" "$(summary bytes_new)" 500000 1300000
restore "latest:$src" --target "$tmp/new"
assert_same_tree "$src" "$tmp/new"
restore "tag:old:$src" --target "$tmp/old"
assert_same_tree "$src" "$tmp/old"

# It is still gone, but no harm.
expect 0 akin check
assert_says "$out" '^no snapshot needs what is damaged: chunks [0-9]+$'
expect 0 akin repair --yes
assert_says "$out" '^no snapshot needs what is damaged: chunks [0-9]+$'
expect 0 akin gc
expect 0 akin check
assert_says "$out" '^no damage found$'
