// SPDX-License-Identifier: MIT
#include "base/perf_events.h"

#include <errno.h>
#include <string.h>

/* The end of each record with PERF_EVENTS_SAMPLE_TYPE: see perf_event_open(2). */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

/* Where the kernel has read a build ID, it is in place of the device and the inode. */
struct mmap_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t dev_major, dev_minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t id_size, reserved[3];
			uint8_t id[sizeof(((pfm_smpl_file_t *)NULL)->build_id)];
		};
	};
	uint32_t prot, flags;
	char name[];
};

struct comm_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	char name[];
};

struct exit_record {
	struct perf_event_header head;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

static pfm_smpl_file_t perf_events_file(const struct mmap_record *m)
{
	pfm_smpl_file_t file = {0};

	if (!(m->head.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		file.inode = m->inode;
		file.dev_major = m->dev_major;
		file.dev_minor = m->dev_minor;
	} else if (m->id_size <= sizeof(file.build_id)) {
		file.build_id_size = m->id_size;
		memcpy(file.build_id, m->id, m->id_size);
	}
	return file;
}

static pfm_smpl_event_t perf_events_mmap(const struct mmap_record *m)
{
	return (pfm_smpl_event_t){
		.type = PFM_EVENT_MMAP,
		.pid = m->pid,
		.tid = m->tid,
		.addr = m->addr,
		.len = m->len,
		.pgoff = m->pgoff,
		.file = perf_events_file(m),
	};
}

static pfm_smpl_event_t perf_events_comm(const struct comm_record *c)
{
	bool exec = c->head.misc & PERF_RECORD_MISC_COMM_EXEC;

	return (pfm_smpl_event_t){
		.type = exec ? PFM_EVENT_EXEC : PFM_EVENT_COMM,
		.pid = c->pid,
		.tid = c->tid,
	};
}

static pfm_smpl_event_t perf_events_exit(const struct exit_record *x)
{
	return (pfm_smpl_event_t){.type = PFM_EVENT_EXIT, .pid = x->pid, .tid = x->tid};
}

/* Parses the end of a record: the time and the name. The name follows the first @fixed bytes, if
 * the record has one. */
static int perf_events_end(struct perf_ring *ring, size_t fixed, pfm_smpl_event_t *ev)
{
	char *bytes = (char *)ring->rec;
	size_t size = ring->rec->size;
	struct trailer t;

	if (size < fixed + sizeof(t))
		return -EINVAL;
	memcpy(&t, bytes + size - sizeof(t), sizeof(t));
	ev->tstamp = t.time;
	ev->name = "";
	if (ev->type == PFM_EVENT_WAIT) {
		ev->pid = t.pid;
		ev->tid = t.tid;
	} else if (ev->type != PFM_EVENT_EXIT && fixed < size - sizeof(t)) {
		bytes[size - sizeof(t) - 1] = '\0';
		ev->name = bytes + fixed;
	}
	return 1;
}

int perf_events_parse(struct perf_ring *ring, pfm_smpl_event_t *ev)
{
	const void *rec = ring->rec;

	switch (ring->rec->type) {
	case PERF_RECORD_MMAP2:
		*ev = perf_events_mmap(rec);
		return perf_events_end(ring, sizeof(struct mmap_record), ev);
	case PERF_RECORD_COMM:
		*ev = perf_events_comm(rec);
		return perf_events_end(ring, sizeof(struct comm_record), ev);
	case PERF_RECORD_EXIT:
		*ev = perf_events_exit(rec);
		return perf_events_end(ring, sizeof(struct exit_record), ev);
	case PERF_RECORD_SWITCH:
		*ev = (pfm_smpl_event_t){.type = PFM_EVENT_WAIT};
		return perf_events_end(ring, sizeof(struct perf_event_header), ev);
	}
	return 0;
}
