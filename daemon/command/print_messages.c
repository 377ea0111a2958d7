// SPDX-License-Identifier: MIT
#include "daemon/command/command_i.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static_assert((int)PFM_MSG_BV == (int)CMD_BV, "the PMDs of a message are a regset");

/* The thread that ran, and its instruction pointer. Thread 0 is the idle thread, or unknown. */
static void print_thread(const struct pfm_msg *m, struct text *out)
{
	if (m->tid)
		text_printf(out, " pid=%" PRIu32 " tid=%" PRIu32, m->pid, m->tid);
	if (m->ip)
		text_printf(out, " %s=0x%" PRIx64,
			m->pmds[PFM_MSG_BV - 1] & PFM_MSG_EARLIER ? "earlier_ip" : "ip", m->ip);
	text_printf(out, "\n");
}

static void print_pmds(const char *what, const struct pfm_msg *m, struct text *out)
{
	struct regset pmds;

	memcpy(pmds.bits, m->pmds, sizeof(pmds.bits));
	pmds.bits[PFM_MSG_BV - 1] &= ~PFM_MSG_EARLIER;
	text_printf(out, "%s cpu=%u set=%u pmds=", what, m->cpu, m->set);
	regset_print(&pmds, out);
	print_thread(m, out);
}

static void print_message(const struct pfm_msg *m, struct text *out)
{
	switch (m->type) {
	case PFM_MSG_OVFL:
		print_pmds("overflow", m, out);
		break;
	case PFM_MSG_THROTTLE:
		print_pmds("throttle", m, out);
		break;
	case PFM_MSG_COUNT_LOST:
		print_pmds("count_lost", m, out);
		break;
	case PFM_MSG_GAP:
		print_pmds("gap", m, out);
		break;
	case PFM_MSG_SMPL_DROPPED:
		text_printf(out, "samples_dropped cpu=%u set=%u", m->cpu, m->set);
		print_thread(m, out);
		break;
	case PFM_MSG_LOST:
		text_printf(out, "lost count=%" PRIu64 "\n", m->count);
		break;
	case PFM_MSG_END:
		text_printf(out, "end");
		print_thread(m, out);
		break;
	default:
		text_printf(out, "type=0x%" PRIx32 "\n", m->type);
		break;
	}
}

void command_print_events(const struct pfm_msg *msgs, unsigned n, struct text *out)
{
	for (unsigned i = 0; i < n; i++)
		print_message(&msgs[i], out);
}
