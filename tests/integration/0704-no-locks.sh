#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# File systems without locks, or that several machines can reach: one machine at
# a time, one command at a time, and what is refused says why.
. "$(dirname "$0")/functions.sh"
requires_own_memory
: "${AKIN_LYING:?the library to preload}"

mkdir "$src"
noise 300000 1 >"$src/f"
# on TYPE LOCKS COMMAND...
on() {
	local type=$1 locks=$2
	shift 2
	LYING_TYPE=$type LYING_LOCKS=$locks LD_PRELOAD=$AKIN_LYING \
		"$AKIN" -p "$pool" "$@"
}
line() {
	head -n 1 "$pool/meta/locks"
}

# Nothing is made where there are none.
expect 1 on own none init
assert_says "$err" 'no locks'
assert_says "$err" 'single-writer'
rm -rf "$pool"
expect 0 on own none init --single-writer
for type in own nfs; do
	for locks in none granted; do
		[ $type = own ] && [ $locks = granted ] && continue
		for command in 'backup .' gc 'forget latest' optimize \
			'repair --yes'; do
			# shellcheck disable=SC2086 # words
			expect 1 on $type $locks $command
			assert_says "$err" 'locks'
			assert_says "$err" 'single-writer'
		done
		expect 0 on $type $locks --single-writer backup "$src"
		expect 0 on $type $locks --single-writer check --read-data
		expect 0 on $type $locks --single-writer optimize
		expect 0 on $type $locks --single-writer forget latest
		expect 0 on $type $locks --single-writer gc
		expect 0 on $type $locks --single-writer repair --yes
		expect 0 on $type $locks --single-writer backup "$src"
		# What reads needs none.
		expect 0 on $type $locks snapshots
		rm -rf "$dst"
		expect 0 on $type $locks restore "latest:$src" --target "$dst"
		assert_same_tree "$src" "$dst"
		assert_eq "left by $type $locks" "$(line)" \
			"$([ $type = nfs ] && echo free)"
	done
done
printf 'single-writer = yes\n' >"$tmp/config"
AKIN_CONFIG=$tmp/config expect 0 on own none backup "$src"

# On NFS a machine says that it is there, and takes that back.
expect 0 on nfs kept backup "$src"
assert_eq "afterwards" "$(line)" free
mkfifo "$tmp/pipe"
on nfs kept backup --quiet --stdin x <"$tmp/pipe" &
pids+=($!)
exec 3>"$tmp/pipe"
for _ in $(seq 200); do
	[ "$(line)" = free ] || break
	sleep 0.05
done
boot=$(tr -d - </proc/sys/kernel/random/boot_id)
line >"$out"
assert_says "$out" "^used $boot [0-9a-f]{16} [A-Za-z0-9._-]+$"
expect 0 on nfs kept backup "$src"
line >"$out"
assert_says "$out" "^used $boot"
echo stream >&3
exec 3>&-
wait "${pids[0]}"
assert_eq "afterwards" "$(line)" free

# Another machine has not, or has died before it could.
other() {
	{
		echo "used 00112233445566778899aabbccddeeff 0123456789abcdef db1.example"
		printf '\n%.0s' $(seq 60)
	} | head -c 128 >"$pool/meta/locks"
}
other
for command in 'backup .' gc 'repair --yes' 'tag latest --add x' \
	'put space name /dev/null'; do
	# shellcheck disable=SC2086 # words
	expect 4 on nfs kept $command
	assert_says "$err" 'db1.example'
done
expect 0 on nfs kept snapshots
rm -rf "$dst"
expect 0 on nfs kept restore "latest:$src" --target "$dst"
assert_eq "still theirs" "$(line | cut -d ' ' -f 4)" db1.example
expect 0 on nfs kept --single-writer backup "$src"
assert_eq "once" "$(line)" free
expect 0 on nfs kept gc

# Where one kernel has the disk for itself nobody looks.
other
backup "$src"
assert_eq "not touched" "$(line | cut -d ' ' -f 4)" db1.example
expect 0 akin check --read-data
