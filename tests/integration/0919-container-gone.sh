#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F37: a container's file is gone altogether, and others were compressed against
# it. Whoever comes upon it says so, a repair lists what is lost, nothing new
# builds on it, and backups of the same data make the old snapshots whole.
. "$(dirname "$0")/functions.sh"
requires_command jq

mkdir "$src"
noise 1500000 1 >"$src/f"
new_pool --delta-depth 4
backup "$src"
cp -p "$src/f" "$tmp/v1"
# Some bytes of every chunk are new.
for v in 2 3; do
	python3 - "$src/f" $v <<'PY'
import sys
with open(sys.argv[1], 'r+b') as f:
    data = bytearray(f.read())
    for i in range(int(sys.argv[2]) * 100, len(data), 1500):
        data[i] ^= 0x55
    f.seek(0)
    f.write(data)
PY
	backup "$src"
	[ "$(summary bytes_stored)" -lt 500000 ] || fail "no references"
	cp -p "$src/f" "$tmp/v$v"
done
mapfile -t ids < <(akin snapshots --json | jq -r '.id // empty')
victim=$(find "$pool/data/containers" -type f -size +800k | sort | head -n 1)
rm "$victim"
cp -a "$pool" "$tmp/gone"

# whole V...: these come back, and the others do not.
whole() {
	local v
	for v in 1 2 3; do
		if [[ " $* " == *" $v "* ]]; then
			akin cat "${ids[v - 1]}:$src/f" | cmp - "$tmp/v$v" ||
				fail "version $v"
		else
			expect 5 akin cat "${ids[v - 1]}:$src/f"
		fi
	done
}

# A check without reading data says it, and a repair which files are lost; there
# is nothing to make them from yet.
expect 5 akin check
assert_says "$out" '^container 1: .*No such file or directory; [0-9]+ chunks lost$'
assert_says "$err" '3 files in 3 snapshots affected'
expect 5 akin repair --dry-run --json
assert_eq lost "$(jq -r 'select(.type == "finding") | .snapshot + .path' "$out" |
	sort)" "$(printf "%s$src/f\n" "${ids[@]}" | sort)"
assert_summary steps=0 snapshots_damaged=3
whole
# Nothing is reclaimed that might still be of use.
before=$(find "$pool/data/containers" -type f | wc -l)
akin gc >"$out" 2>"$err" || :
assert_eq containers "$(find "$pool/data/containers" -type f | wc -l)" "$before"

# With a check in between and without: each backup reads the file, though it
# looks as it did, and stores anew what is missing.
for how in check none; do
	rm -r "$pool"
	cp -a "$tmp/gone" "$pool"
	[ $how = none ] || expect 5 akin check
	done=
	for v in 1 2 3; do
		cp -p "$tmp/v$v" "$src/f"
		backup "$src"
		assert_between "bytes new" "$(summary bytes_new)" 1 1500000
		akin cat "latest:$src/f" | cmp - "$tmp/v$v" || fail "$how $v"
		done="$done $v"
		# shellcheck disable=SC2086 # words
		whole $done
	done
	expect 0 akin repair --yes
	expect 0 akin check --read-data
	whole 1 2 3
done

# The old ones go, and what was lost with them: no harm is left.
akin forget --quiet "${ids[@]}"
expect 0 akin gc
expect 0 akin check --read-data
assert_says "$out" '^no damage found$'
