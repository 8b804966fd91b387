#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repair asks on a terminal, and does not begin while a backup runs.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 200000 1 >"$src/f"
new_pool
backup "$src"
record=$pool/data/snapshots/0000000000000001
rm "$record"

mkfifo "$tmp/pipe"
"$AKIN" -p "$pool" backup --quiet --stdin x <"$tmp/pipe" &
pids+=($!)
exec 3>"$tmp/pipe"
# Once there is a second session that lives.
for _ in $(seq 100); do
	got=0
	akin repair --yes >"$out" 2>"$err" || got=$?
	[ $got = 4 ] && break
	rm -f "$record"
	sleep 0.05
done
assert_eq "exit code while a backup runs" "$got" 4
assert_says "$err" 'backup is running'
assert_no_file "$record"
echo stream >&3
exec 3>&-
wait "${pids[0]}"
akin cat latest:x >"$out"

requires_command script
on_terminal() {
	printf '%s\n' "$1" | script -qec "'$AKIN' -p '$pool' repair" /dev/null >"$out" || :
}
on_terminal n
assert_says "$out" 'Do this\?'
assert_no_file "$record"
on_terminal y
[ -e "$record" ] || fail "it was not repaired"
expect 0 akin check
