#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The units in contrib/systemd: accepted by systemd, and what they run is a
# command line of ours.
. "$(dirname "$0")/functions.sh"
requires_command systemd-analyze

units=$here/../../contrib/systemd
mkdir "$tmp/units"
for u in "$units"/*; do
	sed "s,/usr/bin/akin,$AKIN," "$u" >"$tmp/units/$(basename "$u")"
done
export SYSTEMD_UNIT_PATH="$tmp/units:"
expect 0 systemd-analyze --man=no verify "$tmp"/units/*.service "$tmp"/units/*.timer
# What is about these units; those of the machine are not ours.
if grep -q "$tmp/units" "$err"; then
	cat "$err"
	fail "systemd has something to say"
fi

# lines UNIT: the arguments of each ExecStart.
lines() {
	sed -n 's,^ExecStart=/usr/bin/akin ,,p' "$units/$1" | sed 's/%%/%/g'
}
mkdir "$src"
echo data >"$src/f"
new_pool
read -r -a words < <(lines akin-backup.service)
args=()
for w in "${words[@]}"; do
	[[ $w == /* ]] || args+=("$w")
done
expect 0 akin "${args[@]}" "$src"
expect 0 akin policy set --keep-daily 7
while read -r -a words; do
	expect 0 akin "${words[@]}"
done < <(lines akin-maintain.service)
