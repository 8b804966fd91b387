#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What deduplication, compression and references save, each by itself, and what
# a restore has to do for it.
. "$(dirname "$0")/functions.sh"

# field TYPE OF FIELD: of the last stats.
field() {
	jq "select(.type == \"$1\" and (.of // \"\") == \"$2\") | .$3" "$out"
}

# assert_chain OF: the factors are those of the bytes, and multiply.
assert_chain() {
	jq -es "map(select(.type == \"factors\" and .of == \"$1\"))[0] |
		(.dedup * .compression * .reference / .product - 1 |
		 fabs < 0.0001) and
		(.dedup - .bytes_logical / .bytes_unique | fabs < 0.0001) and
		(.reference - .bytes_plain / .bytes_stored | fabs < 0.0001)" \
		"$out" >/dev/null || { cat "$out"; fail "factors of $1"; }
}

mkdir "$src"
new_pool --chunk-size 4K --delta-depth 1
noise 2000000 >"$src/a"
backup "$src"
expect 0 akin stats --json
assert_chain pool
assert_chain last_run
assert_eq "no references" "$(field factors pool reference)" 1
for key in bytes_logical bytes_unique bytes_plain bytes_stored bytes_metadata; do
	assert_eq "$key" "$(field factors pool $key)" \
		"$(field factors last_run $key)"
done

# A copy: dedup. Most of a version: references. Zeros of a kind: compression.
cp "$src/a" "$src/b"
python3 - "$src/a" "$src/c" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(0, len(data), 900):
    data[at] ^= 1
data[-1] ^= 1   # a short last chunk would be the same in both
open(sys.argv[1], "wb").write(data)
open(sys.argv[2], "w").write("".join("%9d\n" % i for i in range(100000)))
END
backup "$src"
both=$(summary bytes_stored)
saved=$(summary bytes_saved_referring)
assert_between "saved" "$saved" 1000000 2100000
expect 0 akin stats --json
assert_chain pool
assert_chain last_run
assert_eq "logical" "$(field factors last_run bytes_logical)" 5000000
stored=$(field factors last_run bytes_stored)
assert_eq "metadata" "$(field factors last_run bytes_metadata)" \
	$((both - stored))
assert_eq "plain" "$(field factors last_run bytes_plain)" $((stored + saved))
assert_eq "pool" "$(field factors pool bytes_logical)" 7000000
assert_eq "in the pool" \
	$(($(field factors pool bytes_plain) -
	   $(field factors pool bytes_stored))) "$saved"

# A restore decodes what is in it, and the old version for the new one.
expect 0 akin stats --json --restore-cost latest
assert_chain snapshot
cost() {
	field restore_cost '' "$1"
}
assert_eq "logical" "$(cost bytes_logical)" 5000000
assert_eq "unique" "$(cost bytes_unique)" 5000000
assert_eq "depth" "$(cost depth)" 1
assert_eq "bases are wanted themselves" "$(cost groups_base)" 0
assert_eq "decoded" "$(cost bytes_decoded)" 5000000
assert_eq "damage" "$(cost missing) $(cost unreadable)" "0 0"
assert_between "read" "$(cost bytes_read)" 2000000 3000000
assert_between "metadata" "$(cost metadata_read)" 1 100000
id=$(akin snapshots --json | jq -r 'select(.type == "snapshot") | .id' |
     head -n 1)
expect 0 akin stats --json --restore-cost "$id"
assert_eq "first" "$(cost bytes_decoded) $(cost depth)" "2000000 0"
assert_eq "amplification" "$(cost decode_amplification)" 1

# Without the copy, the old version is there for references only.
rm "$src/b"
backup "$src"
expect 0 akin stats --json --restore-cost latest
assert_eq "logical" "$(cost bytes_logical)" 3000000
assert_eq "decoded" "$(cost bytes_decoded)" 5000000
assert_between "bases" "$(cost groups_base)" 1 32
assert_eq "amplification" "$(cost decode_amplification)" 1.666667

expect 0 akin stats
assert_says "$out" '^factors +dedup +compress +reference +product +metadata$'
assert_says "$out" '^  last backup  '
expect 0 akin stats --restore-cost latest
assert_says "$out" '^  for references only +[0-9]+  groups; chains of up to 1$'
assert_says "$out" '^  and decodes +.* 1\.67x what it gives$'
expect 2 akin stats --restore-cost
