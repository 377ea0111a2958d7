// SPDX-License-Identifier: MIT
#include "daemon/command/ioctl.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/command/command_i.h"
#include "perfmonfs/ioctl.h"

_Static_assert((int)CMD_BV == (int)PFM_IOC_BV, "bit vectors are the same");
_Static_assert((int)SET_OVFL_SWITCH == PFM_IOC_SETFL_OVFL_SWITCH, "as perfmon2 has it");
_Static_assert((int)SET_TIME_SWITCH == PFM_IOC_SETFL_TIME_SWITCH, "as perfmon2 has it");
_Static_assert((int)SET_EXPL_NEXT == PFM_IOC_SETFL_EXPL_NEXT, "as perfmon2 has it");

/* Linux has neither more threads nor more CPUs, nor higher signals. */
enum { MAX_TID = 1 << 22, MAX_CPU = 1 << 20, MAX_SIG = 64 };

/* Elements of all vectors have their flags here. */
enum { FLAGS_AT = 4 };
_Static_assert(offsetof(struct pfm_ioc_pmc, flags) == FLAGS_AT, "");
_Static_assert(offsetof(struct pfm_ioc_pmd, flags) == FLAGS_AT, "");
_Static_assert(offsetof(struct pfm_ioc_setdesc, flags) == FLAGS_AT, "");
_Static_assert(offsetof(struct pfm_ioc_setinfo, flags) == FLAGS_AT, "");

#define RETFLS (PFM_IOC_RETFL_NOTAVAIL | PFM_IOC_RETFL_EINVAL | PFM_IOC_RETFL_NOSET)

enum shape {
	ONE,    /* one structure, or nothing */
	TAILED, /* one, and bytes behind it */
	REGS,   /* registers: any number of them, one command for all */
	SETS,   /* event sets: any number of them, a command for each */
};

struct packet_kind {
	unsigned nr; /* but for its size */
	size_t size; /* of the structure */
	enum shape shape;
	bool writes;
	enum cmd_verb verb;
	/* Structure @i into @cmd, or why not; NULL: there is none. */
	int (*decode)(const struct packet *p, unsigned i, struct command *cmd, struct err *e);
	/* And what came of it back, if that is more than flags. */
	void (*encode)(struct packet *p, unsigned i, const struct command *cmd);
};

static void *element(struct packet *p, unsigned i)
{
	return p->bytes + i * p->kind->size;
}

static void get(const struct packet *p, unsigned i, void *structure)
{
	memcpy(structure, p->bytes + i * p->kind->size, p->kind->size);
}

static void put(struct packet *p, unsigned i, const void *structure)
{
	memcpy(element(p, i), structure, p->kind->size);
}

static int check_reserved(const void *reserved, size_t n, struct err *e)
{
	const unsigned char *byte = reserved;

	for (size_t i = 0; i < n; i++)
		if (byte[i])
			return err_set(e, EINVAL, "a reserved field is not 0: clear them all");
	return 0;
}
#define CHECK_RESERVED(field, e) check_reserved(&(field), sizeof(field), e)

static int check_flags(uint32_t flags, uint32_t known, struct err *e)
{
	uint32_t unknown = flags & ~known & ~RETFLS;

	return unknown ? err_set(e, EINVAL, "no flags 0x%x here: clear them", unknown) : 0;
}

/* --- Registers */

static void fill_regset(struct regset *set, const uint64_t bits[PFM_IOC_BV])
{
	memcpy(set->bits, bits, sizeof(set->bits));
}

static unsigned pmd_flags(uint32_t flags)
{
	return (flags & PFM_IOC_REGFL_OVFL_NOTIFY ? PMD_NOTIFY : 0) |
	       (flags & PFM_IOC_REGFL_RANDOM ? PMD_RANDOM : 0) |
	       (flags & PFM_IOC_REGFL_NO_EMUL64 ? PMD_NO64 : 0);
}

