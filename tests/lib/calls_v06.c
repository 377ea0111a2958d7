// SPDX-License-Identifier: MIT
/* The specification's perfmonctl(): every command of its table 3.1, with the errors it names. */
#define PERFMON_ABI 6
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfm_msg_t msg_t;
#define NOTICE(pmc, pmd) (pmc)
#define NO_EMUL64        PFM_REGFL_NO_64BIT_EMUL
#define SWITCH_CNT(pmd)  (pmd).reg_ovflsw_thres
#define TARGET           gettid()
#include "tests/lib/fields_calls.h"

#define TIME(ns)       ((struct timespec){(time_t)((ns) / 1000000000), (long)((ns) % 1000000000)})
#define NS(time)       ((uint64_t)(time).tv_sec * 1000000000 + (uint64_t)(time).tv_nsec)
#define DURATION(time) NS(time)
#define SWITCHED(info) (info).set_switch_pmds
#include "tests/lib/fields_sets.h"

static int make(unsigned flags)
{
	pfarg_ctx_t ctx = {.ctx_flags = flags};

	OK(pfm_create_context(&ctx, 1));
	IS(ctx.ctx_smpl_buf_size, 0);
	return ctx.ctx_fd;
}

static int make_sampling(size_t size)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_default_smpl_arg_t arg;
	} both = {0};
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;

	memcpy(both.ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.arg.buf_size = size;
	both.arg.buf_flags = PFM_DFL_SMPL_IIP_HDR;
	OK(pfm_create_context(&both.ctx, 1));
	IS(both.ctx.ctx_smpl_buf_size, (long long)size);
	return both.ctx.ctx_fd;
}

static void write_pmc(int fd, uint32_t flags)
{
	pfarg_pmc_t pmc = {.reg_value = INSTRUCTIONS, .reg_flags = flags};

	OK(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
}

static void creating(void)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_default_smpl_arg_t arg;
	} both = {0};
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;

	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, NULL, 1), EFAULT);
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 0), EINVAL);
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 2), EINVAL);
	both.ctx.ctx_flags = 0x40;
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1), EINVAL);
	both.ctx.ctx_flags = PFM_FL_SYSTEM_WIDE | PFM_FL_NOTIFY_BLOCK;
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1), EINVAL);
	both.ctx.ctx_flags = 0;
	memset(both.ctx.ctx_smpl_buf_id, 7, sizeof(pfm_uuid_t));
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1), EINVAL);
	memcpy(both.ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1), EINVAL);
	both.arg.buf_size = (size_t)1 << 40;
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1), ENOMEM);
	IS(contexts(), 0);
	both.arg.buf_size = 8192;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	IS(both.ctx.ctx_smpl_buf_size, 8192);
	close(both.ctx.ctx_fd);
	FAILS(perfmonctl(0, 0x7f, NULL, 0), EINVAL);
	FAILS(perfmonctl(0, -1, NULL, 0), EINVAL);
	FAILS(perfmonctl(0, 0x06, NULL, 0), EINVAL);
}

