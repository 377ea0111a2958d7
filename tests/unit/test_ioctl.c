// SPDX-License-Identifier: MIT
/* The packets of the clone file: bytes to commands, and their results to bytes. */
#include "daemon/command/command.h"
#include "daemon/command/ioctl.h"
#include "perfmonfs/ioctl.h"
#include "tests/unit/unit.h"

/* A packet of @n structures; fails if it is refused. */
static struct packet *packet(unsigned long cmd, const void *bytes, unsigned n)
{
	unsigned nr = (unsigned)PFM_IOC_VECTOR(cmd, n);
	struct packet *p = packet_new(nr, bytes, _IOC_SIZE(nr), &why);

	if (!p)
		fail_msg("%s", why.text);
	return p;
}

static struct command next(struct packet *p)
{
	struct command cmd = {0};

	assert_int_equal(packet_next(p, &cmd, &why), 1);
	return cmd;
}

static void assert_end(struct packet *p)
{
	struct command none = {0};

	assert_int_equal(packet_next(p, &none, &why), 0);
}

/* The command succeeded. */
static void done(struct packet *p, struct command *cmd)
{
	struct err e = {0};

	packet_take(p, cmd, 0, &e);
	command_free(cmd);
}

static int failed(struct packet *p, struct command *cmd, int no)
{
	packet_take(p, cmd, err_set(&why, no, "it fails"), &why);
	command_free(cmd);
	assert_non_null(strstr(why.text, "it fails"));
	return why.no;
}

static void back(struct packet *p, void *bytes, size_t size)
{
	struct slice s = packet_answer(p);

	assert_int_equal(s.n, size);
	if (size)
		memcpy(bytes, s.p, size);
	free(p);
}

TEST(refused)
{
	static const struct {
		unsigned long cmd;
		size_t size;
		int no;
	} cases[] = {
		{_IO('p', 0xc2), 0, ENOTTY},
		{_IO('q', 0xc4), 0, ENOTTY},
		{_IO('p', 0xce), 0, ENOTTY},
		{_IOW('p', 0xc2, struct pfm_ioc_pmd), 176, ENOTTY},
		{0x5401, 0, ENOTTY},
		{PFM_IOC_VECTOR(PFM_IOC_START, 0), 0, 0},
		{_IOC(_IOC_NONE, 'p', 0xc4, 8), 8, EINVAL},
		{_IOC(_IOC_WRITE, 'p', 0xc4, 31), 31, EINVAL},
		{_IOC(_IOC_WRITE, 'p', 0xc3, 32), 32, ENOTTY},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xc3, 31), 31, EINVAL},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xc3, 64), 64, 0},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xc0, 47), 47, EINVAL},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xc0, 96), 96, 0},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xc0, 0), 0, 0},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xc0, 96), 48, EINVAL},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xcb, 127), 127, EINVAL},
		{_IOC(_IOC_READ | _IOC_WRITE, 'p', 0xcb, 129), 129, 0},
	};
	static const unsigned char zeros[256];

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct err e = {0};
		struct packet *p = packet_new((unsigned)cases[i].cmd, zeros, cases[i].size, &e);

		assert_int_equal(!p, cases[i].no != 0);
		assert_int_equal(e.no, cases[i].no);
		free(p);
	}
}

TEST(sizes)
{
	assert_int_equal(sizeof(struct pfm_ioc_setup), 128);
	assert_int_equal(sizeof(struct pfm_ioc_pmc), 48);
	assert_int_equal(sizeof(struct pfm_ioc_pmd), 176);
	assert_int_equal(sizeof(struct pfm_ioc_load), 32);
	assert_int_equal(sizeof(struct pfm_ioc_start), 32);
	assert_int_equal(sizeof(struct pfm_ioc_setdesc), 64);
	assert_int_equal(sizeof(struct pfm_ioc_setinfo), 200);
	assert_int_equal(sizeof(struct pfm_ioc_signal), 32);
	assert_int_equal(sizeof(struct pfm_ioc_info), 32);
}