static int decode_pmc(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_pmc in;

	get(p, i, &in);
	cmd->regs[i] = (struct cmd_reg){
		.num = in.num,
		.set = in.set,
		.value = in.value,
		.conf.flags = pmd_flags(in.flags),
		.confer = PMD_EMULATION,
	};
	if (check_flags(in.flags, PFM_IOC_REGFL_NO_EMUL64, e) < 0)
		return -e->no;
	return CHECK_RESERVED(in.reserved, e);
}

static int check_pmd(const struct pfm_ioc_pmd *in, uint32_t known, struct err *e)
{
	if (check_flags(in->flags, known, e) < 0 || CHECK_RESERVED(in->reserved32, e) < 0)
		return -e->no;
	return CHECK_RESERVED(in->reserved, e);
}

static int decode_pmc_v06(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known =
		PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM | PFM_IOC_REGFL_NO_EMUL64;
	struct cmd_reg *r = &cmd->regs[i];
	struct pfm_ioc_pmd in;

	get(p, i, &in);
	*r = (struct cmd_reg){
		.num = in.num,
		.set = in.set,
		.value = in.value,
		.conf.flags = pmd_flags(in.flags),
		.conf.eventid = in.smpl_eventid,
		.confer = PMD_NOTICE | PMD_EMULATION,
	};
	fill_regset(&r->conf.reset, in.reset_pmds);
	fill_regset(&r->conf.smpl, in.smpl_pmds);
	return check_pmd(&in, known, e);
}

static int decode_pmd(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known =
		PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM | PFM_IOC_REGFL_KEEP_NOTICE;
	struct cmd_reg *r = &cmd->regs[i];
	struct pfm_ioc_pmd in;

	get(p, i, &in);
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
				.flags = pmd_flags(in.flags),
			},
		.keep = PMD_EMULATION | (in.flags & PFM_IOC_REGFL_KEEP_NOTICE ? PMD_NOTICE : 0),
	};
	fill_regset(&r->conf.reset, in.reset_pmds);
	fill_regset(&r->conf.smpl, in.smpl_pmds);
	return check_pmd(&in, known, e);
}

/* What it had been written with may still stand there: only which one it is matters. */
static int decode_read(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_pmd in;

	(void)e;
	get(p, i, &in);
	cmd->regs[i] = (struct cmd_reg){.pmd = true, .num = in.num, .set = in.set};
	return 0;
}

static void encode_read(struct packet *p, unsigned i, const struct command *cmd)
{
	const struct cmd_reg *r = &cmd->regs[i];
	struct pfm_ioc_pmd out;

	get(p, i, &out);
	out.value = r->value;
	out.last_reset_val = r->last_reset;
	out.ovfl_switch_cnt = r->thresh_left;
	put(p, i, &out);
}

/* --- Event sets */

static int decode_new_set(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t properties =
		PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_TIME_SWITCH | PFM_IOC_SETFL_EXPL_NEXT;
	struct pfm_ioc_setdesc in;

	get(p, i, &in);
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
	if (check_flags(in.flags, properties | PFM_IOC_SETFL_KEEP, e) < 0)
		return -e->no;
	return CHECK_RESERVED(in.reserved, e);
}

static void encode_new_set(struct packet *p, unsigned i, const struct command *cmd)
{
	struct pfm_ioc_setdesc out;

	get(p, i, &out);
	out.timeout = cmd->evtset.timeout_ns;
	put(p, i, &out);
}

static int decode_old_set(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_setdesc in;

	(void)e;
	get(p, i, &in);
	cmd->evtset.id = in.id;
	return 0;
}

static int decode_set_info(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_setinfo in;

	(void)e;
	get(p, i, &in);
	cmd->evtset.id = in.id;
	return 0;
}

static void encode_set_info(struct packet *p, unsigned i, const struct command *cmd)
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
	put(p, i, &out);
}

/* --- Others */

