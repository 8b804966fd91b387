#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F43: snapshots made to write outside: names that climb or are absolute, a
# symlink with something below it, links that lead out. Nothing outside the
# target is touched, what is wrong is refused, and no command falls over it.
. "$(dirname "$0")/functions.sh"
hostile=${AKIN_HOSTILE:-$(dirname "$AKIN")/../../tests/integration/hostile_pool}
[ -x "$hostile" ] || skip "there is no hostile_pool"

victim=$tmp/victim
mkdir "$victim"
echo untouched >"$victim/victim"
new_pool
"$hostile" "$pool" "$victim"
assert_eq snapshots "$(nr_snapshots)" 8
manifest "$victim" >"$tmp/before"

assert_outside() {
	manifest "$victim" | diff "$tmp/before" - || fail "$1: touched what is outside"
	assert_eq "$1: beside the target" "$(ls "$tmp/jail")" in
	assert_no_file "$tmp/evil"
}
# Each on its own, into an empty directory and over what is there by then.
for tag in dotdot climbs absolute nul through-slash through-dir dotdot-dir; do
	rm -rf "$tmp/jail"
	mkdir -p "$tmp/jail/in"
	for option in --verify '--overwrite=always --delete'; do
		got=0
		# shellcheck disable=SC2086 # several words
		akin restore $option "tag:$tag" --target "$tmp/jail/in" \
			>"$out" 2>"$err" || got=$?
		[ $got = 3 ] || [ $got = 4 ] || [ $got = 5 ] ||
			{ cat "$out" "$err"; fail "$tag: restore $option: $got"; }
		[ -s "$err" ] || fail "$tag: nothing said"
		assert_outside "$tag $option"
	done
	got=0
	akin ls -l "tag:$tag" >"$out" 2>"$err" || got=$?
	[ $got -lt 100 ] || fail "ls tag:$tag ended with $got"
done
# A name is a link, the other a file: both are made, and the link not followed.
rm -rf "$tmp/jail"
mkdir -p "$tmp/jail/in"
for times in once twice; do
	akin restore tag:hard-link --target "$tmp/jail/in" --overwrite always \
		>"$out" 2>"$err" || [ $? = 3 ]
	assert_outside "hard-link"
done
got=0
akin find evil >"$out" 2>"$err" || got=$?
[ $got -lt 100 ] || fail "find ended with $got"
# The damage is damage, and named.
expect 5 akin check --read-data
assert_says "$out" 'DAMAGE'
got=0
akin forget tag:climbs --gc >"$out" 2>"$err" || got=$?
[ $got -lt 100 ] || fail "forget ended with $got"
