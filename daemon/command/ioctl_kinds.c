// SPDX-License-Identifier: MIT
/* Converts the structure of each kind of packet to a command, and the result back; the table is at
 * the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/command/command_i.h"
#include "daemon/command/ioctl_i.h"

_Static_assert((int)CMD_BV == (int)PFM_IOC_BV, "bit vectors are the same");
_Static_assert((int)SET_OVFL_SWITCH == PFM_IOC_SETFL_OVFL_SWITCH, "as in perfmon2");
_Static_assert((int)SET_TIME_SWITCH == PFM_IOC_SETFL_TIME_SWITCH, "as in perfmon2");
_Static_assert((int)SET_EXPL_NEXT == PFM_IOC_SETFL_EXPL_NEXT, "as in perfmon2");
_Static_assert((int)SET_EXCL_IDLE == PFM_IOC_SETFL_EXCL_IDLE, "as in perfmon2");

static void ioctl_get(const struct packet *p, unsigned i, void *structure)
{
	memcpy(structure, p->bytes + i * p->kind->size, p->kind->size);
}

static void ioctl_put(struct packet *p, unsigned i, const void *structure)
{
	memcpy(p->bytes + i * p->kind->size, structure, p->kind->size);
}

static int ioctl_check_reserved(const void *reserved, size_t n, struct err *e)
{
	const unsigned char *byte = reserved;

	for (size_t i = 0; i < n; i++)
		if (byte[i])
			return err_set(e, EINVAL, "a reserved field is not 0: clear all of them");
	return 0;
}
#define CHECK_RESERVED(field, e) ioctl_check_reserved(&(field), sizeof(field), e)

static int ioctl_check_flags(uint32_t flags, uint32_t known, struct err *e)
{
	uint32_t unknown = flags & ~known & ~IOCTL_RETFLS;

	return unknown ? err_set(e, EINVAL, "flags 0x%x are not allowed here: clear them", unknown)
		       : 0;
}

/* --- Registers */

static void ioctl_get_regset(struct regset *set, const uint64_t bits[PFM_IOC_BV])
{
	memcpy(set->bits, bits, sizeof(set->bits));
}

/* A flag of the ABI, and the flag of struct command that it stands for. */
struct ioctl_flag {
	uint32_t abi;
	unsigned flag;
};

static const struct ioctl_flag ioctl_pmd_flags[] = {
	{PFM_IOC_REGFL_OVFL_NOTIFY, PMD_NOTIFY},
	{PFM_IOC_REGFL_RANDOM, PMD_RANDOM},
	{PFM_IOC_REGFL_NO_EMUL64, PMD_NO64},
	{0},
};

static const struct ioctl_flag ioctl_ctx_flags[] = {
	{PFM_IOC_FL_NOTIFY_BLOCK, CTX_NOTIFY_BLOCK},
	{PFM_IOC_FL_SYSTEM_WIDE, CTX_SYSTEM_WIDE},
	{PFM_IOC_FL_OVFL_NO_MSG, CTX_OVFL_NO_MSG},
	{0},
};

static unsigned ioctl_get_flags(const struct ioctl_flag *f, uint32_t abi)
{
	unsigned flags = 0;

	for (; f->abi; f++)
		flags |= abi & f->abi ? f->flag : 0;
	return flags;
}

static uint32_t ioctl_put_flags(const struct ioctl_flag *f, unsigned flags)
{
	uint32_t abi = 0;

	for (; f->abi; f++)
		abi |= flags & f->flag ? f->abi : 0;
	return abi;
}

static int ioctl_decode_pmc(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_pmc in;

	ioctl_get(p, i, &in);
	cmd->vector.regs[i] = (struct cmd_reg){
		.num = in.num,
		.set = in.set,
		.value = in.value,
		.conf.flags = ioctl_get_flags(ioctl_pmd_flags, in.flags),
		.confer = PMD_EMULATION,
	};
	if (ioctl_check_flags(in.flags, PFM_IOC_REGFL_NO_EMUL64, e) < 0)
		return -e->no;
	return CHECK_RESERVED(in.reserved, e);
}

static int ioctl_check_pmd(const struct pfm_ioc_pmd *in, uint32_t known, struct err *e)
{
	if (ioctl_check_flags(in->flags, known, e) < 0 || CHECK_RESERVED(in->reserved32, e) < 0)
		return -e->no;
	return CHECK_RESERVED(in->reserved, e);
}