/* The mask of CPUs behind a load; none: wherever the thread may run. */
static int decode_cpus(const struct packet *p, struct command *cmd, struct err *e)
{
	static const struct cpus none;
	size_t size = p->size - p->kind->size;

	if (!size)
		return 0;
	if (size > sizeof(none))
		return err_set(e, EINVAL, "a mask of CPUs has %zu bytes at most, not %zu",
			sizeof(none), size);
	cmd->cpus = calloc(1, sizeof(*cmd->cpus));
	if (!cmd->cpus)
		return err_set(e, ENOMEM, "no memory for the mask of CPUs");
	memcpy(cmd->cpus->bits, p->bytes + p->kind->size, size);
	if (memcmp(cmd->cpus, &none, sizeof(none)) == 0)
		return err_set(e, EINVAL, "no CPU is in the mask: set a bit, or leave it out");
	return 0;
}

static int decode_load_cpu(
	const struct packet *p, const struct pfm_ioc_load *in, struct command *cmd, struct err *e)
{
	if ((in->flags & ~PFM_IOC_LOADFL_TAKEN) || p->size != p->kind->size)
		return err_set(e, EINVAL,
			"flags and a mask of CPUs are for threads: leave them out, or have the "
			"context not system-wide");
	cmd->cpu = in->target < MAX_CPU ? in->target : MAX_CPU;
	return 0;
}

static int decode_load_thread(
	const struct packet *p, const struct pfm_ioc_load *in, struct command *cmd, struct err *e)
{
	if (!in->target || in->target > MAX_TID)
		return err_set(e, in->target ? ESRCH : EINVAL,
			"there is no thread %u: for a CPU, have the context system-wide first",
			in->target);
	cmd->tid = (int)in->target;
	cmd->follow = in->flags & PFM_IOC_LOADFL_FOLLOW;
	cmd->untraced = in->flags & PFM_IOC_LOADFL_UNTRACED;
	if (load_check(cmd, e) < 0)
		return -e->no;
	return decode_cpus(p, cmd, e);
}

static int decode_load(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known =
		PFM_IOC_LOADFL_FOLLOW | PFM_IOC_LOADFL_UNTRACED | PFM_IOC_LOADFL_TAKEN;
	struct pfm_ioc_load in;

	get(p, i, &in);
	if (CHECK_RESERVED(in.reserved16, e) < 0 || CHECK_RESERVED(in.reserved32, e) < 0 ||
		CHECK_RESERVED(in.reserved, e) < 0)
		return -e->no;
	if (in.flags & ~known)
		return err_set(e, EINVAL, "no flags 0x%x here: clear them", in.flags & ~known);
	cmd->set = in.set;
	cmd->has_set = true;
	return p->system_wide ? decode_load_cpu(p, &in, cmd, e)
			      : decode_load_thread(p, &in, cmd, e);
}

/* Two reasons have one error, and who asks may have to tell them apart. */
static void tell_taken(struct packet *p, bool taken)
{
	struct pfm_ioc_load out;
	uint32_t was;

	get(p, 0, &out);
	was = out.flags;
	out.flags = (was & ~PFM_IOC_LOADFL_TAKEN) | (taken ? PFM_IOC_LOADFL_TAKEN : 0);
	if (out.flags == was)
		return;
	put(p, 0, &out);
	p->told = true;
}

_Static_assert((int)CTX_UNLOADED == (int)PFM_IOC_STATE_UNLOADED, "");
_Static_assert((int)CTX_LOADED == (int)PFM_IOC_STATE_LOADED, "");
_Static_assert((int)CTX_RUNNING == (int)PFM_IOC_STATE_RUNNING, "");
_Static_assert((int)CTX_MASKED == (int)PFM_IOC_STATE_MASKED, "");

static void encode_info(struct packet *p, unsigned i, const struct command *cmd)
{
	const struct ctx_info *info = &cmd->info;
	struct pfm_ioc_info out = {
		.number = p->number,
		.flags = (info->flags & CTX_NOTIFY_BLOCK ? PFM_IOC_FL_NOTIFY_BLOCK : 0) |
			 (info->flags & CTX_SYSTEM_WIDE ? PFM_IOC_FL_SYSTEM_WIDE : 0) |
			 (info->flags & CTX_OVFL_NO_MSG ? PFM_IOC_FL_OVFL_NO_MSG : 0),
		.state = info->state,
	};

	if (info->state != CTX_UNLOADED) {
		out.tid = (uint32_t)info->tid;
		out.cpu = info->cpu;
		out.set = info->set;
	}
	put(p, i, &out);
}