TEST(which_write)
{
	static const unsigned char zeros[256];
	static const unsigned long reads[] = {
		PFM_IOC_READ_PMDS, PFM_IOC_GETINFO_EVTSETS, PFM_IOC_INFO};
	static const unsigned long writes[] = {PFM_IOC_WRITE_PMCS, PFM_IOC_WRITE_PMDS, PFM_IOC_LOAD,
		PFM_IOC_START, PFM_IOC_START_SET, PFM_IOC_STOP, PFM_IOC_RESTART,
		PFM_IOC_CREATE_EVTSETS, PFM_IOC_DELETE_EVTSETS, PFM_IOC_UNLOAD, PFM_IOC_SETUP,
		PFM_IOC_SIGNAL, PFM_IOC_WRITE_PMCS_V06};

	for (unsigned i = 0; i < COUNT(reads) + COUNT(writes); i++) {
		bool read = i < COUNT(reads);
		struct packet *p = packet(read ? reads[i] : writes[i - COUNT(reads)], zeros, 1);

		assert_int_equal(packet_writes(p), !read);
		free(p);
	}
}

static const struct pfm_ioc_pmd full = {
	.num = 5,
	.set = 6,
	.flags = PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM,
	.value = 7,
	.long_reset = 8,
	.short_reset = 9,
	.last_reset_val = 10,
	.ovfl_switch_cnt = 11,
	.reset_pmds = {1, 0, 0, 0, 2},
	.smpl_pmds = {4, 0, 0, 0, 8},
	.smpl_eventid = 12,
	.random_mask = 13,
	.random_seed = 14,
};

TEST(write_pmds)
{
	struct pfm_ioc_pmd two[2] = {full, full}, out[2];
	struct command cmd;
	struct packet *p;

	two[0].flags |= PFM_IOC_RETFL_EINVAL; /* From an earlier call. */
	two[1].flags = PFM_IOC_REGFL_KEEP_NOTICE;
	p = packet(PFM_IOC_WRITE_PMDS, two, 2);
	cmd = next(p);
	assert_int_equal(cmd.verb, CMD_WRITE);
	assert_int_equal(cmd.vector.nregs, 2);
	assert_int_equal(cmd.vector.cut.no, 0);
	assert_true(cmd.vector.regs[0].pmd);
	assert_int_equal(cmd.vector.regs[0].num, 5);
	assert_int_equal(cmd.vector.regs[0].set, 6);
	assert_int_equal(cmd.vector.regs[0].value, 7);
	assert_int_equal(cmd.vector.regs[0].conf.long_reset, 8);
	assert_int_equal(cmd.vector.regs[0].conf.short_reset, 9);
	assert_int_equal(cmd.vector.regs[0].conf.thresh, 11);
	assert_int_equal(cmd.vector.regs[0].conf.eventid, 12);
	assert_int_equal(cmd.vector.regs[0].conf.mask, 13);
	assert_int_equal(cmd.vector.regs[0].conf.seed, 14);
	assert_int_equal(cmd.vector.regs[0].conf.flags, PMD_NOTIFY | PMD_RANDOM);
	assert_true(regset_has(&cmd.vector.regs[0].conf.reset, 257));
	assert_true(regset_has(&cmd.vector.regs[0].conf.smpl, 2));
	assert_int_equal(cmd.vector.regs[0].keep, PMD_EMULATION);
	assert_int_equal(cmd.vector.regs[1].keep, PMD_EMULATION | PMD_NOTICE);
	done(p, &cmd);
	assert_end(p);
	back(p, out, sizeof(out));
	two[0].flags &= ~PFM_IOC_RETFL_EINVAL;
	assert_memory_equal(out, two, sizeof(out));
}

