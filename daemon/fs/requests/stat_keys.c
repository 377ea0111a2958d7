// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/stat_keys.h"

#include <stddef.h>

#include "daemon/fs/requests/audit_log.h"
#include "daemon/fs/tree/fs_state.h"

#define STAT_VALUE(name, expression)                                                               \
	static uint64_t stat_##name(struct fs *fs)                                                 \
	{                                                                                          \
		return expression;                                                                 \
	}

STAT_VALUE(requests, fs->requests)
STAT_VALUE(commands, atomic_load(&engine_stats(fs->eng)->commands))
STAT_VALUE(register_reads, atomic_load(&fs->be->stats.reads))
STAT_VALUE(register_writes, atomic_load(&fs->be->stats.writes))
STAT_VALUE(polls, atomic_load(&engine_stats(fs->eng)->polls))
STAT_VALUE(stolen, atomic_load(&engine_stats(fs->eng)->exec.stolen))
STAT_VALUE(leapt, atomic_load(&engine_stats(fs->eng)->exec.leapt))
STAT_VALUE(switches, atomic_load(&engine_stats(fs->eng)->exec.switches))
STAT_VALUE(overflows, atomic_load(&engine_stats(fs->eng)->exec.overflows))
STAT_VALUE(messages_lost, atomic_load(&engine_stats(fs->eng)->exec.messages_lost))
STAT_VALUE(attribution_lost, atomic_load(&engine_stats(fs->eng)->exec.attribution_lost))
STAT_VALUE(passthrough, fs->passthrough)
STAT_VALUE(contexts, fs->objects.count)
STAT_VALUE(workers, engine_stats(fs->eng)->workers)
STAT_VALUE(ctxsw_threads, engine_stats(fs->eng)->ctxsw_threads)
STAT_VALUE(threads, engine_stats(fs->eng)->threads)
STAT_VALUE(ctxsw_in, atomic_load(&engine_stats(fs->eng)->ctxsw_in))
STAT_VALUE(ctxsw_out, atomic_load(&engine_stats(fs->eng)->ctxsw_out))
STAT_VALUE(ctxsw_waits, atomic_load(&engine_stats(fs->eng)->ctxsw_waits))
STAT_VALUE(ctxsw_late, atomic_load(&engine_stats(fs->eng)->ctxsw_late))
STAT_VALUE(ctxsw_missed, atomic_load(&engine_stats(fs->eng)->ctxsw_missed))
STAT_VALUE(ctxsw_stalled, atomic_load(&engine_stats(fs->eng)->ctxsw_stalled))
STAT_VALUE(ctxsw_over_budget, atomic_load(&engine_stats(fs->eng)->ctxsw_over_budget))
STAT_VALUE(ctxsw_overhead_instructions, atomic_load(&engine_stats(fs->eng)->ctxsw_overhead))
STAT_VALUE(audit_dropped, audit_log_dropped(fs->audit))
STAT_VALUE(audit_suppressed, audit_log_suppressed(fs->audit))

/* The sweep updates the number. */
static uint64_t stat_buffer_bytes(struct fs *fs)
{
	shared_sweep(&fs->memory);
	return atomic_load(&fs->memory.all.bytes);
}

const struct stat_key stat_keys[] = {
	{"requests", true, "Requests of the kernel.", stat_requests},
	{"commands", true, "Commands for contexts.", stat_commands},
	{"register_reads", true, "Register reads that reached the device.", stat_register_reads},
	{"register_writes", true, "Register writes that reached the device.", stat_register_writes},
	{"polls", true, "Reads of running counters that no request asked for.", stat_polls},
	{"stolen", true, "Counters found taken over or paused.", stat_stolen},
	{"leapt", true, "Counters found advanced by more than time allows.", stat_leapt},
	{"switches", true, "Switches from one event set to another.", stat_switches},
	{"overflows", true, "Overflows of PMDs.", stat_overflows},
	{"messages_lost", true, "Messages dropped because a queue was full.", stat_messages_lost},
	{"attribution_lost", true, "Samples and process events dropped because a buffer was full.",
		stat_attribution_lost},
	{"buffer_bytes", false, "Bytes in all sampling buffers and live pages.", stat_buffer_bytes},
	{"passthrough", false, "1 if the kernel maps buffers directly.", stat_passthrough},
	{"contexts", false, "Contexts.", stat_contexts},
	{"workers", false, "Workers.", stat_workers},
	{"ctxsw_threads", false, "CPUs where threads are followed.", stat_ctxsw_threads},
	{"threads", false, "Threads that are followed.", stat_threads},
	{"ctxsw_in", true, "Contexts restored to the registers.", stat_ctxsw_in},
	{"ctxsw_out", true, "Contexts saved from the registers.", stat_ctxsw_out},
	{"ctxsw_waits", true, "Waits of a ctxsw thread for the one of another CPU.",
		stat_ctxsw_waits},
	{"ctxsw_late", true, "Times that another thread ran before a ctxsw thread did.",
		stat_ctxsw_late},
	{"ctxsw_missed", true, "Switches that the kernel did not report.", stat_ctxsw_missed},
	{"ctxsw_stalled", true, "Times that a ctxsw thread had to wait while its thread ran.",
		stat_ctxsw_stalled},
	{"ctxsw_over_budget", true, "Counts lost because a switch budget was spent.",
		stat_ctxsw_over_budget},
	{"ctxsw_overhead_instructions", false,
		"User-level instructions that a restore and save add, and that are subtracted.",
		stat_ctxsw_overhead_instructions},
	{"audit_dropped", true, "Lines of the audit record that the system's log did not take.",
		stat_audit_dropped},
	{"audit_suppressed", true, "Lines of the audit record over a limit.",
		stat_audit_suppressed},
	{NULL, false, NULL, NULL},
};
