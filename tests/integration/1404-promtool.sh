#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What akin metrics prints is what a Prometheus server wants, by its own tool.
. "$(dirname "$0")/functions.sh"
requires_command promtool

export AKIN_COUNTERS=$tmp/counters
mkdir "$src"
noise 6000000 1 >"$src/new"
new_pool
akin backup --quiet /etc/hostname
"$AKIN" -q -p "$pool" backup --limit-read 3MB "$src" &
pids+=($!)
sleep 1
expect 0 akin metrics
wait "${pids[0]}"
pids=()
assert_says "$out" '^akin_in_bytes_total'
assert_says "$out" '^akin_pool_size_bytes'
# It speaks up for bad names, units and types, and exits with 3 then.
promtool check metrics <"$out" >"$err" 2>&1 || { cat "$err"; fail "promtool"; }
assert_eq "complaints" "$(cat "$err")" ""