static int decode_start_set(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_start in;

	get(p, i, &in);
	if (CHECK_RESERVED(in.reserved16, e) < 0 || CHECK_RESERVED(in.reserved32, e) < 0 ||
		CHECK_RESERVED(in.reserved, e) < 0)
		return -e->no;
	cmd->set = in.set;
	cmd->has_set = true;
	return 0;
}

static int decode_signal(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	struct pfm_ioc_signal in;

	get(p, i, &in);
	if (CHECK_RESERVED(in.reserved, e) < 0)
		return -e->no;
	if (in.sig < 0 || in.sig > MAX_SIG)
		return err_set(e, EINVAL, "there is no signal %d", in.sig);
	if (in.type != PFM_IOC_OWNER_TID && in.type != PFM_IOC_OWNER_PID)
		return err_set(e, EINVAL, "an owner is a thread or a process, not %d", in.type);
	if (in.owner < 0 || in.fd < 0)
		return err_set(e, EINVAL, "owner and fd cannot be negative");
	cmd->sig = in.sig;
	cmd->tid = in.owner;
	cmd->process = in.type == PFM_IOC_OWNER_PID;
	cmd->has_fd = true;
	cmd->fd = in.fd;
	return 0;
}

static int decode_setup(const struct packet *p, unsigned i, struct command *cmd, struct err *e)
{
	const uint32_t known = PFM_IOC_FL_NOTIFY_BLOCK | PFM_IOC_FL_SYSTEM_WIDE |
			       PFM_IOC_FL_OVFL_NO_MSG | PFM_IOC_FL_MAP_SETS;
	struct pfm_ioc_setup in;
	struct slice name;

	get(p, i, &in);
	if (CHECK_RESERVED(in.reserved, e) < 0 || check_flags(in.flags, known, e) < 0)
		return -e->no;
	if (in.arg_size != p->size - sizeof(in))
		return err_set(e, EINVAL,
			"arg_size is %u, but %zu bytes follow the structure: let them agree",
			in.arg_size, p->size - sizeof(in));
	if (!memchr(in.format, '\0', sizeof(in.format)))
		return err_set(e, EINVAL, "the format's name does not end: it takes a NUL");
	name = slice_of(in.format);
	if (!slice_text(&name, false))
		return err_set(e, EINVAL, "a control character is in the format's name");
	cmd->flags = (in.flags & PFM_IOC_FL_NOTIFY_BLOCK ? CTX_NOTIFY_BLOCK : 0) |
		     (in.flags & PFM_IOC_FL_SYSTEM_WIDE ? CTX_SYSTEM_WIDE : 0) |
		     (in.flags & PFM_IOC_FL_OVFL_NO_MSG ? CTX_OVFL_NO_MSG : 0);
	cmd->map_sets = in.flags & PFM_IOC_FL_MAP_SETS;
	return 0;
}

static void encode_setup(struct packet *p, unsigned i, const struct command *cmd)
{
	struct pfm_ioc_setup out;

	(void)cmd;
	get(p, i, &out);
	out.buf_size = p->buf_size;
	out.number = p->number;
	put(p, i, &out);
}

void packet_setup(const struct packet *p, struct slice *format, struct slice *arg)
{
	const char *name = (const char *)p->bytes + offsetof(struct pfm_ioc_setup, format);

	*format = slice_of(name);
	*arg = (struct slice){(const char *)p->bytes + sizeof(struct pfm_ioc_setup),
		p->size - sizeof(struct pfm_ioc_setup)};
}

/* --- All of them */

enum { SIZE_BITS = _IOC_SIZEMASK << _IOC_SIZESHIFT };
#define NR(cmd)               ((unsigned)(cmd) & ~(unsigned)SIZE_BITS)
#define KIND(cmd, type, what) .nr = NR(cmd), .size = sizeof(struct type), .verb = what
#define BARE(cmd, what)       .nr = NR(cmd), .verb = what, .writes = true

