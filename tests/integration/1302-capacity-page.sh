#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page of calculators in a real browser, from a disk and as akin serves it,
# against the command. AKIN_SHOTS=DIRECTORY keeps screenshots.
. "$(dirname "$0")/functions.sh"

page=$(dirname "$AKIN")/../capacity/index.html
[ -f "$page" ] || skip "the page was not built: no clang or no wasm-ld"

# The server: files as they are, and nothing else.
"$AKIN" capacity --serve >"$tmp/url" 2>"$err" &
server=$!
pids+=("$server")
for ((i = 0; i < 200; i++)); do
	[ ! -s "$tmp/url" ] || break
	kill -0 "$server" 2>/dev/null || break
	sleep 0.05
done
if [ -s "$tmp/url" ]; then
	url=$(cat "$tmp/url")
	python3 - "$url" "$(dirname "$page")" <<'PY'
import sys, urllib.error, urllib.request
url, where = sys.argv[1:]
for name in 'index.html', 'capacity.css', 'capacity.js', 'capacity-draw.js', 'capacity-wasm.js':
    r = urllib.request.urlopen(url + name)
    assert r.read() == open(f'{where}/{name}', 'rb').read(), name
    assert "default-src 'none'" in r.headers['Content-Security-Policy']
assert urllib.request.urlopen(url).headers['Content-Type'].startswith('text/html')
for path, method, code in (('none', 'GET', 404), ('../capacity.js', 'GET', 404),
                           ('', 'POST', 405)):
    try:
        urllib.request.urlopen(urllib.request.Request(url + path, method=method))
        sys.exit(f'{path}: not refused')
    except urllib.error.HTTPError as e:
        assert e.code == code, (path, e.code)
PY
	port=${url##*:}
	expect 1 "$AKIN" capacity --serve --port "${port%/}"
	assert_says "$err" 'in use'
else
	assert_says "$err" 'libmicrohttpd is missing'
	url=
	pids=()
fi
expect 2 "$AKIN" capacity --serve --port 65536
expect 2 "$AKIN" capacity zfs --serve

browser=
for name in chromium chromium-browser google-chrome; do
	[ -n "$browser" ] || browser=$(command -v $name || true)
done
[ -n "$browser" ] || skip "there is no chromium"
export HOME=$tmp
in_browser() {
	local got=0
	timeout -k 5 140 python3 "$here/capacity_page.py" "$browser" "$AKIN" \
		"$@" >"$out" 2>"$err" || got=$?
	[ $got != 124 ] || fail "the browser does not answer"
	[ $got = 0 ] || { cat "$err"; fail "the page differs"; }
}
# shellcheck disable=SC2086 # a word or none
in_browser \
	"file://$(realpath "$page")" "$here/../vectors" ${AKIN_SHOTS:-}
assert_eq "rows and cells" "$(cat "$out")" 165
if [ -n "$url" ]; then
	in_browser "$url" ""
	assert_eq "rows and cells" "$(cat "$out")" 0
	kill -TERM "$server"
	got=0
	wait "$server" || got=$?
	assert_eq "exit code of the server" $got 143
	pids=()
fi
