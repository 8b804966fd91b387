#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What would make a pool, a tag or a snapshot that nobody could use is refused
# before anything is written, and links to directories are not a surprise.
. "$(dirname "$0")/functions.sh"
requires_command jq

# One directory for both parts, however it is named.
mkdir "$tmp/one"
expect 2 "$AKIN" init --meta-dir "$tmp/one" --data-dir "$tmp/one/" "$pool"
assert_says "$err" "each needs its own"
assert_eq "left empty" "$(ls -A "$tmp/one")" ""
expect 2 "$AKIN" init --meta-dir "$pool/data" "$pool"
# The next attempt is not held back by that one.
expect 0 "$AKIN" init --meta-dir "$tmp/one" "$pool"

expect 2 "$AKIN" init --chunk-size 512 "$tmp/p"
assert_says "$err" "from 1024 to 524288 bytes"
expect 2 "$AKIN" init --chunk-size 1M "$tmp/p"
expect 2 "$AKIN" init --fixed-blocks --chunk-size 2M "$tmp/p"
assert_says "$err" "from 256 to 1048576 bytes"
assert_no_file "$tmp/p"
expect 0 "$AKIN" init --fixed-blocks --chunk-size 1M "$tmp/p"
expect 2 "$AKIN" init "$tmp/p"
assert_says "$err" "a pool already"

# tag:T could not name these.
mkdir "$src"
echo x >"$src/f"
expect 2 akin backup --tag a:b "$src"
expect 2 akin backup --host '' "$src"
expect 2 akin put --tag a:b space x "$src/f"
expect 2 akin loadgen --size 1M --tag '' pool
backup --tag good "$src"
expect 2 akin tag latest --add a:b
assert_says "$err" "holds a ':'"
expect 2 akin tag latest --set ''
expect 0 akin snapshots --json
assert_eq tags "$(jq -c .tags "$out")" '["good"]'

expect 2 akin cat "latest:$src"
assert_eq "said once" "$(cat "$err")" "akin: '$src': not a file"

# A link is stored as one, which is said; a slash asks for what it leads to.
ln -s src "$tmp/link"
expect 0 akin backup "$tmp/link"
assert_says "$err" "link: is a symbolic link and stored as one"
expect 0 akin ls --json "latest:$tmp/link"
assert_eq link "$(jq -r .kind "$out")" symlink
expect 0 akin backup --quiet "$tmp/link"
assert_eq quiet "$(cat "$err")" ""
expect 0 akin backup "$tmp/link/"
assert_eq silent "$(cat "$err")" ""
expect 0 akin cat "latest:$src/f"
assert_eq followed "$(cat "$out")" x
ln -s nowhere "$tmp/dangling"
expect 1 akin backup "$tmp/dangling/"