TEST(write_pmcs)
{
	struct pfm_ioc_pmc pmcs[] = {
		{.num = 1, .set = 2, .value = 3}, {.num = 4, .flags = PFM_IOC_REGFL_NO_EMUL64}};
	struct packet *p = packet(PFM_IOC_WRITE_PMCS, pmcs, 2);
	struct command cmd = next(p);

	assert_int_equal(cmd.verb, CMD_WRITE);
	assert_int_equal(cmd.vector.nregs, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_false(cmd.vector.regs[i].pmd);
		assert_int_equal(cmd.vector.regs[i].num, pmcs[i].num);
		assert_int_equal(cmd.vector.regs[i].set, pmcs[i].set);
		assert_int_equal(cmd.vector.regs[i].value, pmcs[i].value);
		assert_int_equal(cmd.vector.regs[i].confer, PMD_EMULATION);
		assert_int_equal(cmd.vector.regs[i].conf.flags, i ? PMD_NO64 : 0);
	}
	done(p, &cmd);
	back(p, NULL, 0); /* Nothing changed. */
}

TEST(write_pmcs_v06)
{
	struct pfm_ioc_pmd one = full;
	struct command cmd;
	struct packet *p;

	one.flags |= PFM_IOC_REGFL_NO_EMUL64;
	p = packet(PFM_IOC_WRITE_PMCS_V06, &one, 1);
	cmd = next(p);
	assert_int_equal(cmd.verb, CMD_WRITE);
	assert_false(cmd.vector.regs[0].pmd);
	assert_int_equal(cmd.vector.regs[0].value, 7);
	assert_int_equal(cmd.vector.regs[0].confer, PMD_NOTICE | PMD_EMULATION);
	assert_int_equal(cmd.vector.regs[0].conf.flags, PMD_NOTIFY | PMD_RANDOM | PMD_NO64);
	assert_int_equal(cmd.vector.regs[0].conf.eventid, 12);
	assert_int_equal(cmd.vector.regs[0].conf.long_reset, 0);
	assert_true(regset_has(&cmd.vector.regs[0].conf.reset, 0));
	done(p, &cmd);
	free(p);
}

TEST(read_pmds)
{
	struct pfm_ioc_pmd two[2] = {full, full}, out[2];
	struct command cmd;
	struct packet *p;

	memset(two[1].reserved, 0xff, sizeof(two[1].reserved)); /* Only the number matters. */
	p = packet(PFM_IOC_READ_PMDS, two, 2);
	cmd = next(p);
	assert_int_equal(cmd.verb, CMD_READ);
	assert_int_equal(cmd.vector.nregs, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(cmd.vector.regs[i].pmd && cmd.vector.regs[i].num == 5 &&
			    cmd.vector.regs[i].set == 6);
		cmd.vector.regs[i].value = 100 + i;
		cmd.vector.regs[i].last_reset = 200 + i;
		cmd.vector.regs[i].thresh_left = 300 + i;
	}
	done(p, &cmd);
	back(p, out, sizeof(out));
	for (unsigned i = 0; i < 2; i++) {
		two[i].value = 100 + i;
		two[i].last_reset_val = 200 + i;
		two[i].ovfl_switch_cnt = 300 + i;
	}
	assert_memory_equal(out, two, sizeof(out));
}

/* Elements before the failed one are done, elements after it are unchanged. */
TEST(faults)
{
	static const struct {
		enum cmd_fault fault;
		int no, is;
		uint32_t flags;
	} cases[] = {
		{FAULT_NOSET, ENOENT, EINVAL, PFM_IOC_RETFL_NOSET},
		{FAULT_NOTAVAIL, ENOENT, EINVAL, PFM_IOC_RETFL_NOTAVAIL},
		{FAULT_REFUSED, EACCES, EACCES, PFM_IOC_RETFL_EINVAL},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pfm_ioc_pmd in[3] = {{0}}, out[3];
		struct command cmd;
		struct packet *p;

		in[2].flags = PFM_IOC_RETFL_NOSET;
		p = packet(PFM_IOC_READ_PMDS, in, 3);
		cmd = next(p);
		cmd.vector.regs[0].value = cmd.vector.regs[1].value = 9;
		cmd.vector.regs[1].fault = cases[i].fault;
		assert_int_equal(failed(p, &cmd, cases[i].no), cases[i].is);
		assert_end(p);
		back(p, out, sizeof(out));
		in[0].value = 9;
		in[1].flags = cases[i].flags;
		assert_memory_equal(out, in, sizeof(out));
	}
}

