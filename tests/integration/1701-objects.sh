#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Objects from the command line: put, listed, got back whole and in part, and
# there as a snapshot; nothing of what failed.
. "$(dirname "$0")/functions.sh"

noise 2000000 a >"$tmp/a"
noise 300 b >"$tmp/b"
new_pool
expect 0 akin put --json --tag full --attribute lsn=0/16B "db/" /main//rows - <"$tmp/a"
assert_summary objects=1 bytes=2000000 bytes_new=2000000
expect 0 akin put --json db main/rows "$tmp/a" main/conf "$tmp/b"
assert_summary objects=2 bytes=2000300 bytes_new=300

akin objects --json >"$out"
assert_eq "objects" "$(jq -r '[.space, .path, .name, .bytes, .["attribute.lsn"]] |
	join(" ")' "$out" | paste -sd ,)" \
	"db main rows 2000000 0/16B,db main conf 300 ,db main rows 2000000 "
assert_eq "newest" "$(akin objects --newest --json | jq -r .name | paste -sd +)" conf+rows
assert_eq "tagged" "$(akin objects --tag full --json db main/rows | jq -r .name)" rows
akin objects db main >"$out"
assert_says "$out" ' 1.90 MiB? +db +main/rows|1.91 MiB +db +main/rows'

akin get db main/rows | cmp - "$tmp/a"
akin get -s tag:full db main/rows >"$tmp/back"
cmp "$tmp/back" "$tmp/a"
tail -c +1234568 "$tmp/a" >"$tmp/tail"
head -c 4321 "$tmp/tail" >"$tmp/part"
akin get --offset 1234567 --length 4321 db main/rows | cmp - "$tmp/part"
akin get db main/conf | cmp - "$tmp/b"
expect 1 akin get db main/nothing
expect 1 akin get -s tag:full db main/conf

# They are snapshots as well, and streams are objects.
akin cat latest:db/main/conf | cmp - "$tmp/b"
expect 0 akin backup --stdin s.img <"$tmp/b"
akin get '' s.img | cmp - "$tmp/b"
assert_eq "stream" "$(akin objects --newest --json | jq -r '.space + ":" + .name' |
	paste -sd ' ')" "db:conf db:rows :s.img"
restore latest --target "$dst"
cmp "$dst/s.img" "$tmp/b"

# Together or not at all.
expect 1 akin put db main/x "$tmp/a" main/y "$tmp/missing"
assert_says "$err" 'missing'
expect 2 akin put db main/x "$tmp/a" main/y
expect 2 akin put db ../x "$tmp/a"
expect 2 akin put db x "$tmp/a" x "$tmp/b"
expect 2 akin put db x "$tmp/a" x/y "$tmp/b"
assert_eq "snapshots" "$(nr_snapshots)" 3

# A client that vanishes leaves nothing to see.
mkfifo "$tmp/fifo"
exec 9<>"$tmp/fifo"
"$AKIN" -p "$pool" put db main/gone "$tmp/fifo" &
pids+=($!)
cat "$tmp/a" >&9
kill -KILL $!
exec 9>&-
assert_eq "snapshots" "$(nr_snapshots)" 3
expect 0 akin put --json db main/after "$tmp/b"
expect 0 akin check --read-data
