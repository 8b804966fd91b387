#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Features of the format: what a pool has is said, what it lacks is switched on
# when somebody asks for it and not before, and what this version does not know
# is not touched.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command xz

# All there is of the pool that an upgrade could change.
state() {
	sha256sum "$pool"/*/superblock "$pool/data/policy" 2>/dev/null || :
}
# has META DATA: feat_ro_compat of the two superblocks.
has() {
	local disk got
	for disk in meta data; do
		got=$(akin inspect --json "$pool/$disk/superblock" |
			jq -r 'select(.what == "super" and .off == 0) |
				.feat_ro_compat')
		assert_eq "$disk" "$got" "$1"
		shift
	done
}
feature() {
	jq -c 'select(.type == "feature") |
		[.name, .kind, .known, .on, .switch_on]' "$out"
}

# A new pool has everything, and is not written to.
new_pool
has 1 1
before=$(state)
expect 0 akin upgrade --json
assert_summary dry_run=false version_major=1 version_minor=0 \
	features_known=1 features_unknown=0 switched_on=0
assert_eq feature "$(feature)" '["policy-copy","read-only",true,true,false]'
expect 0 akin upgrade
assert_says "$out" 'feature policy-copy: on'
assert_says "$out" 'nothing to upgrade'
assert_eq state "$(state)" "$before"

# One that an older version made. Using it changes nothing of that.
rm -r "$pool"
tar -C "$tmp" -xJf "$here/../golden/pool-1.tar.xz"
has 0 0
akin snapshots --json >"$tmp/snapshots"
akin policy set --keep-monthly 12 --keep-tag labelled
echo new >"$tmp/new"
backup "$tmp/new"
akin forget --quiet latest
has 0 0
before=$(state)
expect 0 akin upgrade --dry-run --json
assert_summary dry_run=true switched_on=1
assert_eq feature "$(feature)" '["policy-copy","read-only",true,false,true]'
expect 0 akin upgrade -n
assert_says "$out" 'off, would be switched on'
assert_says "$out" 'do not know it only read'
assert_eq state "$(state)" "$before"
cp -a "$pool" "$tmp/old"

expect 0 akin upgrade --json
assert_summary switched_on=1
has 1 1
akin inspect "$pool/data/policy" >"$out"
assert_says "$out" 'rules=2'
before=$(state)
expect 0 akin upgrade --json
assert_summary switched_on=0
assert_eq state "$(state)" "$before"

# It is worth something: the policy survives, and all else as ever.
rm -r "$pool/meta"
expect 0 akin repair --yes --json
assert_summary policy_lost=false
has 1 1
assert_eq policy "$(akin policy | paste -sd ' ')" \
	"--keep-monthly 12 --keep-tag labelled"
akin snapshots --json | diff "$tmp/snapshots" -
expect 0 akin check --read-data

# Half upgraded, as a crash may leave it: it counts, and the rest is done.
rm -r "$pool"
cp -a "$tmp/old" "$pool"
expect 0 akin upgrade
cp "$tmp/old/meta/superblock" "$pool/meta/superblock"
has 0 1
akin policy set --keep-yearly 3
akin inspect "$pool/data/policy" | grep -q 'name="yearly" value="3"' ||
	fail "the copy is stale"
expect 0 akin upgrade --json
assert_summary switched_on=1
has 1 1
# What sets the parity keeps it.
expect 0 akin optimize --parity 5%
has 1 1

# Features of a later version: it says so, and what may not be done is not.
cp -a "$pool" "$tmp/good"
later() {
	rm -r "$pool"
	cp -a "$tmp/good" "$pool"
	"$AKIN_PATCH" "$pool/meta/superblock" "$@"
	"$AKIN_PATCH" "$pool/data/superblock" "$@"
}
later 0x10 80
expect 0 akin upgrade --json
assert_summary features_unknown=1 switched_on=0
backup "$tmp/new"
later 0x18 21
expect 0 akin snapshots
expect 0 akin check
expect 0 akin upgrade --dry-run --json
assert_summary features_unknown=1 switched_on=0
assert_eq feature "$(feature | tail -n 1)" '["","read-only",false,true,false]'
expect 0 akin upgrade --dry-run
assert_says "$out" 'feature 5 .*does not know it'
before=$(state)
for command in upgrade "policy clear" "forget latest" gc "repair --yes"; do
	# shellcheck disable=SC2086 # words
	expect 1 akin $command
	assert_says "$err" 'only read'
done
expect 1 akin backup "$tmp/new"
assert_eq state "$(state)" "$before"
later 0x20 01
expect 1 akin upgrade --dry-run
assert_says "$err" 'newer version'
# Formats before and after this one.
later 0x08 00 00 02 00
expect 1 akin upgrade
assert_says "$err" 'format 2.0, which is newer'
expect 1 akin repair --yes
later 0x08 07 00 00 00
expect 1 akin upgrade
assert_says "$err" 'format 0.7, which is too old'
# A minor version above ours is read and written.
later 0x08 09 00 01 00
expect 0 akin upgrade --json
assert_summary version_major=1 version_minor=9