static int ioctl_decode_pmc_v06(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known =
		PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM | PFM_IOC_REGFL_NO_EMUL64;
	struct cmd_reg *r = &cmd->vector.regs[i];
	struct pfm_ioc_pmd in;

	ioctl_get(p, i, &in);
	*r = (struct cmd_reg){
		.num = in.num,
		.set = in.set,
		.value = in.value,
		.conf.flags = ioctl_get_flags(ioctl_pmd_flags, in.flags),
		.conf.eventid = in.smpl_eventid,
		.confer = PMD_NOTICE | PMD_EMULATION,
	};
	ioctl_get_regset(&r->conf.reset, in.reset_pmds);
	ioctl_get_regset(&r->conf.smpl, in.smpl_pmds);
	return ioctl_check_pmd(&in, known, e);
}

static int ioctl_decode_pmd(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known = PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM |
			       PFM_IOC_REGFL_KEEP_NOTICE | PFM_IOC_REGFL_KEEP_RESET;
	struct cmd_reg *r = &cmd->vector.regs[i];
	struct pfm_ioc_pmd in;

	ioctl_get(p, i, &in);
	*r = (struct cmd_reg){
		.pmd = true,
		.num = in.num,
		.set = in.set,
		.value = in.value,
		.conf =
			{
				.long_reset = in.long_reset,
				.short_reset = in.short_reset,
				.thresh = in.ovfl_switch_cnt,
				.mask = in.random_mask,
				.seed = in.random_seed,
				.eventid = in.smpl_eventid,
				.flags = ioctl_get_flags(ioctl_pmd_flags, in.flags),
			},
		.keep = PMD_EMULATION | (in.flags & PFM_IOC_REGFL_KEEP_NOTICE ? PMD_NOTICE : 0),
		.keep_reset = in.flags & PFM_IOC_REGFL_KEEP_RESET,
	};
	ioctl_get_regset(&r->conf.reset, in.reset_pmds);
	ioctl_get_regset(&r->conf.smpl, in.smpl_pmds);
	return ioctl_check_pmd(&in, known, e);
}

/* Only the number and the set matter; other fields may still contain what was written before. */
static int ioctl_decode_read(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_pmd in;

	(void)e;
	ioctl_get(p, i, &in);
	cmd->vector.regs[i] = (struct cmd_reg){.pmd = true, .num = in.num, .set = in.set};
	return 0;
}

static int ioctl_decode_read_reset(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_pmd in;

	ioctl_get(p, i, &in);
	ioctl_decode_read(p, i, cmd, e);
	cmd->vector.regs[i].resets = in.flags & PFM_IOC_REGFL_READ_RESET;
	return ioctl_check_flags(in.flags, PFM_IOC_REGFL_READ_RESET, e);
}

static void ioctl_encode_read(struct packet *p, unsigned i, const struct command *cmd)
{
	const struct cmd_reg *r = &cmd->vector.regs[i];
	struct pfm_ioc_pmd out;

	ioctl_get(p, i, &out);
	out.value = r->value;
	out.last_reset_val = r->last_reset;
	out.ovfl_switch_cnt = r->thresh_left;
	ioctl_put(p, i, &out);
}

/* --- Event sets */

static int ioctl_decode_create_set(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t properties = PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_TIME_SWITCH |
				    PFM_IOC_SETFL_EXPL_NEXT | PFM_IOC_SETFL_EXCL_IDLE;
	struct pfm_ioc_setdesc in;

	ioctl_get(p, i, &in);
	cmd->evtset = (struct cmd_evtset){
		.id = in.id,
		.there = in.flags & PFM_IOC_SETFL_KEEP ? EVTSET_KEEP : EVTSET_RENEW,
		.change = EVTSET_FLAGS | EVTSET_NEXT,
		.flags = in.flags & properties,
		.next = in.id_next,
		.has_next = in.flags & PFM_IOC_SETFL_EXPL_NEXT,
		.timeout_ns = in.timeout,
	};
	if (in.timeout || (in.flags & PFM_IOC_SETFL_TIME_SWITCH))
		cmd->evtset.change |= EVTSET_TIMEOUT;
	if (ioctl_check_flags(in.flags, properties | PFM_IOC_SETFL_KEEP, e) < 0)
		return -e->no;
	return CHECK_RESERVED(in.reserved, e);
}

static void ioctl_encode_create_set(struct packet *p, unsigned i, const struct command *cmd)
{
	struct pfm_ioc_setdesc out;

	ioctl_get(p, i, &out);
	out.timeout = cmd->evtset.timeout_ns;
	ioctl_put(p, i, &out);
}

