// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/quota.h"

#include <errno.h>
#include <inttypes.h>

#include "base/open_files.h"

static uint64_t quota_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t quota_reserved_memory(const struct fs *fs)
{
	return fs->config.smpl_buf_size_max / QUOTA_RESERVED_PART;
}

bool quota_memory_is_short(const struct fs *fs)
{
	return atomic_load(&fs->memory.all.bytes) + 2 * quota_reserved_memory(fs) >
	       fs->config.smpl_buf_size_max;
}

/* The bytes of all buffers up to which this user may get more. */
static uint64_t quota_most(const struct fs *fs, const struct user_quota *q)
{
	bool reserve = !q->uid || atomic_load(&q->reserve);

	return fs->config.smpl_buf_size_max - (reserve ? 0 : quota_reserved_memory(fs));
}

/* Each piece has a descriptor; non-root users may have a quarter of all possible descriptors. */
static bool quota_has_many_pieces(const struct shared_account *all)
{
	return (rlim_t)atomic_load(&all->pieces) >= open_files_max() / 4;
}

int quota_check_memory(struct fs *fs, const struct fs_context *ctx, uint64_t lock, size_t room,
	const struct shared *old, struct err *e)
{
	uint64_t back = old && !old->opens ? old->charged : 0;
	struct shared_account *all = &fs->memory.all, *own = &ctx->id.quota->buffers;
	uint64_t most = quota_most(fs, ctx->id.quota);

	shared_sweep(&fs->memory);
	if (room > quota_less(most, quota_less(atomic_load(&all->bytes), back)))
		return err_set(e, ENOMEM,
			"%zu bytes are too many beside the %llu bytes of all buffers: ask for "
			"less, or have root raise config/smpl_buf_size_max (%" PRIu64
			" bytes of it are for all users)",
			room, atomic_load(&all->bytes), most);
	if (room > quota_less(lock, quota_less(atomic_load(&own->bytes), back)))
		return err_set(e, ENOMEM,
			"%zu bytes are too many beside the %llu bytes of the owner's buffers: ask "
			"for less, or raise your RLIMIT_MEMLOCK (ulimit -l), %" PRIu64 " bytes",
			room, atomic_load(&own->bytes), lock);
	if (ctx->id.uid && atomic_load(&own->pieces) >= BUFFERS_PER_USER)
		return err_set(e, ENOSPC,
			"you have too many buffers and live pages (limit: %d): write none to the "
			"format of some contexts, or rmdir some sets",
			BUFFERS_PER_USER);
	if (ctx->id.uid && quota_has_many_pieces(all))
		return err_set(e, ENOSPC,
			"all users together have %d buffers and live pages, which use up a quarter "
			"of the daemon's descriptors: have root raise LimitNOFILE",
			atomic_load(&all->pieces));
	return 0;
}
