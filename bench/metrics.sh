# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What a scrape costs the daemon; sourced by bench/run, whose functions and variables it uses. Two counts are
# exported of each of 256 simulated CPUs. Scrapes are so far apart that none shows what the one before has read.
scrapes=${SCRAPES:-200}
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status"; }
scrape_all() { # FILE
	local i

	for ((i = 0; i < scrapes; i++)); do
		sleep 0.02
		cat "$tmp/mnt/metrics/$1" >"$tmp/scraped"
	done
}
scrape() { # FILE
	local before kib
	scrape_all "$1" # what is made once is there then
	before=$(daemon_us) kib=$(resident_kib)
	scrape_all "$1"
	printf '%-14s %8d %10d %12d\n' "$1" "$(grep -vc '^#' "$tmp/scraped")" \
		$((($(daemon_us) - before) / scrapes)) $(($(resident_kib) - kib))
}

echo "== a scrape of 256 simulated CPUs: us of the daemon's CPU time, and KiB that $scrapes of them add"
start sim:skylake --sim-cpus=256
echo any >"$tmp/mnt/config/energy_group"
echo any >"$tmp/mnt/config/sys_group"
for ((cpu = 0; cpu < 256; cpu++)); do
	mkdir "$tmp/mnt/ctx/c$cpu"
	printf '%s\n' "pmc0 0x4100c0" "pmc1 0x41003c" >"$tmp/mnt/ctx/c$cpu/regs"
	printf '%s\n' "pmd0 instructions" "pmd1 cycles" | cat >"$tmp/mnt/ctx/c$cpu/metrics"
	echo "load cpu=$cpu" >"$tmp/mnt/ctx/c$cpu/ctl"
	echo start >"$tmp/mnt/ctx/c$cpu/ctl"
done
printf '%-14s %8s %10s %12s\n' file samples us KiB
for file in node.prom readings.prom energy.prom; do scrape $file; done
stop
