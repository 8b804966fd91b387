#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The lint finds what it is there for: a small tree with one of each.
. "$(dirname "$0")/functions.sh"
requires_command shellcheck cc

top=$(cd "$here/../.." && pwd)
tree=$tmp/tree
mkdir -p "$tree/src/base" "$tree/src/os" "$tree/src/store" "$tree/front/cli" \
	"$tree/scripts" "$tree/include/akin"
cp "$top"/scripts/lint* "$top/scripts/layers" "$tree/scripts/"
cd "$tree"
head='/* SPDX-License-Identifier: Apache-2.0 */'
printf '# none\n' >scripts/limits.allow
printf '%s\n#ifndef A_H\n#define A_H\nint a(void);\n#endif\n' "$head" >src/base/a.h
printf '%s\n#include "base/a.h"\nint a(void)\n{\n\treturn 0;\n}\n' "$head" >src/base/a.c

# lints RULE: good; finds RULE PATTERN: not, and says so.
lints() {
	expect 0 scripts/lint "$1"
}
finds() {
	expect 1 scripts/lint "$1"
	assert_says "$out" "^# .*$2"
	assert_says "$out" "^not ok 1 - $1"
}
plant() {
	# shellcheck disable=SC2059 # a format it is
	printf "$head\n$2" >"$1"
}

for rule in layers limits headers names banned width words; do
	lints $rule
done

plant src/os/up.c '#include "store/store.h"\n'
finds layers 'src/os/up.c:2: os may not include'
plant src/os/up.c '#include "hash/hash.h"\n'
finds layers 'os may not include "hash/hash.h"'
rm src/os/up.c
plant front/cli/cli.c '#include "base/a.h"\n'
finds layers 'front may not include'
plant front/cli/cli.c '#include "akin/akin.h"\n'
lints layers
rm front/cli/cli.c

{
	printf '%s\nint f(void)\n{\n' "$head"
	yes '	;' | head -n 81 || :
	echo '}'
} >src/os/long.c
finds limits 'function src/os/long.c f has 81'
echo 'function src/os/long.c f 85' >scripts/limits.allow
finds limits 'fell to 81'
echo 'function src/os/long.c f 80' >scripts/limits.allow
finds limits 'grew from 80 to 81'
echo 'function src/os/long.c f 81' >scripts/limits.allow
lints limits
rm src/os/long.c
finds limits 'within the limit now'
printf '# none\n' >scripts/limits.allow
{ echo "$head"; yes '' | head -n 1000 || :; } >src/os/long.c
finds limits 'lines src/os/long.c has 1001'
rm src/os/long.c

plant src/os/alone.h 'void f(struct nowhere s, u8 x);\n'
finds headers 'src/os/alone.h'
rm src/os/alone.h

plant src/os/a.c 'int x;\n'
finds names 'a.c'
rm src/os/a.c

for call in 'strcpy(a, b)' 'printf("x")' 'x = malloc(3)' 'abort()' 'free(p)' \
	'fputs("x", stderr)'; do
	plant src/os/b.c "void f(void)\n{\n\t$call;\n}\n"
	finds banned 'src/os/b.c:4'
done
mkdir tests
plant tests/t.c 'void f(void)\n{\n\tskip();\n}\n'
finds banned 'tests/t.c:4'
rm tests/t.c
# Not what only looks like it.
plant src/os/b.c '/* free(p) */
void f(struct o *o)
{
	o->ops->free(o);
	mem_free(o);
	log("exit(1)");
}
'
lints banned
rm src/os/b.c

plant src/os/wide.c "/* $(printf '%098d' 1) */\n"
finds width 'src/os/wide.c:2: 104 columns'
rm src/os/wide.c
printf 'int x;\n' >src/os/bare.c
finds spdx 'src/os/bare.c:1'
rm src/os/bare.c
plant src/os/words.c '/* see nowhere-at-all.m''d */\n'
finds words 'there is no such page'
rm src/os/words.c
# shellcheck disable=SC2016 # as it is
printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nrm $1/x\n' >scripts/bad
finds shell 'scripts/bad:3'