/* An error that belongs to no element. */
TEST(fault_of_none)
{
	struct pfm_ioc_pmd in[2] = {{.value = 5}, {.value = 6}}, out[2];
	struct packet *p = packet(PFM_IOC_READ_PMDS, in, 2);
	struct command cmd = next(p);

	assert_int_equal(failed(p, &cmd, EINTR), EINTR);
	back(p, out, sizeof(out));
	assert_memory_equal(out, in, sizeof(out));
}

/* An invalid element is refused after those before it are done. */
TEST(bad_element)
{
	struct pfm_ioc_pmc in[3] = {{0}}, out[3];
	struct command cmd;
	struct packet *p;
	struct err e;

	in[1].reserved[3] = 1;
	p = packet(PFM_IOC_WRITE_PMCS, in, 3);
	cmd = next(p);
	assert_int_equal(cmd.vector.nregs, 1);
	assert_int_equal(cmd.vector.cut.no, EINVAL);
	e = cmd.vector.cut;
	packet_take(p, &cmd, -EINVAL, &e);
	command_free(&cmd);
	back(p, out, sizeof(out));
	in[1].flags = PFM_IOC_RETFL_EINVAL;
	assert_memory_equal(out, in, sizeof(out));

	in[0].flags = PFM_IOC_REGFL_OVFL_NOTIFY; /* A flag of PMDs. */
	p = packet(PFM_IOC_WRITE_PMCS, in, 3);
	memset(&cmd, 0, sizeof(cmd));
	assert_int_equal(packet_next(p, &cmd, &e), -EINVAL);
	command_free(&cmd);
	back(p, out, sizeof(out));
	in[0].flags |= PFM_IOC_RETFL_EINVAL;
	assert_memory_equal(out, in, sizeof(out));
}

TEST(no_elements)
{
	struct packet *p = packet(PFM_IOC_WRITE_PMDS, NULL, 0);

	assert_end(p);
	back(p, NULL, 0);
}

TEST(sets)
{
	struct pfm_ioc_setdesc in[] = {{.id = 1, .flags = 2, .timeout = 5},
		{.id = 2, .id_next = 1, .flags = 4 | 8 | PFM_IOC_SETFL_KEEP},
		{.id = 3, .flags = 16}, {.id = 4}};
	struct pfm_ioc_setdesc out[4];
	struct packet *p = packet(PFM_IOC_CREATE_EVTSETS, in, 4);
	struct command cmd = next(p), none = {0};

	assert_int_equal(cmd.verb, CMD_EVTSET_NEW);
	assert_int_equal(cmd.evtset.there, EVTSET_RENEW);
	assert_int_equal(cmd.evtset.id, 1);
	assert_int_equal(cmd.evtset.change, EVTSET_FLAGS | EVTSET_NEXT | EVTSET_TIMEOUT);
	assert_int_equal(cmd.evtset.flags, SET_TIME_SWITCH);
	assert_false(cmd.evtset.has_next);
	assert_int_equal(cmd.evtset.timeout_ns, 5);
	cmd.evtset.timeout_ns = 1000;
	done(p, &cmd);
	cmd = next(p);
	assert_int_equal(cmd.evtset.change, EVTSET_FLAGS | EVTSET_NEXT);
	assert_int_equal(cmd.evtset.there, EVTSET_KEEP);
	assert_int_equal(cmd.evtset.flags, SET_EXPL_NEXT | SET_EXCL_IDLE);
	assert_true(cmd.evtset.has_next && cmd.evtset.next == 1);
	done(p, &cmd);
	assert_int_equal(packet_next(p, &none, &why), -EINVAL); /* no such flag */
	back(p, out, sizeof(out));
	in[0].timeout = 1000;
	in[2].flags |= PFM_IOC_RETFL_EINVAL;
	assert_memory_equal(out, in, sizeof(out));
}

