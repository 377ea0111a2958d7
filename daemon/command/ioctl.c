// SPDX-License-Identifier: MIT
/* Converts a packet to commands, and their results to the packet that is returned. */
#include "daemon/command/ioctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/command/ioctl_i.h"

/* The offset of the flags in the elements of all vectors. */
enum { FLAGS_AT = 4 };
_Static_assert(offsetof(struct pfm_ioc_pmc, flags) == FLAGS_AT, "");
_Static_assert(offsetof(struct pfm_ioc_pmd, flags) == FLAGS_AT, "");
_Static_assert(offsetof(struct pfm_ioc_setdesc, flags) == FLAGS_AT, "");
_Static_assert(offsetof(struct pfm_ioc_setinfo, flags) == FLAGS_AT, "");

static bool ioctl_size_fits(const struct packet_kind *k, size_t size)
{
	if (k->shape == PACKET_ONE)
		return size == k->size;
	return k->shape == PACKET_TAILED ? size >= k->size : size % k->size == 0;
}

struct packet *packet_new(unsigned nr, const void *bytes, size_t size, struct err *e)
{
	const struct packet_kind *k = ioctl_find_kind(nr);
	struct packet *p;

	if (!k) {
		err_set(e, ENOTTY, "this ioctl does not exist: see perfmonfs/ioctl.h");
		return NULL;
	}
	if (_IOC_SIZE(nr) != size || !ioctl_size_fits(k, size)) {
		err_set(e, EINVAL,
			"%zu bytes are not a whole number of structures of %zu bytes: see "
			"perfmonfs/ioctl.h",
			size, k->size);
		return NULL;
	}
	p = malloc(sizeof(*p) + size);
	if (!p) {
		err_set(e, ENOMEM, "no memory");
		return NULL;
	}
	*p = (struct packet){.kind = k, .size = size, .n = 1};
	if (k->shape == PACKET_REGS || k->shape == PACKET_SETS)
		p->n = (unsigned)(size / k->size);
	if (size)
		memcpy(p->bytes, bytes, size);
	return p;
}

void packet_setup(const struct packet *p, struct slice *format, struct slice *arg)
{
	const char *name = (const char *)p->bytes + offsetof(struct pfm_ioc_setup, format);

	*format = slice_of(name);
	*arg = (struct slice){(const char *)p->bytes + sizeof(struct pfm_ioc_setup),
		p->size - sizeof(struct pfm_ioc_setup)};
}

bool packet_writes(const struct packet *p)
{
	return p->kind->writes;
}

static void ioctl_set_retfl(struct packet *p, unsigned i, uint32_t retfl)
{
	unsigned char *at = p->bytes + i * p->kind->size + FLAGS_AT;
	uint32_t flags;

	memcpy(&flags, at, sizeof(flags));
	if ((flags & IOCTL_RETFLS) == retfl)
		return;
	flags = (flags & ~IOCTL_RETFLS) | retfl;
	memcpy(at, &flags, sizeof(flags));
	p->flags_changed = true;
}

static void ioctl_refuse(struct packet *p, unsigned i, enum cmd_fault fault, struct err *e)
{
	static const uint32_t retfl[] = {[FAULT_NOSET] = PFM_IOC_RETFL_NOSET,
		[FAULT_NOTAVAIL] = PFM_IOC_RETFL_NOTAVAIL,
		[FAULT_REFUSED] = PFM_IOC_RETFL_EINVAL};

	ioctl_set_retfl(p, i, retfl[fault]);
	if (fault == FAULT_NOSET || fault == FAULT_NOTAVAIL)
		e->no = EINVAL; /* The core's ENOENT is for files. */
	if (p->n > 1)
		err_prefix(e, "element %u", i);
}

/* Decodes registers up to the first that is invalid, whose error is reported after the others are
 * done. */
