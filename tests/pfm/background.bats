# SPDX-License-Identifier: MIT
# pfm stat --background gives way to other contexts, and tells how long it has counted.

load common

schema() {
	python3 "$BATS_TEST_DIRNAME/schema.py" "$@"
}

# A command for sh: 1 ms of the simulated time, 5 ms in which another context has CPU 1, 1 ms
with_job() {
	cat <<-END
		set -e
		echo 1000000 >$MNT/sim/advance
		mkdir $MNT/ctx/job
		echo load cpu=1 >$MNT/ctx/job/ctl
		grep -q '^1 .*context=job.* yielded=' $MNT/cpus
		echo 5000000 >$MNT/sim/advance
		rmdir $MNT/ctx/job
		until grep -q '^1 .*context=[0-9]' $MNT/cpus; do sleep 0.01; done
		echo 1000000 >$MNT/sim/advance
	END
}

@test "counts are those of the time without the gaps, and unscaled" {
	serve --backend=sim
	run -0 bounded pfm stat -m "$MNT" --background -C 1 -j -o "$BATS_TEST_TMPDIR/rows" -e instructions,cycles \
		-- sh -c "$(with_job)"
	run -0 schema json instructions cycles counted gaps <"$BATS_TEST_TMPDIR/rows"
	is $'5000000\n6000000\n0.002\n1'
	# A sum has the time of all CPUs, and a rate that of one.
	run -0 bounded pfm stat -m "$MNT" --background -C 1-2 -e instructions -- sh -c "$(with_job)"
	grep -q '22,500,000  *instructions .*# 5,000,000,000 /s$' <<<"$output"
	run -0 bounded pfm stat -m "$MNT" --background -C 1-2 -x, -o "$BATS_TEST_TMPDIR/rows" -e instructions \
		-- sh -c "$(with_job)"
	run -0 schema csv instructions counted gaps <"$BATS_TEST_TMPDIR/rows"
	is $'22500000\n0.009\n1.0'
	run -0 bounded pfm stat -m "$MNT" --background -C 1-2 --no-aggr -e instructions -- sh -c "$(with_job)"
	grep -Eq '^CPU1 +5,000,000 +instructions ' <<<"$output"
	grep -Eq '^CPU1 +0.002000 s  counted, with 1 gap$' <<<"$output"
	grep -Eq '^CPU2 +0.007000 s  counted, with 0 gaps$' <<<"$output"
}

@test "intervals have their own gaps, and a count that never was has none" {
	serve --backend=sim
	# The job takes the CPU before the first interval ends, and keeps it.
	run -0 bounded pfm stat -m "$MNT" --background -C 1 -I 200 -j -o "$BATS_TEST_TMPDIR/rows" -e instructions \
		-- sh -c "mkdir $MNT/ctx/job && echo load cpu=1 >$MNT/ctx/job/ctl && sleep 0.5; rmdir $MNT/ctx/job"
	run -0 schema json instructions counted gaps <"$BATS_TEST_TMPDIR/rows"
	[[ ${lines[0]} =~ ^0( 0)+$ ]]
	[[ ${lines[1]} =~ ^0( 0)+$ ]]
	[[ ${lines[2]} =~ ^[01]( [01])+$ && ${lines[2]//[ 0]/} = 1 ]]
}

@test "refused where it has no meaning, and by the daemon" {
	serve --backend=sim
	run -125 bounded pfm stat -m "$MNT" --background -- true
	[[ $output == *"--background is for CPUs"* ]]
	for option in --mux --rerun --repeat=2; do
		run -125 bounded pfm stat -m "$MNT" --background -C 1 $option -- true
		[[ $output == *"--background leaves gaps"* ]]
	done
	run -125 setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups pfm stat -m "$MNT" --background -C 1 -- true
	[[ $output == *"background"*"sys_group"* ]]
	mkdir "$MNT/ctx/job"
	put ok "$MNT/ctx/job/ctl" "load cpu=1"
	run -125 bounded pfm stat -m "$MNT" --background -C 1 -- true
	[[ $output == *"context 'job'"* ]]
}
