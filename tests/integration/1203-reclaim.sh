#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Versions of a tree, most of them forgotten and reclaimed: what stays restores,
# a check finds nothing, and the pool is nearly as small as one that never had
# the others.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command python3

versions=16
kept=4

# version N: a few files that change in place, some that come and go.
version() {
	python3 - "$1" "$src" <<-'END'
	import os, random, shutil, sys
	n, top = int(sys.argv[1]), sys.argv[2]
	shutil.rmtree(top, ignore_errors=True)
	for f in range(24):
	    if f % 8 == 7 and (n + f) % 3 == 0:
	        continue                       # not in this version
	    r = random.Random(f)
	    lines = ["%032x %d" % (r.getrandbits(128), i) for i in range(1500)]
	    for v in range(1, n + 1):          # every version changes a little
	        c = random.Random(f * 1000 + v)
	        for _ in range(12):
	            lines[c.randrange(len(lines))] = "%032x" % c.getrandbits(128)
	    path = os.path.join(top, "d%d" % (f % 4), "f%d" % f)
	    os.makedirs(os.path.dirname(path), exist_ok=True)
	    with open(path, "w") as out:
	        out.write("\n".join(lines) + "\n")
	END
}
# Bytes of containers.
usage() {
	find "$1/data/containers" -type f -printf '%s\n' |
		awk '{ sum += $1 } END { print sum + 0 }'
}

expect 0 "$AKIN" init --container-size 1M "$pool"
expect 0 "$AKIN" init --container-size 1M "$tmp/fresh"
for ((v = 1; v <= versions; v++)); do
	version $v
	backup "$src"
	if ((v > versions - kept)); then
		cp -a "$src" "$tmp/v$v"
		expect 0 "$AKIN" -p "$tmp/fresh" backup "$src"
	fi
done
before=$(usage "$pool")

expect 0 akin gc --json
assert_summary deleted_files=0
expect 0 akin forget --keep-last $kept
expect 0 akin gc --dry-run --json
[ "$(summary dead_bytes)" -gt 0 ] || fail "nothing is dead"
assert_eq "after a dry run" "$(usage "$pool")" "$before"
expect 0 akin gc --json
after=$(usage "$pool")
assert_summary freed_bytes=$((before - after))
fresh=$(usage "$tmp/fresh")
((after * 10 <= fresh * 16)) || fail "$after bytes, a fresh pool has $fresh"
expect 0 akin gc --json
assert_eq "after another run" "$(usage "$pool")" "$after"

expect 0 akin check --read-data
ids=$(akin snapshots --json | jq -r 'select(.type == "snapshot") | .id')
v=$((versions - kept))
for id in $ids; do
	v=$((v + 1))
	rm -rf "$dst"
	restore "$id:$src" --target "$dst"
	assert_same_tree "$tmp/v$v" "$dst"
done
assert_eq "the last one" $v $versions

# The reclaimed ones cannot come back; the pool goes on.
expect 0 akin snapshots --forgotten --json
backup "$src"
akin forget --keep-last 1 >/dev/null
expect 0 akin gc
expect 0 akin check --read-data
