#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The examples: programs that see the public headers and the shared library
# only; once built by its pkg-config file. What the library exports has
# versions.
. "$(dirname "$0")/functions.sh"

build=$(dirname "$AKIN")/../..
examples=$build/examples
[ -x "$examples/example_put" ] || skip "the examples are not built"
library=$(realpath "$build/libakin.so")

noise 700000 a >"$tmp/a"
noise 5000 b >"$tmp/b"
new_pool
expect 0 "$examples/example_put" "$pool" db dump <"$tmp/a"
assert_says "$out" '^700000 bytes, 700000 new, transaction [0-9]+$'
expect 0 "$examples/example_threads" "$pool" files "$tmp/a" "$tmp/b" "$AKIN"
assert_says "$out" "^3 objects, $((705000 + $(stat -c %s "$AKIN"))) bytes$"
expect 1 "$examples/example_threads" "$pool" files "$tmp/a" "$tmp/missing"
expect 1 "$examples/example_put" "$pool" db ../dump <"$tmp/a"
assert_says "$err" "an object's name"
expect 0 "$examples/example_get" "$pool" db
assert_says "$out" "^dump: 700000 bytes, sum $(python3 -c 'import sys
print(sum(open(sys.argv[1], "rb").read()))' "$tmp/a")$"
assert_eq "attribute" "$(akin objects --json db | jq -r '.["attribute.made-by"]')" \
	example_put
akin get files b | cmp - "$tmp/b"
assert_eq "objects" "$(akin objects --json | jq -r .name | paste -sd ' ')" \
	"dump a akin b"

# Every symbol belongs to a version, those of sessions to the first stable one.
nm -D --defined-only --with-symbol-versions "$library" >"$tmp/symbols"
assert_says "$tmp/symbols" ' akin_txn_end@@AKIN_1$'
assert_says "$tmp/symbols" ' akin_pool_open@@AKIN_0$'
if grep -vE '@@?AKIN_[0-9]+$| AKIN_[0-9]+$' "$tmp/symbols"; then
	fail "symbols without a version"
fi
sed -n 's/.* \(akin_[a-z_]*\)(.*/\1/p' "$here/../../include/akin/session.h" |
	grep -E '^akin_(session|txn|object|reader)_' | sort -u >"$tmp/declared"
sed -n 's/.* \(akin_.*\)@@AKIN_1$/\1/p' "$tmp/symbols" | sort >"$tmp/exported"
diff "$tmp/declared" "$tmp/exported"

# As somebody who has installed it: a prefix of our own, and the file that
# pkg-config reads there.
case ${AKIN_SANITIZER:-none} in none) ;; *) exit 0 ;; esac
usr=$tmp/usr
# shellcheck disable=SC2016 # what stands in the file
libdir=$usr/$(sed -n 's,^libdir=${prefix}/,,p' "$build/meson-private/akin.pc")
mkdir -p "$usr" "$libdir"
cp -r "$here/../../include" "$usr/include"
cp "$library" "$libdir/libakin.so.0"
ln -s libakin.so.0 "$libdir/libakin.so"
sed "s,^prefix=.*,prefix=$usr," "$build/meson-private/akin.pc" >"$libdir/akin.pc"
flags=$(PKG_CONFIG_PATH=$libdir pkg-config --cflags --libs akin)
# shellcheck disable=SC2086 # a list of words
cc -Wall -Werror -o "$tmp/put" "$here/../../examples/example_put.c" $flags
LD_LIBRARY_PATH=$libdir "$tmp/put" "$pool" db again <"$tmp/a" >"$out"
assert_says "$out" '^700000 bytes, 0 new'
