#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A sealed pool: backups go on, whoever has the backups' rights can destroy the
# metadata and no more, and everything comes back.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_nobody
requires_command chattr
seal=$here/../../contrib/akin-seal

touch "$tmp/probe"
if ! chattr +i "$tmp/probe" 2>/dev/null; then
	skip "no immutable files here"
fi
chattr -i "$tmp/probe"
# Or nothing could clean up.
undo() {
	chattr -R -i "$pool" 2>/dev/null || :
	cleanup
}
trap undo EXIT

mkdir "$src"
noise 500000 one >"$src/one"
echo first >"$src/f"
mkdir "$pool"
chown 65534 "$pool"
chmod 755 "$src"
chmod 644 "$src"/*
nobody() {
	as_nobody env AKIN_CONFIG= HOME=/nonexistent "$tmp/akin" "$@"
}
expect 0 nobody init --parity 5% "$pool"
expect 0 nobody -p "$pool" backup --json "$src"
first=$(summary snapshot)
expect 0 nobody -p "$pool" policy set --keep-daily 7
expect 2 "$seal"
expect 4 "$seal" "$tmp"
# Young files are left alone: they may be in the making.
expect 0 "$seal" "$pool"
expect 0 nobody -p "$pool" tag "$first" --add t
AKIN_SEAL_MINUTES=-1 expect 0 "$seal" "$pool"

# Backups and restores go on.
noise 400000 two >"$src/two"
chmod 644 "$src/two"
expect 0 nobody -p "$pool" backup --json "$src"
second=$(summary snapshot)
AKIN_SEAL_MINUTES=-1 expect 0 "$seal" "$pool"
expect 0 nobody -p "$pool" check --read-data
expect 0 nobody -p "$pool" verify "latest:$src"

# Parity that is missing can be added, by whoever makes backups; what is there
# can be neither replaced nor removed, and how much there is not be changed.
parity() {
	find "$pool/data/containers" -name '*.parity' -type f
}
nr=$(parity | wc -l)
assert_eq "containers without" "$(find "$pool/data/containers" -type f | wc -l)" \
	$((2 * nr))
victim=$(parity | sort | head -n 1)
chattr -i "$victim"
rm "$victim"
sums=$(parity | sort | xargs sha256sum)
nobody -p "$pool" optimize --parity 10% >/dev/null 2>&1 && fail "more parity"
nobody -p "$pool" optimize --parity 0 >/dev/null 2>&1 && fail "no parity"
as_nobody rm -f "$(parity | head -n 1)" 2>/dev/null && fail "parity removed"
assert_eq parity "$(parity | sort | xargs sha256sum)" "$sums"
expect 0 nobody -p "$pool" optimize --parity 5% --json
[ "$(jq -r 'select(.type == "parity") | .made' "$out")" = 1 ] ||
	fail "$(cat "$out")"
[ -f "$victim" ] || fail "not added"
AKIN_SEAL_MINUTES=-1 expect 0 "$seal" "$pool"

# Sectors are lost: whoever reads has them from parity; to write them back
# somebody must lift the seal.
container=${victim%.parity}
chattr -i "$container"
printf x | dd of="$container" bs=1 seek=5000 conv=notrunc status=none
chattr +i "$container"
expect 0 nobody -p "$pool" verify "latest:$src"
nobody -p "$pool" repair --read-data --yes >/dev/null 2>&1 && fail "healed"
expect 5 nobody -p "$pool" check --read-data
expect 0 "$seal" --lift "$pool"
expect 0 nobody -p "$pool" repair --read-data --yes
AKIN_SEAL_MINUTES=-1 expect 0 "$seal" "$pool"
expect 0 nobody -p "$pool" check --read-data

# Whoever has the backups' rights tries to destroy them.
count() {
	find "$pool/data/containers" "$pool/data/snapshots" -type f | wc -l
}
before=$(count)
nobody -p "$pool" forget "$first" "$second" >/dev/null 2>&1 && fail "forgotten"
nobody -p "$pool" gc >/dev/null 2>&1 && fail "reclaimed"
nobody -p "$pool" policy set --keep-last 1 >/dev/null 2>&1 && fail "policy set"
as_nobody find "$pool/data" -type f -delete 2>/dev/null || :
# shellcheck disable=SC2016 # the inner shell's
as_nobody find "$pool/data" -type f -exec sh -c 'echo x >"$1"' sh {} \; \
	2>/dev/null || :
assert_eq files "$(count)" "$before"
as_nobody rm -rf "$pool/meta"

# All of it comes back from the data directory.
expect 0 "$seal" --lift "$pool"
expect 0 nobody -p "$pool" repair --yes
assert_eq policy "$(nobody -p "$pool" policy)" "--keep-daily 7"
assert_eq snapshots "$(nobody -p "$pool" snapshots --json |
	jq -r 'select(.type == "snapshot") | .id' | sort | paste -sd ' ')" \
	"$(printf '%s\n' "$first" "$second" | sort | paste -sd ' ')"
expect 0 nobody -p "$pool" check --read-data
expect 0 nobody -p "$pool" verify "latest:$src"
expect 0 nobody -p "$pool" forget "$first"
expect 0 nobody -p "$pool" gc
