#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A pool that an earlier akin wrote (tests/golden/make-pool says how) gives back
# all that went into it, can be written to, and loses nothing when its metadata
# is made anew from its data.
. "$(dirname "$0")/functions.sh"
requires_command xz

golden=$here/../golden
where=$dst/tmp/akin-golden
tar -C "$tmp" -xJf "$golden/pool-1.tar.xz"

# Every file of every snapshot, but of those named.
assert_contents() {
	local tag sum name
	while read -r tag; do
		case " $* " in *" $tag "*) continue ;; esac
		chmod -R u+w "$dst" 2>/dev/null || true
		rm -rf "$dst"
		expect 0 akin restore -q "tag:$tag" --target "$dst"
		[ "$tag" = stream ] || cd "$where/src"
		[ "$tag" != stream ] || cd "$dst"
		grep "^$tag " "$golden/pool-1.sums" | sed 's/^[^ ]* //' |
			sha256sum --quiet -c - || fail "$tag differs"
		cd "$tmp"
	done < <(cut -d' ' -f1 "$golden/pool-1.sums" | sort -u)
}

expect 0 akin check --read-data
assert_says "$out" 'no damage'
assert_eq snapshots "$(nr_snapshots)" 15
assert_contents lz4
# What was forgotten is still there.
expect 0 akin undelete latest
assert_contents
expect 0 akin get space main/text
assert_eq object "$(sha256sum <"$out" | cut -d' ' -f1)" \
	"$(sed -n 's|^deep \(.*\)  \./text$|\1|p' "$golden/pool-1.sums")"

rm -rf "$dst"
expect 0 akin restore -q tag:zstd --target "$dst"
at=$where/src
assert_eq 'symbolic link' "$(readlink "$at/symbolic-link")" deep/er/small
assert_eq 'hard link' "$(stat -c %i "$at/text")" "$(stat -c %i "$at/hard-link")"
[ -p "$at/fifo" ] || fail "no FIFO"
assert_eq 'mode' "$(stat -c %a "$at/deep/er")" 555
assert_eq 'time' "$(stat -c %y "$at/text")" '2031-02-03 04:05:06.789012345 +0000'
assert_eq 'size' "$(stat -c %s "$at/sparse")" 3145731
[ "$(kib_of "$at/sparse")" -lt 1024 ] || fail "no holes"

# Its snapshots are there for new ones to follow.
cp "$at/text" "$tmp/text"
backup --host golden "$tmp/text"
[ "$(summary bytes_new)" -lt 40000 ] || fail "found little of what is there"
expect 0 akin gc
expect 0 akin check --read-data
expect 1 akin forget tag:labelled
assert_says "$err" protected

# What was damaged is made again from parity.
container=$(find "$pool/data/containers" -name '0000000000000001.*' -size +4k |
	head -n 1)
head -c 3000 /dev/zero |
	dd of="$container" bs=1 seek=2000 conv=notrunc status=none
assert_contents
expect 0 akin repair --yes
expect 0 akin check --read-data
assert_says "$out" 'no damage'

# All that a pool needs is in its data.
rm -r "$pool/meta"
expect 0 akin repair --yes
expect 0 akin check --read-data
assert_contents
expect 1 akin forget tag:labelled
