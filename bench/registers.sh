# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Register accesses of commands, and memory of contexts; sourced by bench/run, whose functions and
# variables it uses.

# kinds MODEL: the kinds of counters that it has, each with the PMCs of two of them
kinds() {
	case $1 in
	netburst*) echo "core 6=0x2600020c 23=0x3d000 20=0x4000204 29=0x39000" ;;
	itanium2) echo "core 4=0x5008 5=0x1208" ;;
	*) echo "core 0=0x4100c0 1=0x4100c0" ;;
	esac
	case $1 in
	nehalem* | westmere*) echo "uncore 21=0x400101 22=0x400101" ;;
	zen*) printf '%s\n' "l3 32=0x400104 33=0x400104" "df 48=0x400104 49=0x400104" "umc 64=0x80000001 65=0x80000001" ;;
	esac
}
# accesses_of MODEL KIND PMC=VALUE...
accesses_of() {
	local model=$1 kind=$2 row="" c before
	shift 2
	mkdir "$tmp/mnt/ctx/a"
	printf 'pmc%s\n' "${@/=/ }" >"$tmp/mnt/ctx/a/regs"
	for c in "load cpu=1" start read stop unload; do
		before=$(accesses)
		if [ "$c" = read ]; then cat "$tmp/mnt/ctx/a/regs" >/dev/null; else echo "$c" >"$tmp/mnt/ctx/a/ctl"; fi
		row="$row $(delta "$before" "$(accesses)")"
	done
	# shellcheck disable=SC2086
	printf '%-14s %-6s %8s %8s %8s %8s %8s\n' "$model" "$kind" $row
	rmdir "$tmp/mnt/ctx/a"
}

echo "== register accesses per command with two counters, reads+writes"
printf '%-14s %-6s %8s %8s %8s %8s %8s\n' model kind load start read stop unload
for model in $models; do
	start "sim:$model" --clock=script
	kinds "$model" | while read -r kind pmcs; do
		# Not all models of a family have each.
		first=${pmcs%%=*}
		[ -e "$tmp/mnt/sys/pmu_desc/pmc$first" ] || continue
		# shellcheck disable=SC2086
		accesses_of "$model" "$kind" $pmcs
	done
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
