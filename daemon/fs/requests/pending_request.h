/* SPDX-License-Identifier: MIT */
/*
 * Requests that are answered later. A struct that waits for something embeds a struct request. It
 * is in the list of pending requests until it is answered: by request_end() and then a reply, or
 * with EINTR if an interrupt comes first.
 */
#ifndef FS_PENDING_REQUEST_H
#define FS_PENDING_REQUEST_H

#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"
#include "daemon/fs/tree/user_quota.h"

struct request {
	/* In pending_requests.list; empty: it has ended. */
	struct list_head link;
	uint64_t id;
	struct call call;
	/* To the owner of the call's context, the opener of its file, or the caller. */
	struct charge charge;
	/* The caller was interrupted, but the answer is still due; the session thread's. */
	bool interrupted;
	/*
	 * The caller is interrupted. True: the hook has taken @r off the list, and may have freed
	 * it, after request_uncharge(); the answer is EINTR. False: the answer comes by the usual
	 * way. It is called by the session thread with the list's lock held, and must not answer.
	 * NULL: interrupts are ignored.
	 */
	bool (*interrupt)(struct request *r);
};

/*
 * Adds @r, a copy of @call that is not answered yet, to the pending requests. What it is embedded
 * in takes @bytes, until request_end(). ENOMEM, ENOSPC (too many).
 */
int request_begin(struct request *r, const struct call *call, size_t bytes,
	bool (*interrupt)(struct request *r), struct err *e);
/* Takes @r off the list. True: the answer is the caller's; false: it was EINTR. Any thread. */
bool request_end(struct request *r);
void request_uncharge(struct request *r);
/* An interrupt hook that sets r->interrupted. */
bool request_note_interrupted(struct request *r);
/* Serves the interrupts that libfuse has reported. Call it outside of libfuse. */
void requests_interrupt(struct fs *fs);

#endif