TEST(delete_sets)
{
	struct pfm_ioc_setdesc in[] = {{.id = 1}, {.id = 9}}, out[2];
	struct packet *p = packet(PFM_IOC_DELETE_EVTSETS, in, 2);
	struct command cmd = next(p);

	assert_int_equal(cmd.verb, CMD_EVTSET_DELETE);
	assert_int_equal(cmd.evtset.id, 1);
	done(p, &cmd);
	cmd = next(p);
	cmd.evtset.fault = FAULT_NOSET;
	assert_int_equal(failed(p, &cmd, ENOENT), EINVAL);
	assert_end(p);
	back(p, out, sizeof(out));
	in[1].flags = PFM_IOC_RETFL_NOSET;
	assert_memory_equal(out, in, sizeof(out));
}

TEST(set_info)
{
	struct pfm_ioc_setinfo in = {.id = 7, .flags = ~0U, .runs = 1}, out;
	struct packet *p = packet(PFM_IOC_GETINFO_EVTSETS, &in, 1);
	struct command cmd = next(p);

	assert_int_equal(cmd.verb, CMD_EVTSET_READ);
	assert_int_equal(cmd.evtset.id, 7);
	cmd.evtset = (struct cmd_evtset){
		.id = 7,
		.flags = SET_OVFL_SWITCH | SET_EXPL_NEXT,
		.next = 8,
		.runs = 2,
		.active_ns = 3,
		.remaining_ns = 4,
		.timeout_ns = 99,
	};
	regset_add(&cmd.evtset.switch_pmds, 0);
	regset_add(&cmd.evtset.pmcs, 65);
	regset_add(&cmd.evtset.pmds, 256);
	p->cookie = 4096;
	done(p, &cmd);
	back(p, &out, sizeof(out));
	in = (struct pfm_ioc_setinfo){
		.id = 7,
		.id_next = 8,
		.flags = PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_EXPL_NEXT,
		.ovfl_pmds = {1},
		.runs = 2,
		.timeout = 4,
		.act_duration = 3,
		.avail_pmcs = {0, 2},
		.avail_pmds = {0, 0, 0, 0, 1},
		.cookie = 4096,
	};
	assert_memory_equal(&out, &in, sizeof(out));
}

TEST(load)
{
	static const struct {
		uint32_t target;
		bool wide;
		int no;
	} cases[] = {{0, true, 0}, {3, true, 0}, {UINT32_MAX, true, 0}, {0, false, EINVAL},
		{77, false, 0}, {UINT32_MAX, false, ESRCH}};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pfm_ioc_load in = {.target = cases[i].target, .set = 4};
		struct packet *p = packet(PFM_IOC_LOAD, &in, 1);
		struct command cmd = {0};
		struct err e = {0};

		p->system_wide = cases[i].wide;
		assert_int_equal(packet_next(p, &cmd, &e), cases[i].no ? -cases[i].no : 1);
		if (!cases[i].no) {
			assert_int_equal(cmd.verb, CMD_LOAD);
			assert_true(cmd.has_set && cmd.set == 4);
			assert_int_equal(cmd.tid, cases[i].wide ? 0 : (int)cases[i].target);
			assert_true(!cases[i].wide || cmd.load.cpu == cases[i].target ||
				    cmd.load.cpu >= CPUS_MAX);
			done(p, &cmd);
		}
		back(p, NULL, 0);
	}
}

