// SPDX-License-Identifier: MIT
/*
 * Packets of the clone file: the ioctl's number, then its bytes. For every input, the number of
 * commands is bounded, each element that is done is answered, the first that fails has an error,
 * and the answer has the size of the input.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/command/command.h"
#include "daemon/command/ioctl.h"
#include "perfmonfs/ioctl.h"

enum { MOST = PFM_IOC_SIZE_MAX / sizeof(struct pfm_ioc_pmc) };

static void check_regs(const struct command *cmd)
{
	CHECK(cmd->vector.nregs > 0 && cmd->vector.nregs <= MOST);
	for (unsigned i = 0; i < cmd->vector.nregs; i++) {
		const struct cmd_reg *r = &cmd->vector.regs[i];

		CHECK(r->pmd ? !r->confer : !r->keep);
		CHECK(!(r->conf.flags & ~(unsigned)(PMD_NOTIFY | PMD_RANDOM | PMD_NO64)));
		CHECK(!r->fault);
	}
	CHECK(!cmd->vector.cut.no || cmd->vector.cut.no == EINVAL);
}

static void check_setup(const struct packet *p)
{
	struct slice format, arg;

	packet_setup(p, &format, &arg);
	CHECK(format.n < PFM_IOC_FORMAT_MAX);
	CHECK(arg.n + sizeof(struct pfm_ioc_setup) == p->size);
}

static void check_command(const struct packet *p, const struct command *cmd)
{
	switch (cmd->verb) {
	case CMD_WRITE:
	case CMD_READ:
		check_regs(cmd);
		break;
	case CMD_SETUP:
		check_setup(p);
		break;
	case CMD_SIGNAL:
		CHECK(cmd->signal.sig >= 0 && cmd->signal.sig <= 64 && cmd->tid >= 0 &&
			cmd->signal.fd >= 0);
		break;
	case CMD_LOAD:
		CHECK(cmd->has_set && (p->system_wide ? !cmd->tid : cmd->tid > 0));
		CHECK(!(cmd->load.follow && cmd->load.untraced) && !cmd->load.taken);
		CHECK(!p->system_wide ||
			!(cmd->load.follow || cmd->load.untraced || cmd->load.cpus));
		break;
	default:
		break;
	}
}

/* The core's result, chosen by the bytes of the input. */
static int outcome(struct command *cmd, uint8_t byte, struct err *e)
{
	if (cmd->vector.cut.no) {
		*e = cmd->vector.cut;
		return -e->no;
	}
	if (byte % 4)
		return 0;
	if (cmd->vector.nregs)
		cmd->vector.regs[byte % cmd->vector.nregs].fault = FAULT_NOSET;
	cmd->evtset.fault = FAULT_NOSET;
	cmd->load.taken = byte % 8;
	return err_set(e, ENOENT, "no such thing");
}

static void run(struct packet *p, struct slice bytes)
{
	unsigned commands = 0;

	for (;;) {
		struct command cmd = {0};
		struct err e = {0};
		int rc = packet_next(p, &cmd, &e);

		if (rc < 0)
			check_refusal(rc, &e);
		if (rc <= 0) {
			command_free(&cmd);
			break;
		}
		CHECK(++commands <= MOST);
		check_command(p, &cmd);
		rc = outcome(&cmd, bytes.n ? (uint8_t)bytes.p[commands % bytes.n] : 1, &e);
		packet_take(p, &cmd, rc, &e);
		if (rc < 0)
			check_refusal(-e.no, &e);
		command_free(&cmd);
	}
	CHECK(p->done <= p->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice bytes, answer;
	struct packet *p;
	struct err e;
	unsigned nr;

	if (size < sizeof(nr))
		return 0;
	memcpy(&nr, data, sizeof(nr));
	bytes = slice_of_input(data + sizeof(nr), size - sizeof(nr));
	/* As in the kernel, the number contains the size. */
	if (bytes.n > PFM_IOC_SIZE_MAX)
		return 0;
	nr = (nr & ~((unsigned)_IOC_SIZEMASK << _IOC_SIZESHIFT)) | (unsigned)bytes.n
									   << _IOC_SIZESHIFT;
	p = packet_new(nr, bytes.p, bytes.n, &e);
	if (!p) {
		check_refusal(-e.no, &e);
		CHECK(e.no == ENOTTY || e.no == EINVAL);
		return 0;
	}
	p->system_wide = size % 2;
	run(p, bytes);
	answer = packet_answer(p);
	CHECK(!answer.n || answer.n == bytes.n);
	free(p);
	return 0;
}