static const struct packet_kind kinds[] = {
	{KIND(PFM_IOC_READ_PMDS, pfm_ioc_pmd, CMD_READ), .shape = REGS, .decode = decode_read,
		.encode = encode_read},
	{KIND(PFM_IOC_WRITE_PMCS, pfm_ioc_pmc, CMD_WRITE), .shape = REGS, .writes = true,
		.decode = decode_pmc},
	{KIND(PFM_IOC_WRITE_PMDS, pfm_ioc_pmd, CMD_WRITE), .shape = REGS, .writes = true,
		.decode = decode_pmd},
	{KIND(PFM_IOC_WRITE_PMCS_V06, pfm_ioc_pmd, CMD_WRITE), .shape = REGS, .writes = true,
		.decode = decode_pmc_v06},
	{KIND(PFM_IOC_LOAD, pfm_ioc_load, CMD_LOAD), .shape = TAILED, .writes = true,
		.decode = decode_load},
	{BARE(PFM_IOC_START, CMD_START)},
	{KIND(PFM_IOC_START_SET, pfm_ioc_start, CMD_START), .writes = true,
		.decode = decode_start_set},
	{BARE(PFM_IOC_STOP, CMD_STOP)},
	{BARE(PFM_IOC_RESTART, CMD_RESTART)},
	{BARE(PFM_IOC_UNLOAD, CMD_UNLOAD)},
	{KIND(PFM_IOC_CREATE_EVTSETS, pfm_ioc_setdesc, CMD_EVTSET_NEW), .shape = SETS,
		.writes = true, .decode = decode_new_set, .encode = encode_new_set},
	{KIND(PFM_IOC_DELETE_EVTSETS, pfm_ioc_setdesc, CMD_EVTSET_DELETE), .shape = SETS,
		.writes = true, .decode = decode_old_set},
	{KIND(PFM_IOC_GETINFO_EVTSETS, pfm_ioc_setinfo, CMD_EVTSET_READ), .shape = SETS,
		.decode = decode_set_info, .encode = encode_set_info},
	{KIND(PFM_IOC_SETUP, pfm_ioc_setup, CMD_SETUP), .shape = TAILED, .writes = true,
		.decode = decode_setup, .encode = encode_setup},
	{KIND(PFM_IOC_INFO, pfm_ioc_info, CMD_INFO), .encode = encode_info},
	{KIND(PFM_IOC_SIGNAL, pfm_ioc_signal, CMD_SIGNAL), .writes = true, .decode = decode_signal},
};

enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct packet_kind *find_kind(unsigned nr)
{
	for (const struct packet_kind *k = kinds; k < kinds + NKINDS; k++)
		if (k->nr == NR(nr))
			return k;
	return NULL;
}

static bool fits(const struct packet_kind *k, size_t size)
{
	if (k->shape == ONE)
		return size == k->size;
	return k->shape == TAILED ? size >= k->size : size % k->size == 0;
}

struct packet *packet_new(unsigned nr, const void *bytes, size_t size, struct err *e)
{
	const struct packet_kind *k = find_kind(nr);
	struct packet *p;

	if (!k) {
		err_set(e, ENOTTY, "no such ioctl: see perfmonfs/ioctl.h");
		return NULL;
	}
	if (_IOC_SIZE(nr) != size || !fits(k, size)) {
		err_set(e, EINVAL, "%zu bytes are no structures of %zu: see perfmonfs/ioctl.h",
			size, k->size);
		return NULL;
	}
	p = malloc(sizeof(*p) + size);
	if (!p) {
		err_set(e, ENOMEM, "no memory");
		return NULL;
	}
	*p = (struct packet){.kind = k, .size = size, .n = 1};
	if (k->shape == REGS || k->shape == SETS)
		p->n = (unsigned)(size / k->size);
	if (size)
		memcpy(p->bytes, bytes, size);
	return p;
}

bool packet_writes(const struct packet *p)
{
	return p->kind->writes;
}