/* Flags and a CPU mask, for threads. */
TEST(load_thread)
{
	static const struct {
		uint32_t flags;
		uint64_t mask[CPUS_MAX / 64 + 1];
		size_t size;
		bool wide;
		int no;
	} cases[] = {
		{PFM_IOC_LOADFL_FOLLOW, {5}, 8, false, 0},
		{PFM_IOC_LOADFL_UNTRACED, {0, 1}, 16, false, 0},
		{PFM_IOC_LOADFL_FOLLOW | PFM_IOC_LOADFL_TAKEN, {1}, 1, false, 0},
		{0, {1}, CPUS_MAX / 8, false, 0},
		{0, {1}, CPUS_MAX / 8 + 1, false, EINVAL},
		{0, {0}, 8, false, EINVAL},
		{PFM_IOC_LOADFL_FOLLOW | PFM_IOC_LOADFL_UNTRACED, {1}, 8, false, EINVAL},
		{PFM_IOC_LOADFL_PROCESS, {0}, 0, false, 0},
		{PFM_IOC_LOADFL_PROCESS | PFM_IOC_LOADFL_FOLLOW, {1}, 8, false, 0},
		{PFM_IOC_LOADFL_PROCESS | PFM_IOC_LOADFL_UNTRACED, {0}, 0, false, EINVAL},
		{8, {1}, 0, false, EINVAL},
		{0, {1}, 8, true, EINVAL},
		{PFM_IOC_LOADFL_FOLLOW, {1}, 0, true, EINVAL},
		{PFM_IOC_LOADFL_UNTRACED, {1}, 0, true, EINVAL},
		{PFM_IOC_LOADFL_PROCESS, {1}, 0, true, EINVAL},
		{PFM_IOC_LOADFL_TAKEN, {1}, 0, true, 0},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct {
			struct pfm_ioc_load load;
			uint64_t mask[CPUS_MAX / 64 + 1];
		} in = {.load.target = 7, .load.flags = cases[i].flags};
		unsigned nr = (unsigned)PFM_IOC_TAILED(PFM_IOC_LOAD, cases[i].size);
		struct command cmd = {0};
		struct err e = {0};

		memcpy(in.mask, cases[i].mask, sizeof(in.mask));
		struct packet *p = packet_new(nr, &in, sizeof(in.load) + cases[i].size, &e);
		assert_non_null(p);
		p->system_wide = cases[i].wide;
		assert_int_equal(packet_next(p, &cmd, &e), cases[i].no ? -cases[i].no : 1);
		if (!cases[i].no) {
			assert_true(cmd.load.follow == !!(cases[i].flags & PFM_IOC_LOADFL_FOLLOW));
			assert_true(
				cmd.load.untraced == !!(cases[i].flags & PFM_IOC_LOADFL_UNTRACED));
			assert_true(
				cmd.load.process == !!(cases[i].flags & PFM_IOC_LOADFL_PROCESS));
			assert_int_equal(!cmd.load.cpus, !cases[i].size);
			if (cmd.load.cpus)
				assert_memory_equal(cmd.load.cpus->bits, cases[i].mask,
					sizeof(cmd.load.cpus->bits));
		}
		command_free(&cmd);
		free(p);
	}
}

/* The flag is set, and cleared by the next load that does not fail for that reason. */
TEST(load_taken)
{
	struct pfm_ioc_load load = {.target = 7, .flags = PFM_IOC_LOADFL_FOLLOW};
	struct packet *p = packet(PFM_IOC_LOAD, &load, 1);
	struct command cmd = next(p);

	cmd.load.taken = true;
	assert_int_equal(failed(p, &cmd, EBUSY), EBUSY);
	back(p, &load, sizeof(load));
	assert_int_equal(load.flags, PFM_IOC_LOADFL_FOLLOW | PFM_IOC_LOADFL_TAKEN);
	p = packet(PFM_IOC_LOAD, &load, 1);
	cmd = next(p);
	done(p, &cmd);
	back(p, &load, sizeof(load));
	assert_int_equal(load.flags, PFM_IOC_LOADFL_FOLLOW);
	p = packet(PFM_IOC_LOAD, &load, 1);
	cmd = next(p);
	assert_int_equal(failed(p, &cmd, EBUSY), EBUSY);
	back(p, NULL, 0); /* The structure may be constant. */
}