_Static_assert(offsetof(struct pfm_ioc_setdesc, id) == offsetof(struct pfm_ioc_setinfo, id), "");
_Static_assert(
	offsetof(struct pfm_ioc_setdesc, flags) == offsetof(struct pfm_ioc_setinfo, flags), "");

/* Only the id matters; the other fields are results. */
static int ioctl_decode_set_id(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const unsigned char *set = p->bytes + i * p->kind->size;
	uint32_t flags;

	memcpy(&cmd->evtset.id, set + offsetof(struct pfm_ioc_setdesc, id), sizeof(cmd->evtset.id));
	memcpy(&flags, set + offsetof(struct pfm_ioc_setdesc, flags), sizeof(flags));
	/* Other flags are ignored, as by kernels. */
	if ((flags & ~IOCTL_RETFLS) == PFM_IOC_FL_REFUSED)
		return err_set(e, EINVAL, "unknown flags are set: clear them");
	return 0;
}

static void ioctl_encode_set_info(struct packet *p, unsigned i, const struct command *cmd)
{
	const struct cmd_evtset *c = &cmd->evtset;
	struct pfm_ioc_setinfo out = {
		.id = c->id,
		.id_next = c->next,
		.flags = c->flags,
		.runs = c->runs,
		.timeout = c->remaining_ns,
		.act_duration = c->active_ns,
		.cookie = p->cookie,
	};

	memcpy(out.ovfl_pmds, c->switch_pmds.bits, sizeof(out.ovfl_pmds));
	memcpy(out.avail_pmcs, c->pmcs.bits, sizeof(out.avail_pmcs));
	memcpy(out.avail_pmds, c->pmds.bits, sizeof(out.avail_pmds));
	ioctl_put(p, i, &out);
}

/* --- Others */

/* Decodes the CPU mask after a load's structure. None: all CPUs that the thread may run on. */
static int ioctl_decode_cpus(const struct packet *p, struct command *cmd, struct err *e)
{
	static const struct cpus none;
	size_t size = p->size - p->kind->size;

	if (!size)
		return 0;
	if (size > sizeof(none))
		return err_set(
			e, EINVAL, "a CPU mask has at most %zu bytes, not %zu", sizeof(none), size);
	cmd->load.cpus = calloc(1, sizeof(*cmd->load.cpus));
	if (!cmd->load.cpus)
		return err_set(e, ENOMEM, "no memory for the CPU mask");
	memcpy(cmd->load.cpus->bits, p->bytes + p->kind->size, size);
	if (memcmp(cmd->load.cpus, &none, sizeof(none)) == 0)
		return err_set(e, EINVAL, "the CPU mask is empty: set a bit, or leave it out");
	return 0;
}

static int ioctl_decode_load_cpu(
	const struct packet *p, const struct pfm_ioc_load *in, struct command *cmd, struct err *e)
{
	if ((in->flags & ~PFM_IOC_LOADFL_TAKEN) || p->size != p->kind->size)
		return err_set(e, EINVAL,
			"flags and a CPU mask need a thread: leave them out, or do not make the "
			"context system-wide");
	cmd->load.cpu = in->target < MAX_CPU ? in->target : MAX_CPU;
	return 0;
}

static int ioctl_decode_load_thread(
	const struct packet *p, const struct pfm_ioc_load *in, struct command *cmd, struct err *e)
{
	if (!in->target || in->target > MAX_TID)
		return err_set(e, in->target ? ESRCH : EINVAL,
			"there is no thread %u; to load on a CPU, make the context system-wide "
			"first",
			in->target);
	cmd->tid = (int)in->target;
	cmd->load.follow = in->flags & PFM_IOC_LOADFL_FOLLOW;
	cmd->load.untraced = in->flags & PFM_IOC_LOADFL_UNTRACED;
	cmd->load.process = in->flags & PFM_IOC_LOADFL_PROCESS;
	if (command_check_load(cmd, e) < 0)
		return -e->no;
	return ioctl_decode_cpus(p, cmd, e);
}

static int ioctl_decode_load(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known = PFM_IOC_LOADFL_FOLLOW | PFM_IOC_LOADFL_UNTRACED |
			       PFM_IOC_LOADFL_PROCESS | PFM_IOC_LOADFL_TAKEN;
	struct pfm_ioc_load in;

	ioctl_get(p, i, &in);
	if (CHECK_RESERVED(in.reserved16, e) < 0 || CHECK_RESERVED(in.reserved32, e) < 0 ||
		CHECK_RESERVED(in.reserved, e) < 0)
		return -e->no;
	if (in.flags & ~known)
		return err_set(e, EINVAL, "flags 0x%x are not allowed here: clear them",
			in.flags & ~known);
	cmd->set = in.set;
	cmd->has_set = true;
	return p->system_wide ? ioctl_decode_load_cpu(p, &in, cmd, e)
			      : ioctl_decode_load_thread(p, &in, cmd, e);
}

