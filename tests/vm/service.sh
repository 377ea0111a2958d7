# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The packages under systemd, in a bare Debian that boots in namespaces of its own: a function for guest.sh,
# whose helpers it uses. The msr driver and the CPUs are the guest's.

# What the daemon's counters are programmed by: the tree is not there all the time.
selectors() { for reg in 0x186 0x187 0x188 0x189 0x38d 0x38f; do rdmsr -p 1 $reg; done | tr '\n' ' '; }
unit_is() { [ "$(in_system systemctl is-active perfmonfs)" = "$1" ]; } # STATE
in_system() { nsenter -t "$init" -m -p -C -r -w /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
has_booted() {
	case $(in_system systemctl is-system-running 2>/dev/null) in running | degraded) ;; *) return 1 ;; esac
}

has_child() { [ -n "$(cat "/proc/$1/task/$1/children")" ]; } # PID
boot() { # DIRECTORY
	# The group of processes is delegated to this systemd; it may load no module of the guest's kernel.
	unshare -m -p -C -f --propagation private sh -c "
		mount --rbind /dev $1/dev && mount -t proc proc $1/proc && mount -t sysfs sysfs $1/sys &&
		mount -t cgroup2 cgroup $1/sys/fs/cgroup && mount -t tmpfs -o mode=755 tmpfs $1/run &&
		exec chroot $1 /usr/bin/env -i container=guest /sbin/init --show-status=no" &
	booted=$!
	soon has_child $booted
	init=$(cut -d' ' -f1 /proc/$booted/task/$booted/children)
	check "systemd is up" soon has_booted
}

# Like a kill, but systemd finds out by itself. The unit's watchdog would take a minute.
hangs() {
	in_system sh -euc '
		mkdir -p /run/systemd/system/perfmonfs.service.d
		printf "[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\n" >/run/systemd/system/perfmonfs.service.d/soon.conf
		systemctl daemon-reload
		systemctl restart perfmonfs'
	system_counts "a context counts before the daemon hangs"
	sleep 6
	like "the watchdog lets the daemon live" "$(in_system cat /run/perfmon/ctx/a/state)" running
	hanging=$(main_pid)
	in_system systemctl kill -s STOP --kill-who=main perfmonfs
	check "systemd ends a daemon that hangs, and starts it again" soon begun_again
	is "registers are put back after that" "$(selectors)" "$before"
	in_system rm -r /run/systemd/system/perfmonfs.service.d
}

# The unit of perfmonfs-admin(7), whose user has no right but the group.
monitoring() {
	in_system sh -euc '
		useradd monitor
		cat >/etc/systemd/system/monitor.service <<-END
			[Unit]
			PartOf=perfmonfs.service
			After=perfmonfs.service
			StartLimitIntervalSec=0

			[Service]
			User=monitor
			SupplementaryGroups=perfmon
			ExecStart=pfm stat --background -a -I 1000 -e instructions
			Restart=on-failure
			RestartSec=5

			[Install]
			WantedBy=perfmonfs.service
		END
		systemctl daemon-reload'
	check "a monitoring service" in_system systemctl enable --now monitor
	check "counts each CPU" soon monitors
	in_system systemctl kill -s KILL --kill-who=main perfmonfs
	check "counts again after the daemon was killed" soon monitors_again
	in_system systemctl restart perfmonfs
	check "and after a restart, as an upgrade does it" soon monitors_again
	in_system systemctl stop perfmonfs
	sleep 3
	is "it ends with the daemon" "$(in_system systemctl is-active monitor)" inactive
	is "which it does not start" "$(in_system systemctl is-active perfmonfs)" inactive
	in_system sh -c 'systemctl start perfmonfs; systemctl disable --now monitor
		rm /etc/systemd/system/monitor.service; systemctl daemon-reload; userdel monitor' >/dev/null 2>&1
}

# Two contexts of the user on CPUs, and neither is that of an earlier monitor.
monitors() {
	monitor=$(in_system awk '$3 ~ /^context=/ { n++; pid = $5 } END { if (n == 2) print pid }' /run/perfmon/cpus)
	[ -n "$monitor" ]
}
monitors_again() {
	earlier=$monitor
	monitors && [ "$monitor" != "$earlier" ] || {
		monitor=$earlier
		return 1
	}
}

main_pid() { in_system systemctl show -p MainPID --value perfmonfs; }
# In this order: it is active until it is killed.
begun_again() { [ "$(main_pid)" != "$hanging" ] && unit_is active; }

shut_down() { # WORD: reboot, poweroff
	in_system systemctl "$1" >/dev/null 2>&1
	wait $booted || : # it ends by a signal
}

system_counts() { # WHAT
	check "$1" in_system sh -euc 'cd /run/perfmon/ctx
		mkdir a
		cd a
		echo 0x4100c0 >pmc/0
		echo load cpu=1 >ctl
		echo start >ctl
		[ "$(cat pmd/0)" -gt 0 ]'
}

