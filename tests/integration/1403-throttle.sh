#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disks that are made slow. Nothing can be faster than they are; how much slower
# a busy machine is says nothing.
. "$(dirname "$0")/functions.sh"

# at_least MS COMMAND...: succeeds, and not sooner.
at_least() {
	local ms=$1 start
	shift
	start=${EPOCHREALTIME/./}
	expect 0 "$@"
	ms=$((ms * 1000 + start - ${EPOCHREALTIME/./}))
	[ $ms -le 0 ] || fail "$ms us too soon: $*"
}

mkdir "$src"
noise 2000000 1 >"$src/a"
new_pool

# 2 MB at 8 MB/s; what was saved up is 160 kB.
at_least 230 akin backup --quiet --throttle data=,8 "$src"
at_least 230 akin check --quiet --read-data --throttle data=,8
at_least 230 akin restore --quiet latest --target "$dst" --throttle data=,8
assert_same_tree "$src" "$dst$src"
expect 0 akin backup --quiet "$src" --throttle meta=1000000,1000000

# 300 operations a second, of which six are saved up: pages of the catalog alone
# are more than forty.
expect 0 akin forget --quiet --keep-last 1
at_least 100 akin gc --quiet --throttle 'meta=300'
expect 0 akin repair --quiet --dry-run --throttle meta=,1000
at_least 60 "$AKIN" bench streams 1 --size 1M --dir "$tmp" --quiet \
	--throttle data=,32

# From the configuration, and overridden in part.
printf '[backup]\nthrottle = data=,8 meta=,100\n' >"$tmp/config"
noise 2000000 2 >"$src/b"
AKIN_CONFIG=$tmp/config at_least 230 akin backup --quiet "$src" \
	--throttle meta=,200

expect 2 akin backup "$src" --throttle 120,160
assert_says "$err" "'120,160' is not meta=IOPS,MB/s or data=IOPS,MB/s"
expect 2 akin ls latest --throttle data=1