static void set_flags(struct packet *p, unsigned i, uint32_t retfl)
{
	unsigned char *at = (unsigned char *)element(p, i) + FLAGS_AT;
	uint32_t flags;

	memcpy(&flags, at, sizeof(flags));
	if ((flags & RETFLS) == retfl)
		return;
	flags = (flags & ~RETFLS) | retfl;
	memcpy(at, &flags, sizeof(flags));
	p->told = true;
}

static void refuse(struct packet *p, unsigned i, enum cmd_fault fault, struct err *e)
{
	static const uint32_t retfl[] = {[FAULT_NOSET] = PFM_IOC_RETFL_NOSET,
		[FAULT_NOTAVAIL] = PFM_IOC_RETFL_NOTAVAIL,
		[FAULT_REFUSED] = PFM_IOC_RETFL_EINVAL};

	set_flags(p, i, retfl[fault]);
	if (fault == FAULT_NOSET || fault == FAULT_NOTAVAIL)
		e->no = EINVAL; /* in files it is a name that does not exist */
	if (p->n > 1)
		err_prefix(e, "element %u", i);
}

/* Up to the first that is none; that one's error follows when the others are done. */
static int next_regs(struct packet *p, struct command *cmd, struct err *e)
{
	cmd->regs = malloc(p->n * sizeof(*cmd->regs));
	if (!cmd->regs)
		return err_set(e, ENOMEM, "no memory for the vector");
	for (; cmd->nregs < p->n; cmd->nregs++)
		if (p->kind->decode(p, cmd->nregs, cmd, &cmd->cut) < 0)
			break;
	if (cmd->nregs)
		return 1;
	*e = cmd->cut;
	refuse(p, 0, FAULT_REFUSED, e);
	return -e->no;
}

int packet_next(struct packet *p, struct command *cmd, struct err *e)
{
	if (p->rc < 0 || p->done == p->n)
		return 0;
	cmd->verb = p->kind->verb;
	if (p->kind->shape == REGS)
		return next_regs(p, cmd, e);
	if (!p->kind->decode || p->kind->decode(p, p->done, cmd, e) == 0)
		return 1;
	if (p->kind->shape == SETS)
		refuse(p, p->done, FAULT_REFUSED, e);
	return -e->no;
}

static void accept(struct packet *p, const struct command *cmd)
{
	if (p->kind->shape == REGS || p->kind->shape == SETS)
		set_flags(p, p->done, 0);
	if (p->kind->encode)
		p->kind->encode(p, p->done, cmd);
	p->done++;
}

/* Which one failed: p->n if it is none of them. */
static unsigned find_fault(const struct packet *p, const struct command *cmd)
{
	for (unsigned i = 0; i < cmd->nregs; i++)
		if (cmd->regs[i].fault)
			return i;
	return cmd->cut.no ? cmd->nregs : p->n;
}

static void take_regs(struct packet *p, const struct command *cmd, struct err *e)
{
	unsigned bad = p->rc < 0 ? find_fault(p, cmd) : p->n;

	if (p->rc < 0 && bad == p->n)
		return; /* of what is done, nothing is known */
	while (p->done < bad)
		accept(p, cmd);
	if (bad < p->n)
		refuse(p, bad, bad < cmd->nregs ? cmd->regs[bad].fault : FAULT_REFUSED, e);
}

void packet_take(struct packet *p, const struct command *cmd, int rc, struct err *e)
{
	p->rc = rc;
	if (p->kind->shape == REGS)
		take_regs(p, cmd, e);
	else if (rc == 0)
		accept(p, cmd);
	else if (p->kind->shape == SETS && cmd->evtset.fault)
		refuse(p, p->done, cmd->evtset.fault, e);
	if (p->kind->verb == CMD_LOAD)
		tell_taken(p, cmd->taken);
	if (rc < 0)
		p->rc = -e->no;
}

struct slice packet_answer(const struct packet *p)
{
	bool back = (_IOC_DIR(p->kind->nr) & _IOC_READ) && (p->kind->encode || p->told);

	return (struct slice){(const char *)p->bytes, back ? p->size : 0};
}
