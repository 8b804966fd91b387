#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every codec stores and gives back; a backup may choose another than the
# pool's, and one pool holds them all. What each made is told.
. "$(dirname "$0")/functions.sh"

codecs="none lz4 zstd:1 zstd:9 gzip:1 gzip:9 lzjb"

# Text, numbers, noise, zeros; sizes around the limits of groups.
fill() {
	mkdir -p "$src"
	python3 -c 'import random, struct, sys
r = random.Random(sys.argv[2])
words = [("w%x" % r.getrandbits(20)).encode() for i in range(600)]
def put(name, data):
    with open(sys.argv[1] + "/" + name, "wb") as f:
        f.write(data)
put("text", b" ".join(r.choice(words) for i in range(60000)))
put("numbers", b"".join(struct.pack("<I", i * 7) for i in range(50000)))
put("noise", r.randbytes(300000))
put("zeros", bytes(200000))
put("small", b"small")
put("empty", b"")' "$src" "$1"
}

# codec_of CODEC FIELD: from the last stats, over data containers.
codec_of() {
	jq -s "map(select(.type == \"codec_stats\" and .codec == \"$1\" and
		(.metadata | not)) | .$2) | add // 0" "$out"
}

# Text shrinks, noise does not, and the figures add up.
check_stats() {
	expect 0 akin stats --json --by-codec
	assert_eq "raw bytes" "$(jq -s 'map(select(.type == "codec_stats" and
		(.metadata | not)) | .bytes_raw) | add' "$out")" \
		"$(jq -s '.[0].bytes_unique' "$out")"
	assert_between "noise stays raw" "$(codec_of none bytes_raw)" 100000 \
		"$1"
}

fill 1
stored=()
for codec in $codecs; do
	pool=$tmp/pool-${codec/:/-}
	new_pool --compression "$codec"
	backup "$src"
	check_stats 2000000
	name=${codec%:*}
	stored[${#stored[@]}]=$(jq -s '.[0].bytes_data' "$out")
	if [ "$name" != none ]; then
		assert_between "$codec: raw" "$(codec_of "$name" bytes_raw)" \
			150000 2000000
		assert_between "$codec: stored" \
			"$(codec_of "$name" bytes_stored)" 1000 \
			$(($(codec_of "$name" bytes_raw) * 7 / 8 + 2000))
	fi
	restore "latest:$src" --target "$tmp/back-${codec/:/-}"
	assert_same_tree "$src" "$tmp/back-${codec/:/-}"
	expect 0 akin check --read-data
	rm -rf "$tmp/back-${codec/:/-}"
done

# The stronger takes less (numbers are places in $codecs).
for pair in "0 6" "6 4" "1 2" "4 5"; do
	read -r more less <<<"$pair"
	[ "${stored[more]}" -gt "${stored[less]}" ] ||
		fail "${stored[more]} bytes, then ${stored[less]}: $pair"
done

# One pool, a codec a run; then it all comes back, and a run without a choice
# compresses as the pool does.
pool=$tmp/mixed
new_pool --compression lz4
i=1
for codec in $codecs; do
	fill $((++i))
	cp -a "$src" "$tmp/version-$i"
	backup --compression "$codec" --tag "v$i" "$src"
done
fill $((++i))
cp -a "$src" "$tmp/version-$i"
backup --tag "v$i" "$src"
check_stats 9000000
for name in none lz4 zstd gzip lzjb; do
	assert_between "$name: groups" "$(codec_of $name groups)" 1 1000
done
expect 0 akin check --read-data
while [ $i -gt 1 ]; do
	restore "tag:v$i:$src" --target "$tmp/back-$i"
	assert_same_tree "$tmp/version-$i" "$tmp/back-$i"
	i=$((i - 1))
done

# For people.
expect 0 akin stats --by-codec
assert_says "$out" '^data +lzjb +[0-9]+ .*x$'
assert_says "$out" '^metadata +[a-z0-9]+ +[0-9]+ .*x$'

# What there is not is refused before anything is done.
expect 2 akin backup --compression lz5 "$src"
assert_says "$err" 'none, lz4, zstd\[:1-19\], gzip\[:1-9\] and lzjb'
expect 2 akin backup --compression gzip:10 "$src"
assert_says "$err" 'gzip has levels 1 to 9'
expect 2 "$AKIN" init --compression lzjb:3 "$tmp/other"
assert_says "$err" 'lzjb has no levels'
assert_no_file "$tmp/other"
assert_eq "snapshots" "$(nr_snapshots)" 8
expect 2 akin stats --by-codec latest

# A container that cannot be read is counted, and hides nothing else.
file=$(find "$pool/data/containers" -type f -size +8k | sed -n 1p)
head -c 5000 "$file" >"$tmp/cut"
cp "$tmp/cut" "$file"
expect 0 akin stats --by-codec
assert_says "$out" '^unreadable containers +1 '
expect 0 akin stats --by-codec --json
assert_eq "unreadable" "$(jq 'select(.type == "codec_summary") |
	.containers_unreadable' "$out")" 1
