#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hooks: when they run, what they are told, what becomes of their failures.
. "$(dirname "$0")/functions.sh"
requires_command jq

mkdir "$src"
echo data >"$src/f"
new_pool
cat >"$tmp/hook" <<'END'
#!/bin/sh
all="$AKIN_HOOK|$AKIN_COMMAND|$AKIN_POOL|${AKIN_EXIT_CODE-}"
echo "$all|${AKIN_RESULT-}|${AKIN_SNAPSHOT-}|${AKIN_MESSAGE-}" >>"$LOG"
echo printed
END
chmod +x "$tmp/hook"
export LOG=$tmp/log
hooks=(--hook-before "$tmp/hook" --hook-after "$tmp/hook")
# said LINE...: and nothing else since the last time.
said() {
	assert_eq "the log" "$(cat "$LOG")" "$(printf '%s\n' "$@")"
	rm "$LOG"
}

backup "${hooks[@]}" "$src"
id=$(summary snapshot)
said "before|backup|$pool||||" "after|backup|$pool|0|success|$id|"
assert_eq "only JSON" "$(grep -c printed "$out" || :)" 0
assert_eq "printed" "$(grep -c printed "$err" || :)" 2
expect 0 akin check "${hooks[@]}"
said "before|check|$pool||||" "after|check|$pool|0|success||"

# A command that fails, one with warnings, one that is wrong.
expect 1 akin backup "${hooks[@]}" "$tmp/none"
grep -q "after|backup|$pool|1|failure||.*none" "$LOG" || fail "$(cat "$LOG")"
rm "$LOG"
expect 3 akin backup "${hooks[@]}" "$src" "$tmp/none"
grep -q "after|backup|$pool|3|warnings|[0-9a-f]\{32\}|" "$LOG" ||
	fail "$(cat "$LOG")"
rm "$LOG"
expect 2 akin backup "${hooks[@]}" --no-such-option "$src"
[ ! -e "$LOG" ] || fail "a hook ran"

# The hook before fails: nothing else; the one after is told.
before=$(nr_snapshots)
expect 1 akin backup --hook-before 'exit 4' --hook-after "$tmp/hook" "$src"
assert_says "$err" "the hook before it failed with exit code 4"
grep -q "after|backup|$pool|1|failure||the hook before" "$LOG" ||
	fail "$(cat "$LOG")"
rm "$LOG"
assert_eq snapshots "$(nr_snapshots)" "$before"
expect 1 akin backup --hook-before 'kill -9 $$' "$src"
assert_says "$err" "signal 9"
# The hook after fails: a warning.
expect 3 akin backup --hook-after 'exit 1' "$src"
assert_says "$err" "the hook after it failed with exit code 1"
expect 1 akin backup --hook-after 'exit 1' "$tmp/none"

# Standard input stays the command's.
printf 'stream\n' >"$tmp/in"
"$AKIN" -p "$pool" backup --quiet --stdin s --hook-before cat <"$tmp/in"
expect 0 akin cat latest:s
assert_eq stream "$(cat "$out")" stream

# From the configuration; a hook that runs akin does not run hooks.
cat >"$tmp/conf" <<END
pool = $pool
hook-after = $AKIN snapshots --quiet >/dev/null && $AKIN gc && $tmp/hook
END
AKIN_CONFIG=$tmp/conf expect 0 "$AKIN" forget --keep-last 1
said "after|forget|$pool|0|success||"
AKIN_CONFIG=$tmp/conf expect 0 "$AKIN" ls latest
[ ! -e "$LOG" ] || fail "a hook ran"
