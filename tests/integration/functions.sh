# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the integration tests share. A test is a bash script NNNN-name.sh that
# sources this file first, works below $tmp only, and ends with 0 (passed), 77
# (skipped; it said why) or anything else. It runs by itself too:
#
#	AKIN=build/front/cli/akin tests/integration/0101-tree-types.sh
#
# Tests run at the same time as others: no fixed names outside $tmp, no
# assumptions about time.

set -eEuo pipefail
: "${AKIN:?names the program to test}"
AKIN=$(realpath "$AKIN")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
unset AKIN_POOL AKIN_MEMORY AKIN_THREADS AKIN_COUNTERS AKIN_CPU AKIN_IO XDG_CONFIG_HOME
export AKIN_CONFIG='' LC_ALL=C TZ=UTC
umask 022
exec </dev/null

tmp=$(mktemp -d "${TMPDIR:-/tmp}/akin-$(basename "$0" .sh).XXXXXX")
chmod 755 "$tmp"
pool=$tmp/pool
src=$tmp/src
dst=$tmp/dst
out=$tmp/out		# what the last command under expect() printed
err=$tmp/err
mounts=()
pids=()

cleanup() {
	local status=$? i
	trap - EXIT ERR
	set +e
	for i in "${pids[@]}"; do
		kill -KILL "$i" 2>/dev/null
	done
	wait 2>/dev/null
	for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
		umount "${mounts[i]}" || umount -l "${mounts[i]}"
	done
	if [ -n "${AKIN_KEEP:-}" ]; then
		echo "kept: $tmp"
	elif ! rm -rf --one-file-system "$tmp" 2>/dev/null; then
		chmod -R u+rwx "$tmp" 2>/dev/null
		rm -rf --one-file-system "$tmp"
	fi
	exit $status
}
trap cleanup EXIT
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"' ERR
trap 'exit 130' INT
trap 'exit 143' TERM

skip() {
	echo "skipped: $*"
	exit 77
}

fail() {
	trap - ERR
	echo "FAILED: line ${BASH_LINENO[${#BASH_LINENO[@]} - 2]}: $*"
	exit 1
}

requires_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

requires_user() {
	[ "$(id -u)" != 0 ] || skip "root is denied nothing"
}

# For as_nobody: the program where everybody can reach it, $tmp/akin.
requires_nobody() {
	requires_root
	requires_command setpriv
	cp "$AKIN" "$tmp/akin"
	as_nobody "$tmp/akin" version >/dev/null 2>&1 ||
		skip "nobody may not run a program in $tmp"
}

requires_command() {
	local name
	for name; do
		command -v "$name" >/dev/null || skip "there is no $name"
	done
}

# Sanitizers take memory of their own.
requires_own_memory() {
	[ "${AKIN_SANITIZER:-none}" = none ] || skip "built with a sanitizer"
}

# May we mount here? Containers often may not.
requires_mount() {
	requires_root
	mkdir -p "$tmp/probe"
	mount -t tmpfs -o size=64k tmpfs "$tmp/probe" 2>/dev/null ||
		skip "may not mount"
	umount "$tmp/probe"
}

requires_xattr() {
	: >"$tmp/probe-xattr"
	setfattr -n user.x -v 1 "$tmp/probe-xattr" 2>/dev/null ||
		skip "no extended attributes here"
	rm "$tmp/probe-xattr"
}

# mount_tmpfs DIRECTORY SIZE: gone at the end.
mount_tmpfs() {
	mkdir -p "$1"
	mount -t tmpfs -o "size=$2" tmpfs "$1"
	mounts+=("$1")
}

# Not for the background: $! would be a shell's, not the program's.
akin() {
	"$AKIN" -p "$pool" "$@"
}

new_pool() {
	"$AKIN" init --quiet "$@" "$pool"
}

# expect CODE COMMAND...: what it prints goes to $out and $err.
expect() {
	local want=$1 got=0
	shift
	"$@" >"$out" 2>"$err" || got=$?
	if [ $got != "$want" ]; then
		echo "'$*' ended with $got, not $want; it printed"
		cat -v "$out" "$err"
		fail "exit code"
	fi
}

# summary FIELD...: values from the last line of --json output in $out.
summary() {
	local field
	for field; do
		jq -r "select(.type == \"summary\") | .$field" "$out"
	done | paste -sd ' '
}

# backup ARGUMENT...: must succeed; then see summary.
backup() {
	expect 0 akin backup --json "$@"
}

restore() {
	expect 0 akin restore --json "$@"
}

assert_eq() {
	[ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}

# assert_between WHAT VALUE LOW HIGH
assert_between() {
	if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		fail "$1: $2, not within $3 and $4"
	fi
}

# assert_summary FIELD=VALUE...
assert_summary() {
	local pair
	for pair; do
		assert_eq "${pair%%=*}" "$(summary "${pair%%=*}")" "${pair#*=}"
	done
}

# assert_says FILE PATTERN: a line matches the extended pattern.
assert_says() {
	if ! grep -qE -e "$2" "$1"; then
		cat -v "$1"
		fail "nothing matches '$2'"
	fi
}

assert_no_file() {
	[ ! -e "$1" ] && [ ! -L "$1" ] || fail "$1 exists"
}

# Everything about the nodes below DIRECTORY, as text; see manifest.py.
manifest() {
	python3 "$here/manifest.py" "$@"
}

# assert_same_tree A B [OPTION-OF-MANIFEST]...
assert_same_tree() {
	local a=$1 b=$2
	shift 2
	manifest "$@" "$a" >"$tmp/manifest-a"
	manifest "$@" "$b" >"$tmp/manifest-b"
	diff "$tmp/manifest-a" "$tmp/manifest-b" >"$tmp/manifest-diff" ||
		{ head -n 20 "$tmp/manifest-diff"; fail "trees differ"; }
}

nr_snapshots() {
	akin snapshots --json | jq -s 'map(select(.type == "snapshot")) | length'
}

# noise BYTES [SEED]: the same for the same seed, and does not compress.
noise() {
	python3 -c 'import random, sys
sys.stdout.buffer.write(random.Random(sys.argv[2]).randbytes(int(sys.argv[1])))
' "$1" "${2:-0}"
}

# kib_of FILE: what it takes on disk.
kib_of() {
	du -k "$1" | cut -f 1
}

# peak CODE COMMAND...: as expect; KiB of resident memory at the most: $kib.
peak() {
	expect "$1" python3 -c 'import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as f:
    f.write("%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)' "$tmp/peak" "${@:2}"
	kib=$(cat "$tmp/peak")
	echo "$kib KiB: ${*:2}"
}

# as_nobody COMMAND...: without any privilege; the way to $tmp is open.
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all -- "$@"
}
