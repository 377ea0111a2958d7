# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# A background context that gives way to another one; sourced by bench/run, whose functions and variables it uses.

echo "== handover between a background context and another one on the simulator"
start sim:intel_v4
first "$build/bench/bench_handover" "$tmp/mnt" 1 0x4100c0 "${ROUNDS:-2000}"
stop
