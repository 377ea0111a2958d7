# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Register accesses of commands, and memory of contexts; sourced by bench/run, whose functions and
# variables it uses.

echo "== register accesses per command, reads+writes"
printf '%-11s %3s %8s %8s %8s %8s %8s\n' model n load start read stop unload
for model in $models; do
	start "sim:$model" --clock=script
	mkdir "$tmp/mnt/ctx/a"
	n=0
	for r in 0 1 2 3; do
		[ -e "$tmp/mnt/ctx/a/pmc/$r" ] || continue
		echo 0x4100c0 >"$tmp/mnt/ctx/a/pmc/$r"
		n=$((n + 1))
	done
	row=""
	for c in "load cpu=1" start read stop unload; do
		before=$(accesses)
		if [ "$c" = read ]; then cat "$tmp/mnt/ctx/a/regs" >/dev/null; else echo "$c" >"$tmp/mnt/ctx/a/ctl"; fi
		row="$row $(delta "$before" "$(accesses)")"
	done
	# shellcheck disable=SC2086
	printf '%-11s %3s %8s %8s %8s %8s %8s\n' $model $n $row
	stop
done

echo "== resident memory of the daemon (VmRSS) by number of contexts"
start perf
made=0
for n in 0 1 100 1000; do
	while [ $made -lt $n ]; do
		mkdir "$tmp/mnt/ctx/c$made"
		made=$((made + 1))
	done
	printf '%5d contexts: %s\n' "$n" "$(awk '/^VmRSS/ { print $2, $3 }' "/proc/$daemon/status")"
done
stop