_Static_assert((int)CTX_UNLOADED == (int)PFM_IOC_STATE_UNLOADED, "");
_Static_assert((int)CTX_LOADED == (int)PFM_IOC_STATE_LOADED, "");
_Static_assert((int)CTX_RUNNING == (int)PFM_IOC_STATE_RUNNING, "");
_Static_assert((int)CTX_MASKED == (int)PFM_IOC_STATE_MASKED, "");

static void ioctl_encode_info(struct packet *p, unsigned i, const struct command *cmd)
{
	const struct ctx_info *info = &cmd->info;
	struct pfm_ioc_info out = {
		.number = p->number,
		.flags = ioctl_put_flags(ioctl_ctx_flags, info->flags),
		.state = info->state,
	};

	if (info->state != CTX_UNLOADED) {
		out.tid = (uint32_t)info->tid;
		out.cpu = info->cpu;
		out.set = info->set;
	}
	ioctl_put(p, i, &out);
}

static int ioctl_decode_start_set(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_start in;

	ioctl_get(p, i, &in);
	if (CHECK_RESERVED(in.reserved16, e) < 0 || CHECK_RESERVED(in.reserved32, e) < 0 ||
		CHECK_RESERVED(in.reserved, e) < 0)
		return -e->no;
	cmd->set = in.set;
	cmd->has_set = true;
	return 0;
}

static int ioctl_decode_signal(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_signal in;

	ioctl_get(p, i, &in);
	if (CHECK_RESERVED(in.reserved, e) < 0)
		return -e->no;
	if (in.sig < 0 || in.sig > MAX_SIG)
		return err_set(e, EINVAL, "there is no signal %d", in.sig);
	if (in.type != PFM_IOC_OWNER_TID && in.type != PFM_IOC_OWNER_PID)
		return err_set(e, EINVAL, "there is no type %d of owner: use a thread or a process",
			in.type);
	if (in.owner < 0 || in.fd < 0)
		return err_set(e, EINVAL, "owner and fd cannot be negative");
	cmd->signal.sig = in.sig;
	cmd->tid = in.owner;
	cmd->signal.process = in.type == PFM_IOC_OWNER_PID;
	cmd->signal.has_fd = true;
	cmd->signal.fd = in.fd;
	return 0;
}

static int ioctl_decode_setup(
	const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known = PFM_IOC_FL_NOTIFY_BLOCK | PFM_IOC_FL_SYSTEM_WIDE |
			       PFM_IOC_FL_OVFL_NO_MSG | PFM_IOC_FL_MAP_SETS;
	struct pfm_ioc_setup in;
	struct slice name;

	ioctl_get(p, i, &in);
	if (CHECK_RESERVED(in.reserved, e) < 0 || ioctl_check_flags(in.flags, known, e) < 0)
		return -e->no;
	if (in.arg_size != p->size - sizeof(in))
		return err_set(e, EINVAL,
			"arg_size is %u, but %zu bytes follow the structure: correct one of them",
			in.arg_size, p->size - sizeof(in));
	if (!memchr(in.format, '\0', sizeof(in.format)))
		return err_set(e, EINVAL, "the format's name is not terminated: add a NUL");
	name = slice_of(in.format);
	if (!slice_text(&name, false))
		return err_set(
			e, EINVAL, "the format's name contains a control character: remove it");
	cmd->setup.flags = ioctl_get_flags(ioctl_ctx_flags, in.flags);
	cmd->setup.map_sets = in.flags & PFM_IOC_FL_MAP_SETS;
	return 0;
}

static void ioctl_encode_setup(struct packet *p, unsigned i, const struct command *cmd)
{
	struct pfm_ioc_setup out;

	(void)cmd;
	ioctl_get(p, i, &out);
	out.buf_size = p->buf_size;
	out.number = p->number;
	ioctl_put(p, i, &out);
}

/* --- The table */

enum { SIZE_BITS = _IOC_SIZEMASK << _IOC_SIZESHIFT };
#define NR(cmd) ((unsigned)(cmd) & ~(unsigned)SIZE_BITS)
#define KIND(cmd, tag, what)                                                                       \
	.nr = NR(cmd), .size = sizeof(struct tag), .verb = what, .name = #cmd, .type = #tag
