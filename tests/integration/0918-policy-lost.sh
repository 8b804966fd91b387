#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The policy and protections survive the loss of the metadata: the data
# directory has a copy, which a repair finds, and mends where it is damaged.
. "$(dirname "$0")/functions.sh"
requires_command xz

mkdir "$src"
echo one >"$src/f"
new_pool
backup --tag one "$src"
akin protect latest --until 2099-01-31

# policy: as options, one a line.
policy() {
	akin policy -q
}
rebuild() {
	rm -r "$pool/meta"
	expect 0 akin repair --yes --json
	assert_summary rebuilt=true "policy_lost=$1"
}

# None is a policy, too.
rebuild false
assert_eq policy "$(policy)" ""
akin policy set --keep-daily 7 --keep-within 30d --keep-tag one \
	--keep-tag "year's end" --keep-last 4294967295
policy >"$tmp/rules"
[ "$(wc -l <"$tmp/rules")" = 5 ] || fail "$(cat "$tmp/rules")"
expect 0 akin inspect "$pool/data/policy"
assert_says "$out" 'rule name="tag" value="year.s end"'
rebuild false
policy | diff "$tmp/rules" -
expect 0 akin repair
assert_says "$out" 'nothing to repair'
# The protection, too, and its date.
expect 1 akin forget latest
assert_says "$err" 'protected until 2099-01-31'

# Replaced and cleared.
akin policy set --keep-yearly 3
rebuild false
assert_eq policy "$(policy)" "--keep-yearly 3"
akin policy clear
rebuild false
assert_eq policy "$(policy)" ""

# The copy is damaged, missing, or another's: it is made anew from the catalog.
akin policy set --keep-monthly 12
cp "$pool/data/policy" "$tmp/good"
mended() {
	expect 5 akin repair --dry-run
	assert_says "$out" 'the policy anew'
	expect 0 akin repair --yes --json
	assert_summary rebuilt=false files_written=1 "quarantined=$1"
	expect 0 akin repair
	assert_says "$out" 'nothing to repair'
	rebuild false
	assert_eq policy "$(policy)" "--keep-monthly 12"
}
printf x | dd of="$pool/data/policy" bs=1 seek=70 conv=notrunc status=none
expect 5 akin inspect "$pool/data/policy"
mended 1
rm "$pool/data/policy"
mended 0
akin init "$tmp/other"
cp "$tmp/other/data/policy" "$pool/data/policy"
mended 1

# Neither the catalog nor the copy: it is said, and nothing is forgotten.
printf x | dd of="$pool/data/policy" bs=1 seek=70 conv=notrunc status=none
rebuild true
assert_eq policy "$(policy)" ""
expect 2 akin forget
assert_says "$err" 'there is no policy'

# A pool made without the feature has no copy: it works as it did.
rm -r "$pool"
tar -C "$tmp" -xJf "$here/../golden/pool-1.tar.xz"
akin policy set --keep-monthly 12
assert_no_file "$pool/data/policy"
rebuild true