static void vectors(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmc_t pmcs[3] = {0};
	pfarg_pmd_t pmds[3] = {0};

	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 1 << 20), EFAULT);
	FAILS(perfmonctl(fd, PFM_WRITE_PMDS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, pmds, -1), EINVAL);

	/* The first error ends the call. The element's flags say why. */
	pmcs[0].reg_value = pmcs[2].reg_value = INSTRUCTIONS;
	pmcs[1].reg_num = 300;
	pmcs[2].reg_num = 1;
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 3), EINVAL);
	IS(PFM_REG_HAS_ERROR(pmcs[0].reg_flags), 0);
	IS(pmcs[1].reg_flags, PFM_REG_RETFL_NOTAVAIL);
	IS(number_in("ctx/%lu/pmc/0", the_context()), INSTRUCTIONS);
	IS(number_in("ctx/%lu/pmc/1", the_context()) == INSTRUCTIONS, 0);
	pmcs[1].reg_num = 1;
	pmcs[1].reg_set = 9;
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 3), EINVAL);
	IS(pmcs[1].reg_flags, PFM_REG_RETFL_NOSET);
	pmcs[1].reg_set = 0;
	pmcs[1].reg_flags = 0x1000;
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 3), EINVAL);
	IS(pmcs[1].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	/* Error flags of an earlier call are ignored. */
	pmcs[1].reg_flags = PFM_REG_RETFL_NOTAVAIL;
	OK(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 3));
	IS(pmcs[1].reg_flags, 0);

	pmds[1].reg_flags = PFM_REGFL_OVFL_NOTIFY; /* said on PMCs here */
	FAILS(perfmonctl(fd, PFM_WRITE_PMDS, pmds, 2), EINVAL);
	IS(pmds[1].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	pmds[1].reg_flags = 0;
	pmds[1].reg_num = 299;
	FAILS(perfmonctl(fd, PFM_READ_PMDS, pmds, 2), EINVAL);
	IS(pmds[1].reg_flags, PFM_REG_RETFL_NOTAVAIL);
	pmds[1].reg_num = 0;
	pmds[1].reg_set = 9;
	FAILS(perfmonctl(fd, PFM_READ_PMDS, pmds, 2), EINVAL);
	IS(pmds[1].reg_flags, PFM_REG_RETFL_NOSET);
	close(fd);
}

/* More elements than the library passes in one command. */
static void long_vector(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmd_t pmds[65] = {0};

	for (uint16_t i = 0; i < 60; i++) {
		pmds[i].reg_num = i % 2;
		pmds[i].reg_value = i;
	}
	OK(perfmonctl(fd, PFM_WRITE_PMDS, pmds, 60));
	/* Over config/arg_size_max, which is 4096, in all. */
	FAILS(perfmonctl(fd, PFM_WRITE_PMDS, pmds, 65), EFAULT);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, pmds, 65), EFAULT);
	static pfarg_pmc_t pmcs[42];
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 42), EFAULT);
	static pfarg_setdesc_t descs[171];
	FAILS(perfmonctl(fd, PFM_CREATE_EVTSETS, descs, 171), EFAULT);
	FAILS(perfmonctl(fd, PFM_DELETE_EVTSETS, descs, 171), EFAULT);
	static pfarg_setinfo_t infos[47];
	FAILS(perfmonctl(fd, PFM_GETINFO_EVTSETS, infos, 47), EFAULT);
	OK(perfmonctl(fd, PFM_READ_PMDS, pmds, 60));
	for (int i = 0; i < 60; i++)
		IS(pmds[i].reg_value, 58 + i % 2);
	close(fd);
}

static void states(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_load_t load = {.load_pid = gettid() + 1};
	pfarg_start_t start = {.start_set = 4};
	pfarg_pmd_t pmd = {0};

	run_on(0);
	FAILS(perfmonctl(fd, PFM_START, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_STOP, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_RESTART, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1), EINVAL); /* only the calling thread */
	load.load_pid = gettid();
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 2), EFAULT);
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, NOWHERE, 1), EFAULT);
	load.load_set = 4;
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1), EINVAL);
	load.load_set = 0;
	OK(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1), EBUSY);
	FAILS(perfmonctl(fd, PFM_START, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_START, NULL, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_START, &start, 1), EINVAL);
	FAILS(perfmonctl(fd, PFM_STOP, NULL, 1), EINVAL);
	FAILS(perfmonctl(fd, PFM_RESTART, NULL, 0), EBUSY);
	run_on(1);
	FAILS(perfmonctl(fd, PFM_START, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_STOP, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_RESTART, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, &pmd, 1), EBUSY);
	FAILS(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0), EBUSY);
	close(fd);
}