# The guest's CPUs have no energy, so that the model's is shown.
slurmd_energy() {
	in_system sh -euc '
		cd /etc/systemd/system
		mkdir slurmd.service.d
		ln -s /usr/share/perfmonfs/slurm/energy.conf slurmd.service.d
		cat >slurmd.service <<-END
			[Service]
			Type=oneshot
			ExecStart=sh -c "cat /sys/cray/pm_counters/energy >/tmp/energy; ls /sys | xargs >/tmp/sys"
			ExecStart=mkdir /sys/fs/cgroup/of-slurmd
		END
		cp /etc/perfmonfs.conf /tmp
		echo backend = sim:skylake >>/etc/perfmonfs.conf
		systemctl daemon-reload
		systemctl restart perfmonfs'
	check "the energy of the mount for Slurm" in_system systemctl start slurmd
	like "is where its plug-in reads it" "$(in_system cat /tmp/energy)" " J "
	is "beside all that /sys has" "$(in_system cat /tmp/sys)" \
		"$(in_system sh -c '{ ls /sys; echo cray; } | sort | xargs')"
	in_system sh -c 'rm -r /etc/systemd/system/slurmd.service* /tmp/energy /tmp/sys
		rmdir /sys/fs/cgroup/of-slurmd
		mv /tmp/perfmonfs.conf /etc
		systemctl daemon-reload'
}

service() { # ROOT: a bare Debian with systemd; the packages are in this directory
	before=$(selectors)
	mkdir /tmp/system
	mount -t tmpfs tmpfs /tmp/system
	mkdir /tmp/system/upper /tmp/system/work /tmp/system/root
	mount -t overlay -o "lowerdir=$1,upperdir=/tmp/system/upper,workdir=/tmp/system/work" overlay /tmp/system/root
	mkdir -p /tmp/system/root/packages
	cp ./*.deb /tmp/system/root/packages
	for unit in getty-static e2scrub_reap console-getty; do
		ln -s /dev/null /tmp/system/root/etc/systemd/system/$unit.service
	done
	boot /tmp/system/root
	check "installed" in_system dpkg --install /packages/perfmonfs.deb
	is "and waits for the administrator" "$(in_system systemctl is-enabled perfmonfs)" disabled
	check "enabled and started" in_system systemctl enable --now perfmonfs
	like "with the registers of the CPUs" "$(in_system cat /run/perfmon/pmu/backend)" msr
	system_counts "a context counts"
	is "in a register" "$(rdmsr -p 1 0x186)" 4100c0
	in_system cat /run/perfmon/ctx/a/events >/tmp/events 2>&1 &
	reader=$!
	in_system pfm stat -C 0 -e instructions -I 1000 >/tmp/counted 2>&1 &
	counting=$!
	check "pfm counts, too" soon grep -q instructions /tmp/counted
	check "upgraded while it counts" in_system dpkg --install /packages/perfmonfs.deb
	check "the service goes on" soon unit_is active
	is "registers are put back" "$(selectors)" "$before"
	wait $reader
	like "a reader of its messages is told" "$(cat /tmp/events)" "cat: "
	wait $counting
	is "pfm ends" $? 3
	like "and says why" "$(tail -n 1 /tmp/counted)" "start perfmonfs again"
	is "no context is left" "$(in_system ls /run/perfmon/ctx)" ""
	system_counts "a context counts again"
	check "the daemon is killed" in_system systemctl kill -s KILL --kill-who=main perfmonfs
	check "systemd starts it again" soon in_system test -e /run/perfmon/version
	check "which counts" soon unit_is active
	is "registers are put back, too" "$(selectors)" "$before"
	hangs
	monitoring
	slurmd_energy
	in_system sh -c 'echo none /mnt fuse.perfmonfs \
		backend=perf,nofail,x-systemd.requires=systemd-modules-load.service 0 0 >>/etc/fstab'
	shut_down reboot
	boot /tmp/system/root
	check "started by a boot" soon unit_is active
	like "and mounted by a line of fstab" "$(in_system cat /mnt/pmu/backend)" perf
	check "that is unmounted" in_system umount /mnt
	system_counts "and counts"
	in_system sh -c 'echo uid=1000 cpus=0 >/run/perfmon/config/grants'
	check "purged while it counts" in_system dpkg --purge perfmonfs
	is "its registers are put back at last" "$(selectors)" "$before"
	is "no process is left" "$(pidof perfmonfs)" ""
	is "nor a mount" "$(in_system grep fuse.perfmonfs /proc/mounts)" ""
	is "nor a file" "$(in_system find /etc /usr /var/lib -name '*perfmonfs*')" ""
	is "nor a grant" "$(in_system sh -c 'ls -d /run/perfmon*' 2>/dev/null)" ""
	shut_down poweroff
}
