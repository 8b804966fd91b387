#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The calculators through the command: every published row and cell, text and
# JSON alike, plans from files and pipes, exit codes, no pool.
. "$(dirname "$0")/functions.sh"

capacity() {
	"$AKIN" capacity "$@"
}

# Sun Storage 7000: a call for each set of JBODs, logs and halves give the data
# disks. OpenZFS: a call for each cell.
cat >"$tmp/compare.py" <<'PY'
import json, subprocess, sys
akin, vectors = sys.argv[1:]
words = {'24+24+24': ['3'], '24+24+24+24': ['4'], '24': ['1'],
         '+'.join(['20'] * 2 + ['24'] * 10): ['12', '4', '4'],
         '+'.join(['12'] * 12): ['12h'], '+'.join(['24'] * 12): ['12'],
         '11': ['1', 'h1'], '12': ['1', 'h']}
def run(*args):
    out = subprocess.run([akin, 'capacity', *args, '--json'], check=True,
                         capture_output=True).stdout.decode().splitlines()
    return [json.loads(line) for line in out]
def rows(name):
    with open(f'{vectors}/{name}') as f:
        return [line.rstrip('\n').split('\t') for line in f if line[0] != '#']
known = {}
for jbods, w in words.items():
    for o in run('sun7000', *w):
        if o['type'] == 'profile':
            known[jbods, o['profile'], str(o['nspf'])] = [
                o['width_max'] if o['width'] else 0, o['spares'],
                o['data_drives'], o['raw_tb'], o['usable_tib']]
nr = 0
for jbods, profile, nspf, *rest in rows('sun7000_sizecalc.tsv'):
    got = known[jbods, profile, nspf]
    assert got == [float(x) for x in rest], (jbods, profile, nspf, got, rest)
    nr += 1
for disk, layout, vdevs, usable in rows('openzfs_capacity_24disks.tsv'):
    width, kind = layout.replace('-way ', '-wide ').split('-wide ')
    got = run('zfs', f'{vdevs}x{kind}:{width}', '--disk', disk + 'TB')[-1]
    assert got['available_tib'] == float(usable), (disk, layout, got)
    nr += 1
print(nr)
PY
expect 0 python3 "$tmp/compare.py" "$AKIN" "$here/../vectors"
assert_eq "rows and cells" "$(cat "$out")" 165

# The text says the same.
expect 0 capacity zfs 4xraidz2:6 --disk 18TB
assert_says "$out" '261\.536 TiB'
expect 0 capacity netapp --used 289150724K --saved 356485168K
assert_says "$out" '%saved +55%'
expect 0 capacity sun7000 8/8/8 12/2/10 --explain
assert_says "$out" '^Pool 3'

# Every calculation is valid JSON and ends with a summary.
for line in 'sun7000 12 4 4' 'zfs draid2:8d:24c:1s@4TB' 'netapp --data 1TB' \
	'akin --data 10TB --disk 20TB'; do
	# shellcheck disable=SC2086 # words
	expect 0 capacity $line --json --explain
	assert_eq "$line" "$(jq -r .type "$out" | tail -n 1)" summary
	jq 'select(.type == "step") | .text' "$out" >"$tmp/steps"
	[ -s "$tmp/steps" ] || fail "no steps: $line"
done
expect 0 capacity akin --data 1TB --json --from 2026-05-01
assert_eq "dates" "$(jq -r 'select(.type == "point") | .date' "$out" |
	sed -n '1p;13p' | paste -sd ' ')" '2026-05-01 2029-04-30'

# Plans.
cat >"$tmp/estimate.json" <<'JSON'
{"type":"source","path":"/home"}
{"type":"estimate","version":1,"logical_bytes":10000000000000,
 "unique_bytes":8000000000000,"stored_bytes":4000000000000,
 "change_per_day":0.02,"of":{"files":[1,2]}}
JSON
expect 0 capacity plan "$tmp/estimate.json" --disk 20TB
assert_says "$out" '^fits: '
assert_eq "lines" "$(wc -l <"$out")" 1
expect 0 capacity plan - --disk 7TB <"$tmp/estimate.json"
assert_says "$out" '^does not fit: .*would fit 3 years with a disk of .*, or --keep [0-9]+d'
expect 0 capacity plan "$tmp/estimate.json" --disk 7TB --json
assert_summary fits=false
expect 2 capacity plan "$tmp/estimate.json"
assert_says "$err" 'how large is the box'
expect 1 capacity plan "$tmp/none" --disk 7TB
echo '{"type":"estimate"' >"$tmp/estimate.json"
expect 2 capacity plan "$tmp/estimate.json" --disk 7TB
assert_says "$err" 'is no JSON'
expect 2 capacity plan /dev/zero --disk 7TB
assert_says "$err" 'larger than 1 MiB'

# What cannot be says what could.
expect 2 capacity
expect 2 capacity nonsense
assert_says "$err" 'sun7000, zfs, netapp, akin and plan'
expect 2 capacity zfs raidz2:2 --disk 4TB
assert_says "$err" 'raidz2:6'
expect 2 capacity zfs mirror --disk 4XB
assert_says "$err" 'such as 4TB'
expect 2 capacity sun7000 3 --keep 4
assert_says "$err" "knows --disk"

# What a configuration says of real pools is another matter.
printf 'chunk-size = 64K\n[init]\ncompression = zstd:9\n' >"$tmp/config"
AKIN_CONFIG=$tmp/config expect 0 capacity akin --data 10TB
printf 'disk = 4TB\n' >"$tmp/config"
AKIN_CONFIG=$tmp/config expect 2 capacity akin --data 10TB
assert_no_file "$pool"