/* A program that inherits a context over exec asks the daemon for its type and state. */
static int inherited(int fd)
{
	pfarg_load_t load = {.load_pid = gettid()};

	run_on(0);
	FAILS(perfmonctl(fd, PFM_START, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0), EBUSY);
	OK(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	OK(perfmonctl(fd, PFM_START, NULL, 0));
	run_on(1);
	FAILS(perfmonctl(fd, PFM_STOP, NULL, 0), EBUSY);
	run_on(0);
	OK(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	return 0;
}

static void over_exec(const char *self)
{
	int fd = make(PFM_FL_SYSTEM_WIDE), status;
	char text[16];
	pid_t child = fork();

	if (child == 0) {
		snprintf(text, sizeof(text), "%d", fd);
		execl(self, self, text, (char *)NULL);
		_exit(127);
	}
	IS(waitpid(child, &status, 0), child);
	IS(status, 0);
	close(fd);
}

/* 3.4.2, randomization by the tool: restart loads the long value that it has written last. */
static void randomized(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmd_t pmd = {.reg_value = (uint64_t)-1000, .reg_long_reset = (uint64_t)-2000};
	pfm_msg_t msg;

	run_on(0);
	write_pmc(fd, PFM_REGFL_OVFL_NOTIFY);
	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	load(fd, 0);
	OK(perfmonctl(fd, PFM_START, NULL, 0));
	advance(10000000);
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.msg_type, PFM_MSG_OVFL);
	pmd.reg_long_reset = (uint64_t)-3000;
	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	OK(perfmonctl(fd, PFM_READ_PMDS, &pmd, 1));
	IS(pmd.reg_last_reset_val, -3000);
	close(fd);
}

/* 2.3.7: of commands on sets, too. Elements before the wrong one are executed. */
static void reserved_flags(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setdesc_t desc[2] = {{.set_id = 1}, {.set_id = 2}};
	pfarg_setinfo_t info[2] = {{.set_id = 1}, {.set_id = 2, .set_flags = 0x10}};

	OK(perfmonctl(fd, PFM_CREATE_EVTSETS, desc, 2));
	info[0].set_runs = 5;
	FAILS(perfmonctl(fd, PFM_GETINFO_EVTSETS, info, 2), EINVAL);
	IS(info[0].set_runs, 0);
	IS(info[1].set_flags & PFM_REG_RETFL_MASK, PFM_SET_RETFL_EINVAL);
	desc[1].set_flags = 0x10;
	FAILS(perfmonctl(fd, PFM_DELETE_EVTSETS, desc, 2), EINVAL);
	IS(desc[1].set_flags & PFM_REG_RETFL_MASK, PFM_SET_RETFL_EINVAL);
	FAILS(perfmonctl(fd, PFM_DELETE_EVTSETS, desc, 1), EINVAL); /* deleted already */
	desc[1].set_flags = 0;
	OK(perfmonctl(fd, PFM_DELETE_EVTSETS, desc + 1, 1));
	close(fd);
}

/* 6.2.2: what is read is replaced, of PMDs in the reset list, too. */
static void read_and_reset(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmc_t pmc = {.reg_value = INSTRUCTIONS, .reg_reset_pmds = {2}};
	pfarg_pmd_t pmds[2] = {{.reg_value = 70, .reg_long_reset = 7},
		{.reg_num = 1, .reg_value = 80, .reg_long_reset = 8}};

	run_on(0);
	OK(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	OK(perfmonctl(fd, PFM_WRITE_PMDS, pmds, 2));
	load(fd, 0);
	OK(perfmonctl(fd, PFM_START, NULL, 0));
	advance(1000000);
	pmds[0].reg_flags = PFM_REGFL_READ_RESET;
	OK(perfmonctl(fd, PFM_READ_PMDS, pmds, 1));
	IS(pmds[0].reg_value > 1000, 1);
	IS(pmds[0].reg_flags, PFM_REGFL_READ_RESET);
	OK(perfmonctl(fd, PFM_STOP, NULL, 0));
	pmds[0].reg_flags = 0;
	OK(perfmonctl(fd, PFM_READ_PMDS, pmds, 2));
	IS(pmds[0].reg_value, 7);
	IS(pmds[0].reg_last_reset_val, 7);
	IS(pmds[1].reg_value, 8);
	pmds[0].reg_flags = 0x10;
	FAILS(perfmonctl(fd, PFM_READ_PMDS, pmds, 2), EINVAL);
	IS(pmds[0].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	close(fd);
}

/* Masked because of too many overflows, without notification: its tool is woken as by an overflow.
 */
static void throttled(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmd_t pmd = {0};
	pfm_msg_t msg;

	write_to("100", "config/overflow_rate_max");
	run_on(0);
	write_pmc(fd, 0);
	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = (uint64_t)-1000;
	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	load(fd, 0);
	OK(perfmonctl(fd, PFM_START, NULL, 0));
	advance(10000000);
	FAILS(read(fd, &msg, sizeof(msg) + 1), EINVAL);
	FAILS(read(fd, NOWHERE, 0), EINVAL);
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.msg_type, PFM_MSG_OVFL);
	IS(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 1);
	HAS("masked cpu=0 set=0 throttled", "ctx/%lu/state", the_context());
	OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	write_to("100000", "config/overflow_rate_max");
	close(fd);
}

/* A tool that restarts without reading: nothing that it reads later is of a type that it skips. */
static void unread(void)
{
	enum { MANY = 40 };
	int fd = make(PFM_FL_SYSTEM_WIDE), n = 0;
	pfarg_pmd_t pmd = {0};
	pfm_msg_t msg;

	run_on(0);
	write_pmc(fd, PFM_REGFL_OVFL_NOTIFY);
	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = (uint64_t)-1000;
	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	load(fd, 0);
	OK(perfmonctl(fd, PFM_START, NULL, 0));
	for (int i = 0; i < MANY; i++) {
		advance(10000000);
		OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	}
	OK(perfmonctl(fd, PFM_STOP, NULL, 0));
	OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	while (read(fd, &msg, sizeof(msg)) == sizeof(msg)) {
		IS(msg.msg_type, PFM_MSG_OVFL);
		n++;
	}
	IS(errno, EAGAIN);
	IS(n > 30, 1);
	close(fd);
}

/* Other descriptors: read(2). */
static void other_reads(void)
{
	char c = 0;
	int ends[2];

	OK(pipe(ends));
	IS(write(ends[1], "x", 1), 1);
	IS(read(ends[0], &c, 1), 1);
	IS(c, 'x');
	FAILS(read(-1, &c, 1), EBADF);
	/* Of the mount, but no context. */
	IS(read(open_file("version"), &c, 1), 1);
}

/* How many elements there are, and times that are none. */
static void sets(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setdesc_t desc[2] = {{.set_id = 0}, {.set_id = 5}};
	pfarg_setinfo_t info = {0};

	FAILS(perfmonctl(fd, PFM_CREATE_EVTSETS, desc, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_GETINFO_EVTSETS, &info, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_DELETE_EVTSETS, desc, 0), EINVAL);
	for (uint16_t i = 0; i < 2; i++) {
		desc[i].set_flags = PFM_SETFL_TIME_SWITCH;
		desc[i].set_timeout.tv_nsec = 2000000;
	}
	OK(perfmonctl(fd, PFM_CREATE_EVTSETS, desc, 2));
	IS(desc[1].set_timeout.tv_sec, 0);
	IS(desc[1].set_timeout.tv_nsec, number_in("ctx/%lu/set/5/timeout_ns", the_context()));
	desc[1].set_timeout.tv_nsec = 1000000000;
	FAILS(perfmonctl(fd, PFM_CREATE_EVTSETS, desc, 2), EINVAL);
	IS(PFM_SET_HAS_ERROR(desc[0].set_flags), 0);
	IS(desc[1].set_flags & PFM_REG_RETFL_MASK, PFM_SET_RETFL_EINVAL);
	close(fd);
}

static void information(void)
{
	pfarg_pmcinfo_t pmc[2] = {0};
	pfarg_pmdinfo_t pmd[2] = {0};

	pmc[1].reg_num = 1;
	OK(perfmonctl(0, PFM_GETINFO_PMCS, pmc, 2));
	IS(pmc[1].reg_type, PFM_REG_TYPE_MSR);
	IS(pmc[1].reg_index, 0x187);
	IS((pmc[1].reg_rsvd_mask >> 20) & 1, 1); /* the interrupt */
	pmd[1].reg_num = 256;
	OK(perfmonctl(0, PFM_GETINFO_PMDS, pmd, 2));
	IS(pmd[0].reg_type, PFM_REG_TYPE_MSR);
	IS(pmd[0].reg_def_value, 0);
	IS(pmd[1].reg_type, PFM_REG_TYPE_NONE);
	IS(pmd[1].reg_index, (long long)PFM_REG_IDX_NONE);
	pmc[1].reg_num = 300;
	FAILS(perfmonctl(0, PFM_GETINFO_PMCS, pmc, 2), EINVAL);
	IS(pmc[1].reg_flags, PFM_REG_RETFL_EINVAL);
	pmc[0].reg_flags = 1;
	FAILS(perfmonctl(0, PFM_GETINFO_PMCS, pmc, 1), EINVAL);
	FAILS(perfmonctl(0, PFM_GETINFO_PMCS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(0, PFM_GETINFO_PMCS, pmc, 0), EINVAL);
	FAILS(perfmonctl(0, PFM_GETINFO_PMDS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(0, PFM_GETINFO_PMDS, pmd, -1), EINVAL);
	pmd[0].reg_num = 299;
	FAILS(perfmonctl(0, PFM_GETINFO_PMDS, pmd, 1), EINVAL);
	/* Up to config/arg_size_max, which is 4096, and over it. */
	enum { TOO_MANY = 4096 / sizeof(pfarg_pmcinfo_t) + 1 };
	static pfarg_pmcinfo_t pmcs[TOO_MANY];
	OK(perfmonctl(0, PFM_GETINFO_PMCS, pmcs, TOO_MANY - 1));
	FAILS(perfmonctl(0, PFM_GETINFO_PMCS, pmcs, TOO_MANY), EFAULT);
	static pfarg_pmdinfo_t pmds[TOO_MANY];
	FAILS(perfmonctl(0, PFM_GETINFO_PMDS, pmds, TOO_MANY), EFAULT);
}

static void configuration(void)
{
	pfarg_config_t cf, old;

	OK(perfmonctl(0, PFM_GET_CONFIG, &cf, 1));
	old = cf;
	IS(PFM_VERSION_MAJOR(cf.cf_version), 0);
	IS(PFM_VERSION_MINOR(cf.cf_version), 6);
	IS(cf.cf_impl_pmcs[0] & 3, 3);
	IS(cf.cf_impl_pmds[4] & 1, 1); /* PMD 256 */
	IS(cf.cf_counter_width, number_in("pmu/counter_width"));
	IS(cf.cf_arg_size_max, number_in("config/arg_size_max"));
	IS(cf.cf_smpl_buf_size_max, number_in("config/smpl_buf_size_max"));
	FAILS(perfmonctl(0, PFM_GET_CONFIG, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(0, PFM_GET_CONFIG, &cf, 2), EFAULT);
	FAILS(perfmonctl(0, PFM_SET_CONFIG, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(0, PFM_SET_CONFIG, &cf, 0), EFAULT);
	cf.cf_sys_gid = 4242;
	cf.cf_thread_gid = PFM_GROUP_ANY;
	cf.cf_arg_size_max = 8192;
	OK(perfmonctl(0, PFM_SET_CONFIG, &cf, 1));
	IS(number_in("config/sys_group"), 4242);
	IS(file_says("config/thread_group", "any"), 1);
	IS(number_in("config/arg_size_max"), 8192);
	cf.cf_arg_size_max = 100;
	FAILS(perfmonctl(0, PFM_SET_CONFIG, &cf, 1), EINVAL);
	/* All or nothing: the limits precede the groups, and are set back. */
	cf.cf_arg_size_max = 16384;
	cf.cf_smpl_buf_size_max = 1;
	FAILS(perfmonctl(0, PFM_SET_CONFIG, &cf, 1), EINVAL);
	IS(number_in("config/arg_size_max"), 8192);
	OK(perfmonctl(0, PFM_SET_CONFIG, &old, 1));
	OK(setegid(65534));
	OK(seteuid(65534));
	OK(perfmonctl(0, PFM_GET_CONFIG, &cf, 1));
	FAILS(perfmonctl(0, PFM_SET_CONFIG, &cf, 1), EPERM);
	OK(seteuid(0));
	OK(setegid(0));
}

/* What 3.5.4 excludes. */
static void not_mapped(int fd, size_t size)
{
	int bare = make(PFM_FL_SYSTEM_WIDE);

	NO_MAP(size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NO_MAP(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	NO_MAP(size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	NO_MAP(size, PROT_NONE, MAP_SHARED, fd, 0);
	NO_MAP(size, PROT_READ, MAP_SHARED | MAP_LOCKED, fd, 0);
	NO_MAP(4096, PROT_READ, MAP_SHARED, fd, 0);
	NO_MAP(2 * size, PROT_READ, MAP_SHARED, fd, 0);
	NO_MAP(size, PROT_READ, MAP_SHARED, fd, 4096);
	NO_MAP(4096, PROT_READ, MAP_SHARED, bare, 0);
	close(bare);
}

/* Once in each process; and none can write what the others read. */
static void mapped_once(int fd, size_t size)
{
	pid_t child = fork();

	NO_MAP(size, PROT_READ, MAP_SHARED, fd, 0);
	if (child == 0) {
		NO_MAP(size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		_exit(0);
	}
	ends_well(child);
}

static void sampling(void)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_default_smpl_arg_t arg;
	} both = {0};
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;
	const pfm_default_smpl_hdr_t *hdr;
	const pfm_default_smpl_entry_t *entry;
	pfarg_pmd_t pmd = {0};

	memcpy(both.ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	both.arg.buf_size = 8192;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	not_mapped(both.ctx.ctx_fd, both.ctx.ctx_smpl_buf_size);
	hdr = mmap(NULL, both.ctx.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, both.ctx.ctx_fd, 0);
	IS(hdr != MAP_FAILED, 1);
	mapped_once(both.ctx.ctx_fd, both.ctx.ctx_smpl_buf_size);
	run_on(0);
	write_pmc(both.ctx.ctx_fd, 0);
	pmd.reg_value = pmd.reg_short_reset = (uint64_t)-10000000;
	OK(perfmonctl(both.ctx.ctx_fd, PFM_WRITE_PMDS, &pmd, 1));
	load(both.ctx.ctx_fd, 0);
	OK(perfmonctl(both.ctx.ctx_fd, PFM_START, NULL, 0));
	advance(100000000);
	OK(perfmonctl(both.ctx.ctx_fd, PFM_STOP, NULL, 0));
	IS(hdr->hdr_count > 0, 1);
	entry = (const pfm_default_smpl_entry_t *)(hdr + 1);
	IS(entry->ovfl_pmd, 0);
	IS(entry->cpu, 0);
	IS(entry->last_reset_val, -10000000);
	/* It stays mapped, unlike 3.5.4. */
	close(both.ctx.ctx_fd);
	IS(entry->last_reset_val, -10000000);
	OK(munmap((void *)(uintptr_t)hdr, both.ctx.ctx_smpl_buf_size));
}

/* Section 6.1 */
static void alternative(void)
{
	pfarg_ctx_t ctx = {0};
	pfarg_config_t cf;
	pfarg_pmd_t pmd = {0};

	FAILS(pfm_create_context(&ctx, 2), EINVAL);
	OK(pfm_create_context(&ctx, 1));
	OK(pfm_read_pmds(ctx.ctx_fd, &pmd, 1));
	FAILS(pfm_start(ctx.ctx_fd, NULL), EBUSY);
	FAILS(pfm_unload_context(ctx.ctx_fd), EBUSY);
	OK(pfm_get_config(&cf));
	close(ctx.ctx_fd);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return inherited(atoi(argv[1]));
	if (argc == 1) {
		fields();
		fields_of_sets();
		return 0;
	}
	creating();
	vectors();
	long_vector();
	counting(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
	states();
	over_exec(argv[0]);
	randomized();
	reserved_flags();
	read_and_reset();
	throttled();
	unread();
	other_reads();
	sets();
	information();
	configuration();
	alternative();
	sampling();
	return 0;
}