static int ioctl_next_regs(struct packet *p, struct command *cmd, struct err *e)
{
	cmd->vector.regs = malloc(p->n * sizeof(*cmd->vector.regs));
	if (!cmd->vector.regs)
		return err_set(e, ENOMEM, "no memory for the vector");
	for (; cmd->vector.nregs < p->n; cmd->vector.nregs++)
		if (p->kind->decode(p, cmd->vector.nregs, cmd, &cmd->vector.cut) < 0)
			break;
	if (cmd->vector.nregs)
		return 1;
	*e = cmd->vector.cut;
	ioctl_refuse(p, 0, FAULT_REFUSED, e);
	return -e->no;
}

int packet_next(struct packet *p, struct command *cmd, struct err *e)
{
	if (p->rc < 0 || p->done == p->n)
		return 0;
	cmd->verb = p->kind->verb;
	if (p->kind->shape == PACKET_REGS)
		return ioctl_next_regs(p, cmd, e);
	if (!p->kind->decode || p->kind->decode(p, p->done, cmd, e) == 0)
		return 1;
	if (p->kind->shape == PACKET_SETS)
		ioctl_refuse(p, p->done, FAULT_REFUSED, e);
	return -e->no;
}

static void ioctl_accept(struct packet *p, const struct command *cmd)
{
	if (p->kind->shape == PACKET_REGS || p->kind->shape == PACKET_SETS)
		ioctl_set_retfl(p, p->done, 0);
	if (p->kind->encode)
		p->kind->encode(p, p->done, cmd);
	p->done++;
}

/* The element that failed; p->n: none. */
static unsigned ioctl_find_fault(const struct packet *p, const struct command *cmd)
{
	for (unsigned i = 0; i < cmd->vector.nregs; i++)
		if (cmd->vector.regs[i].fault)
			return i;
	return cmd->vector.cut.no ? cmd->vector.nregs : p->n;
}

static void ioctl_take_regs(struct packet *p, const struct command *cmd, struct err *e)
{
	unsigned bad = p->rc < 0 ? ioctl_find_fault(p, cmd) : p->n;

	if (p->rc < 0 && bad == p->n)
		return; /* It is unknown which elements took effect. */
	while (p->done < bad)
		ioctl_accept(p, cmd);
	if (bad < p->n)
		ioctl_refuse(p, bad,
			bad < cmd->vector.nregs ? cmd->vector.regs[bad].fault : FAULT_REFUSED, e);
}

/* The error of a load has two possible causes; this flag tells which. */
static void ioctl_set_taken(struct packet *p, bool taken)
{
	struct pfm_ioc_load out;
	uint32_t was;

	memcpy(&out, p->bytes, sizeof(out));
	was = out.flags;
	out.flags = (was & ~PFM_IOC_LOADFL_TAKEN) | (taken ? PFM_IOC_LOADFL_TAKEN : 0);
	if (out.flags == was)
		return;
	memcpy(p->bytes, &out, sizeof(out));
	p->flags_changed = true;
}

void packet_take(struct packet *p, const struct command *cmd, int rc, struct err *e)
{
	p->rc = rc;
	if (p->kind->shape == PACKET_REGS)
		ioctl_take_regs(p, cmd, e);
	else if (rc == 0)
		ioctl_accept(p, cmd);
	else if (p->kind->shape == PACKET_SETS && cmd->evtset.fault)
		ioctl_refuse(p, p->done, cmd->evtset.fault, e);
	if (!p->note.text[0])
		p->note = cmd->note;
	if (p->kind->verb == CMD_LOAD)
		ioctl_set_taken(p, cmd->load.taken);
	if (rc < 0)
		p->rc = -e->no;
}

struct slice packet_answer(const struct packet *p)
{
	bool back = (_IOC_DIR(p->kind->nr) & _IOC_READ) && (p->kind->encode || p->flags_changed);

	return (struct slice){(const char *)p->bytes, back ? p->size : 0};
}
