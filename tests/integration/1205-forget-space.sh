#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A dry run of forget says to the byte what reclaiming will free, whatever the
# policy, and writes nothing to the pool.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command python3

# version N: lines that change in place, a file of its own, one that goes.
version() {
	python3 - "$1" "$src" <<-'END'
	import os, random, shutil, sys
	n, top = int(sys.argv[1]), sys.argv[2]
	shutil.rmtree(top, ignore_errors=True)
	os.makedirs(top)
	for f in range(6):
	    r = random.Random(f)
	    lines = ["%032x %d" % (r.getrandbits(128), i) for i in range(4000)]
	    for v in range(1, n + 1):
	        c = random.Random(f * 1000 + v)
	        for _ in range(40):
	            lines[c.randrange(len(lines))] = "%032x" % c.getrandbits(128)
	    with open(os.path.join(top, "f%d" % f), "w") as out:
	        out.write("\n".join(lines) + "\n")
	with open(os.path.join(top, "own%d" % (n % 3)), "wb") as out:
	    out.write(random.Random(n).randbytes(400000))
	END
}
usage() {
	find "$1/data/containers" -type f -printf '%s\n' |
		awk '{ sum += $1 } END { print sum + 0 }'
}
# state: every file of the pool, as it is, but for locks and times.
state() {
	find "$pool" -type f ! -name locks -printf '%P %s\n' | sort
	find "$pool" -type f ! -name locks -print0 | sort -z |
		xargs -0 sha256sum | sha256sum
}

expect 0 "$AKIN" init --container-size 1M "$pool"
for ((v = 1; v <= 8; v++)); do
	version $v
	backup "$src" --tag "v$v"
done

# check POLICY...: the dry run's figure, then that of a real run on a copy.
check() {
	local before after said
	before=$(state)
	expect 0 akin forget "$@" --dry-run --json
	assert_eq "the pool" "$(state)" "$before"
	said=$(jq -r 'select(.type == "space") | .freed_bytes' "$out")
	rm -rf "$tmp/copy"
	cp -a "$pool" "$tmp/copy"
	before=$(usage "$tmp/copy")
	expect 0 "$AKIN" -p "$tmp/copy" forget "$@"
	expect 0 "$AKIN" -p "$tmp/copy" gc --json
	after=$(usage "$tmp/copy")
	assert_eq "freed, $*" "$(summary freed_bytes)" "$said"
	assert_eq "really, $*" $((before - after)) "$said"
	freed=$said
}

check --keep-last 8
assert_eq "nothing" "$freed" 0
check --keep-last 5
check --keep-last 1
((freed > 0)) || fail "nothing would be freed"
check --keep-tag v2 --keep-tag v5
check tag:v1
check tag:v3 tag:v4 tag:v8
check --keep-last 2 --keep-within 1y

# Without memory for it, without write access, as text.
expect 0 env TMPDIR=/nonexistent "$AKIN" -p "$pool" forget --keep-last 1 \
	--dry-run
assert_says "$out" "^would be freed"
chmod -R a-w "$pool"
expect 0 akin forget --keep-last 3 --dry-run
assert_says "$out" "^would be freed: "
assert_says "$out" "forget +[0-9a-f]{8} "
chmod -R u+w "$pool"
expect 0 akin forget --keep-last 3 --dry-run --quiet
[ ! -s "$out" ] || fail "quiet"
expect 0 akin check --read-data
