/* SPDX-License-Identifier: MIT */
/*
 * Requests that are answered later. A struct that waits for something embeds a struct request. It
 * is pending until it is answered: by request_end() and then a reply, or with EINTR if an interrupt
 * comes first.
 */
#ifndef FS_PENDING_REQUEST_H
#define FS_PENDING_REQUEST_H

#include "base/hash.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"
#include "daemon/fs/tree/user_quota.h"

struct request {
	/* Link in pending_requests.by_unique, until the request has ended. */
	struct hash_node node;
	bool pending;
	struct call call;
	/* Charged to the owner of the call's context, the opener of its file, or the caller. */
	struct charge charge;
	/* The caller was interrupted, but the answer is still due. Session thread. */
	bool interrupted;
	/*
	 * Called when the caller is interrupted. Returns true if the hook has called
	 * request_remove(), and may have freed @r after request_uncharge(); the answer is EINTR.
	 * Returns false if the answer follows as usual. The session thread calls it with
	 * pending_requests.lock held; it must not answer.
	 * NULL: interrupts are ignored.
	 */
	bool (*interrupt)(struct request *r);
};

/* -ENOMEM. */
int pending_requests_init(struct pending_requests *p);
void pending_requests_free(struct pending_requests *p);

/* Adds @r, a copy of @call that is not answered yet, to the pending requests. The struct that
 * embeds @r is charged as @bytes until request_end(). ENOMEM, ENOSPC (too many). */
int request_begin(struct request *r, const struct call *call, size_t bytes,
	bool (*interrupt)(struct request *r), struct err *e);
/* Ends @r, which is no longer pending. Returns true if the caller of this must answer, false if the
 * answer is EINTR. Any thread. */
bool request_end(struct request *r);
/* For interrupt hooks. */
void request_remove(struct request *r);
void request_uncharge(struct request *r);
/* An interrupt hook that sets r->interrupted. */
bool request_note_interrupted(struct request *r);

/* Processes what was read from the kernel. Returns false if it was an interrupt, or a long request
 * that is delayed: the next request is to be read before any other work. */
bool requests_process(struct fs *fs, struct fuse_session *se, const struct fuse_buf *buf);
/* Answers some of the interrupted requests. Returns false if there were none. */
bool requests_answer_interrupted(struct fs *fs);

#endif
