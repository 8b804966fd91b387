# SPDX-License-Identifier: Apache-2.0
#
# Reads scripts/layers, then lines "FILE LINE HEADER" (quoted includes).
# Prints every include that the order forbids, and writes to @edges the pairs
# "LOWER HIGHER" of modules in use, for a look for circles.

# The module of a file: its folder in src/, or "front" and "tools" with the
# folder's name in @unit.
function module_of(path,	part) {
	split(path, part, "/")
	unit = part[2]
	if (part[1] == "src")
		return part[2]
	return part[1] == "front" || part[1] == "tools" ? part[1] : ""
}

function may_include(from, to, header) {
	if (to == "akin")
		return from == "front" || from == "tools" ||
			header ~ /^akin\/(error|counters)\.h$/ || (from in public)
	if (from == "front" || from == "tools")
		return to == unit || ((unit, to) in inner)
	if (from == to)
		return 1
	if (!(from in level) || !(to in level))
		return 0
	return level[to] < level[from] || ((from, to) in allow)
}

FILENAME != "-" {
	if ($1 == "layer")
		for (i = 2; i <= NF; i++)
			level[$i] = FNR
	else if ($1 == "allow") {
		allow[$2, $3] = 1
		if (level[$2] != level[$3])
			print FILENAME ":" FNR ": not siblings"
	} else if ($1 == "public")
		public[$2] = 1
	else if ($1 == "inner")
		for (i = 3; i <= NF; i++)
			inner[$2, $i] = 1
	next
}

{
	from = module_of($1)
	if (from == "")
		next
	if (from != "front" && from != "tools" && !(from in level))
		print $1 ":" $2 ": module " from " is not in scripts/layers"
	# A front's own header, named without a folder.
	if ($3 !~ /\//) {
		if (from != "front" && from != "tools")
			print $1 ":" $2 ": name the module of \"" $3 "\""
		next
	}
	to = $3
	sub(/\/.*/, "", to)
	if (!may_include(from, to, $3))
		print $1 ":" $2 ": " from " may not include \"" $3 "\""
	if (from != to && to != "akin")
		print to, from > edges
}

END {
	printf "" > edges
}