#define BARE(cmd, what) .nr = NR(cmd), .verb = what, .writes = true, .name = #cmd

static const struct packet_kind ioctl_kinds[] = {
	{KIND(PFM_IOC_READ_PMDS, pfm_ioc_pmd, CMD_READ), .shape = PACKET_REGS,
		.decode = ioctl_decode_read, .encode = ioctl_encode_read},
	{KIND(PFM_IOC_READ_RESET_PMDS, pfm_ioc_pmd, CMD_READ), .shape = PACKET_REGS, .writes = true,
		.decode = ioctl_decode_read_reset, .encode = ioctl_encode_read},
	{KIND(PFM_IOC_WRITE_PMCS, pfm_ioc_pmc, CMD_WRITE), .shape = PACKET_REGS, .writes = true,
		.decode = ioctl_decode_pmc},
	{KIND(PFM_IOC_WRITE_PMDS, pfm_ioc_pmd, CMD_WRITE), .shape = PACKET_REGS, .writes = true,
		.decode = ioctl_decode_pmd},
	{KIND(PFM_IOC_WRITE_PMCS_V06, pfm_ioc_pmd, CMD_WRITE), .shape = PACKET_REGS, .writes = true,
		.decode = ioctl_decode_pmc_v06},
	{KIND(PFM_IOC_LOAD, pfm_ioc_load, CMD_LOAD), .shape = PACKET_TAILED, .writes = true,
		.decode = ioctl_decode_load},
	{BARE(PFM_IOC_START, CMD_START)},
	{KIND(PFM_IOC_START_SET, pfm_ioc_start, CMD_START), .writes = true,
		.decode = ioctl_decode_start_set},
	{BARE(PFM_IOC_STOP, CMD_STOP)},
	{BARE(PFM_IOC_RESTART, CMD_RESTART)},
	{BARE(PFM_IOC_UNLOAD, CMD_UNLOAD)},
	{KIND(PFM_IOC_CREATE_EVTSETS, pfm_ioc_setdesc, CMD_EVTSET_NEW), .shape = PACKET_SETS,
		.writes = true, .decode = ioctl_decode_create_set,
		.encode = ioctl_encode_create_set},
	{KIND(PFM_IOC_DELETE_EVTSETS, pfm_ioc_setdesc, CMD_EVTSET_DELETE), .shape = PACKET_SETS,
		.writes = true, .decode = ioctl_decode_set_id},
	{KIND(PFM_IOC_GETINFO_EVTSETS, pfm_ioc_setinfo, CMD_EVTSET_READ), .shape = PACKET_SETS,
		.decode = ioctl_decode_set_id, .encode = ioctl_encode_set_info},
	{KIND(PFM_IOC_SETUP, pfm_ioc_setup, CMD_SETUP), .shape = PACKET_TAILED, .writes = true,
		.decode = ioctl_decode_setup, .encode = ioctl_encode_setup},
	{KIND(PFM_IOC_INFO, pfm_ioc_info, CMD_INFO), .encode = ioctl_encode_info},
	{KIND(PFM_IOC_SIGNAL, pfm_ioc_signal, CMD_SIGNAL), .writes = true,
		.decode = ioctl_decode_signal},
};

enum { NKINDS = sizeof(ioctl_kinds) / sizeof(ioctl_kinds[0]) };

const struct packet_kind *ioctl_find_kind(unsigned nr)
{
	for (const struct packet_kind *k = ioctl_kinds; k < ioctl_kinds + NKINDS; k++)
		if (k->nr == NR(nr))
			return k;
	return NULL;
}

void packet_describe_kinds(struct text *out)
{
	static const char *const shapes[] = {[PACKET_ONE] = "one",
		[PACKET_TAILED] = "tailed",
		[PACKET_REGS] = "vector",
		[PACKET_SETS] = "vector"};

	text_printf(out, "\"ioctls\":[");
	for (const struct packet_kind *k = ioctl_kinds; k < ioctl_kinds + NKINDS; k++) {
		text_printf(out, "%s\n{\"name\":\"%s\",\"number\":%u", k == ioctl_kinds ? "" : ",",
			k->name, k->nr | (unsigned)k->size << _IOC_SIZESHIFT);
		if (k->type)
			text_printf(out, ",\"struct\":\"%s\",\"shape\":\"%s\"", k->type,
				shapes[k->shape]);
		text_printf(out, ",\"writes\":%s}", k->writes ? "true" : "false");
	}
	text_printf(out, "\n]");
}