TEST(info)
{
	static const struct {
		struct ctx_info info;
		struct pfm_ioc_info out;
	} cases[] = {
		{{.flags = CTX_OVFL_NO_MSG, .tid = 7, .cpu = 3, .ended = true},
			{.number = 5, .flags = PFM_IOC_FL_OVFL_NO_MSG}},
		{{.state = CTX_RUNNING, .flags = CTX_NOTIFY_BLOCK | CTX_RAW, .tid = 7, .cpu = 3},
			{.number = 5,
				.flags = PFM_IOC_FL_NOTIFY_BLOCK,
				.state = PFM_IOC_STATE_RUNNING,
				.tid = 7,
				.cpu = 3}},
		{{.state = CTX_MASKED, .flags = CTX_SYSTEM_WIDE, .cpu = 3, .set = 9},
			{.number = 5,
				.flags = PFM_IOC_FL_SYSTEM_WIDE,
				.state = PFM_IOC_STATE_MASKED,
				.cpu = 3,
				.set = 9}},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pfm_ioc_info out;
		struct packet *p;
		struct command cmd;

		memset(&out, 0xff, sizeof(out)); /* The input is ignored. */
		p = packet(PFM_IOC_INFO, &out, 1);
		p->number = 5;
		cmd = next(p);
		assert_int_equal(cmd.verb, CMD_INFO);
		cmd.info = cases[i].info;
		done(p, &cmd);
		assert_end(p);
		back(p, &out, sizeof(out));
		assert_memory_equal(&out, &cases[i].out, sizeof(out));
	}
}

TEST(bare)
{
	static const struct {
		unsigned long cmd;
		enum cmd_verb verb;
	} cases[] = {{PFM_IOC_START, CMD_START}, {PFM_IOC_STOP, CMD_STOP},
		{PFM_IOC_RESTART, CMD_RESTART}, {PFM_IOC_UNLOAD, CMD_UNLOAD}};
	struct pfm_ioc_start in = {.set = 3};
	struct command cmd;
	struct packet *p;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		p = packet(cases[i].cmd, NULL, 1);
		cmd = next(p);
		assert_int_equal(cmd.verb, cases[i].verb);
		assert_false(cmd.has_set);
		done(p, &cmd);
		assert_end(p);
		back(p, NULL, 0);
	}
	p = packet(PFM_IOC_START_SET, &in, 1);
	cmd = next(p);
	assert_true(cmd.verb == CMD_START && cmd.has_set && cmd.set == 3);
	free(p);
}

TEST(setup)
{
	struct {
		struct pfm_ioc_setup s;
		char arg[8];
	} in = {.s = {.flags = PFM_IOC_FL_SYSTEM_WIDE | PFM_IOC_FL_OVFL_NO_MSG |
			       PFM_IOC_FL_MAP_SETS,
			.arg_size = 8,
			.format = "default"},
		.arg = "argument"},
	  out;
	unsigned nr = _IOC(_IOC_READ | _IOC_WRITE, 'p', 0xcb, sizeof(in));
	struct slice format, arg;
	struct command cmd;
	struct packet *p;

	p = packet_new(nr, &in, sizeof(in), &why);
	cmd = next(p);
	assert_int_equal(cmd.verb, CMD_SETUP);
	assert_int_equal(cmd.setup.flags, CTX_SYSTEM_WIDE | CTX_OVFL_NO_MSG);
	assert_true(cmd.setup.map_sets);
	packet_setup(p, &format, &arg);
	assert_true(slice_is(format, "default") && slice_is(arg, "argument"));
	p->buf_size = 4096;
	p->number = 12;
	done(p, &cmd);
	back(p, &out, sizeof(out));
	in.s.buf_size = 4096;
	in.s.number = 12;
	assert_memory_equal(&out, &in, sizeof(in));
}

/* Each fault alone is refused; then the packet is returned as it came. */
TEST(setup_refused)
{
	struct pfm_ioc_setup cases[4] = {{.flags = 0x40}, {.arg_size = 1}, {.reserved = {1}}};

	memset(cases[3].format, 'x', sizeof(cases[3].format));
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct packet *p = packet(PFM_IOC_SETUP, &cases[i], 1);
		struct pfm_ioc_setup out;
		struct command cmd = {0};

		assert_int_equal(packet_next(p, &cmd, &why), -EINVAL);
		back(p, &out, sizeof(out));
		assert_memory_equal(&out, &cases[i], sizeof(out));
	}
}

