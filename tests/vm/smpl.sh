# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Sampling on real counters: functions for guest.sh, whose helpers they use. The program is that of
# tests/fs/profile.bats; here it is sampled on its user instructions, by PMC and PMD 0.

share() { # FUNCTION: hundredths of a percent of the overflows in functions a, b and c
	awk -v f="$1" -v tid="$tid" '
		$1 == "count" && $3 == tid && $4 ~ /^[abc]$/ { all += $6; if ($4 == f) its += $6 }
		END { printf "%d\n", all ? 10000 * its / all : 0 }' /tmp/profile
}
off() { v=$(($(share "$1") - $2)) && echo "${v#-}"; } # FUNCTION HUNDREDTHS: how far
value() { awk -v k="$1" '$1 == k { print $2 }' /tmp/profile; }

# The three shares are at most so far from what they should be.
within() { # HUNDREDTHS
	[ "$(off a 6000)" -le "$1" ] && [ "$(off b 3000)" -le "$1" ] && [ "$(off c 1000)" -le "$1" ]
}

# At 500 us there are up to 2000 samples a second; each stands for what overflowed in its tick.
profile() { # SAMPLES
	write $mnt/config/tick_us 500
	write $mnt/config/overflow_rate_max 1000000
	"$here/burner" 1 shares >/tmp/ranges &
	burner=$!
	make_context
	check "a format" write format "default size=65536 compact"
	write pmc/0 0x4100c0
	check "a period" write pmd/0 "-200000 short=-200000 long=-200000 notify"
	check "load" write ctl "load cpu=1"
	while ! grep -q thread /tmp/ranges; do sleep 0.1; done
	check "start" write ctl start
	check "samples" taskset -c 0 "$here/smplread" . "$1" /tmp/ranges
	cp /tmp/out /tmp/profile
	worker=$(grep -lx pfm/1 /proc/[0-9]*/task/*/comm 2>/dev/null | sed 's|/comm||; s|.*/||')
	kill $burner
	read -r _ pid tid <<-EOT
		$(grep thread /tmp/ranges)
	EOT
}

profile_is_known() {
	echo "# $scenario: $(value samples) samples, $(value weight) overflows in $(value elapsed) ns"
	between "a burns 60 %, in hundredths" "$(share a)" 5800 6200
	between "b burns 30 %" "$(share b)" 2800 3200
	between "c burns 10 %" "$(share c)" 800 1200
	is "no sample of a, b or c is another's" "$(awk -v p="$pid" -v t="$tid" '
		$1 == "count" && $4 ~ /^[a-f]$/ && ($2 != p || $3 != t)' /tmp/profile)" ""
	is "none is the worker's" "$(awk -v t="$worker" '$1 == "count" && $3 == t' /tmp/profile)" ""
	between "the worker is known by its name" "$worker" 1 10000000
}

sampled() { # PMU
	taskset -pc 0 $$ >/dev/null
	start_daemon
	is "PMU" "$(cat $mnt/pmu/name)" "$1"
	before=$(registers)
	# Two points are three standard deviations: a bad profile has to come five times.
	for try in 1 2 3 4 5; do
		profile 8000
		check "unload" write ctl unload
		is "registers are as before" "$(registers)" "$before"
		cd /
		rmdir $mnt/ctx/a
		echo "# $scenario: a $(share a) b $(share b) c $(share c), try $try"
		within 200 && break
	done
	profile_is_known
	stop_daemon
}
