# SPDX-License-Identifier: MIT
# pfm without a mount: the daemon that it starts, for root and other users.

load common

# move_build: a copy of what pfm needs of the build, in BUILT, which all users may enter
move_build() {
	local file

	BUILT=$BATS_TEST_TMPDIR/moved/build
	mkdir -p "$BUILT"
	for file in pfm tools/pfm/pfm tools/pfm/events/default.group daemon/perfmonfs; do
		install -D "$BUILD/$file" "$BUILT/$file"
	done
	ln -sf tools/pfm/pfm "$BUILT/pfm"
}

@test "a build that was moved: pfm takes its daemon and its events, an installed pfm does not" {
	move_build
	cd /
	serve --backend=sim
	echo "MINE 0xc0 *" >"$BUILT/tools/pfm/events/mine.events"
	run -0 "$BUILT/pfm" list -m "$MNT" MINE
	[[ $output == *MINE* ]]
	run -0 without_mounts env PATH=/usr/bin:/bin "$BUILT/pfm" stat -j -o "$BATS_TEST_TMPDIR/out" true
	[ -s "$BATS_TEST_TMPDIR/out" ]

	# Beside an installed pfm, such folders are another user's.
	install -D "$BUILT/tools/pfm/pfm" "$BUILT/bin/pfm"
	run "$BUILT/bin/pfm" list -m "$MNT" MINE
	[[ $output != *MINE*0xc0* ]]
	printf '#!/bin/sh\necho taken >&2\n' >"$BUILT/daemon/perfmonfs"
	run -125 without_mounts "$BUILT/pfm" stat true
	[[ $output == *taken* ]]
	run without_mounts "$BUILT/bin/pfm" stat true
	[[ $output != *taken* ]]
}