TEST(signal)
{
	static const struct {
		struct pfm_ioc_signal in;
		bool ok;
	} cases[] = {
		{{.sig = 10, .type = PFM_IOC_OWNER_PID, .owner = 5, .fd = 3}, true},
		{{.sig = 0}, true},
		{{.sig = 64}, true},
		{{.sig = 65}, false},
		{{.sig = -1}, false},
		{{.sig = 1, .type = 2}, false},
		{{.sig = 1, .owner = -1}, false},
		{{.sig = 1, .fd = -1}, false},
		{{.sig = 1, .reserved = {0, 1}}, false},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		const struct pfm_ioc_signal *in = &cases[i].in;
		struct packet *p = packet(PFM_IOC_SIGNAL, in, 1);
		struct command cmd = {0};

		assert_int_equal(packet_next(p, &cmd, &why), cases[i].ok ? 1 : -EINVAL);
		if (cases[i].ok) {
			assert_int_equal(cmd.verb, CMD_SIGNAL);
			assert_int_equal(cmd.signal.sig, in->sig);
			assert_int_equal(cmd.tid, in->owner);
			assert_true(cmd.signal.has_fd && cmd.signal.fd == in->fd);
			assert_int_equal(cmd.signal.process, in->type == PFM_IOC_OWNER_PID);
		}
		free(p);
	}
}

#define NONE(cmd, type, field)                                                                     \
	{                                                                                          \
		cmd, sizeof(struct type), offsetof(struct type, field),                            \
			sizeof(((struct type *)0)->field)                                          \
	}

/* What must be zero, or has bits that no one may set yet: each alone is enough to be refused. */
TEST(must_be_zero)
{
	static const struct {
		unsigned long cmd;
		size_t size, offs, n;
	} cases[] = {
		NONE(PFM_IOC_SETUP, pfm_ioc_setup, flags),
		NONE(PFM_IOC_SETUP, pfm_ioc_setup, reserved),
		NONE(PFM_IOC_WRITE_PMCS, pfm_ioc_pmc, flags),
		NONE(PFM_IOC_WRITE_PMCS, pfm_ioc_pmc, reserved),
		NONE(PFM_IOC_WRITE_PMCS_V06, pfm_ioc_pmd, flags),
		NONE(PFM_IOC_WRITE_PMCS_V06, pfm_ioc_pmd, reserved32),
		NONE(PFM_IOC_WRITE_PMCS_V06, pfm_ioc_pmd, reserved),
		NONE(PFM_IOC_WRITE_PMDS, pfm_ioc_pmd, flags),
		NONE(PFM_IOC_WRITE_PMDS, pfm_ioc_pmd, reserved32),
		NONE(PFM_IOC_WRITE_PMDS, pfm_ioc_pmd, reserved),
		NONE(PFM_IOC_LOAD, pfm_ioc_load, flags),
		NONE(PFM_IOC_LOAD, pfm_ioc_load, reserved16),
		NONE(PFM_IOC_LOAD, pfm_ioc_load, reserved32),
		NONE(PFM_IOC_LOAD, pfm_ioc_load, reserved),
		NONE(PFM_IOC_START_SET, pfm_ioc_start, reserved16),
		NONE(PFM_IOC_START_SET, pfm_ioc_start, reserved32),
		NONE(PFM_IOC_START_SET, pfm_ioc_start, reserved),
		NONE(PFM_IOC_CREATE_EVTSETS, pfm_ioc_setdesc, flags),
		NONE(PFM_IOC_CREATE_EVTSETS, pfm_ioc_setdesc, reserved),
		NONE(PFM_IOC_SIGNAL, pfm_ioc_signal, reserved),
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		/* A flag that none of them knows, or any byte. */
		bool flags = cases[i].n == 4 && cases[i].offs < 16;

		for (size_t k = 0; k < (flags ? 1 : cases[i].n); k++) {
			unsigned char in[256] = {0};
			struct command cmd = {0};
			struct packet *p;

			in[cases[i].offs + k] = flags ? 0x40 : 1;
			p = packet(cases[i].cmd, in, 1);
			p->system_wide = true;
			if (packet_next(p, &cmd, &why) != -EINVAL)
				fail_msg("case %u: byte %zu is accepted", i, cases[i].offs + k);
			command_free(&cmd);
			free(p);
		}
	}
}
