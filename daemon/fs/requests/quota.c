// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/quota.h"

#include <errno.h>
#include <inttypes.h>

static uint64_t quota_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

int quota_check_memory(struct fs *fs, const struct fs_context *ctx, uint64_t lock, size_t room,
	const struct shared *old, struct err *e)
{
	uint64_t back = old && !old->opens ? old->charged : 0;
	struct shared_account *all = &fs->memory.all, *own = &ctx->id.quota->buffers;
	uint64_t most = fs->config.smpl_buf_size_max;

	shared_sweep(&fs->memory);
	if (room > quota_less(most, quota_less(atomic_load(&all->bytes), back)))
		return err_set(e, ENOMEM,
			"%zu bytes are too many with the %llu of all buffers: ask for less, or "
			"have root raise config/smpl_buf_size_max, %" PRIu64,
			room, atomic_load(&all->bytes), most);
	if (room > quota_less(lock, quota_less(atomic_load(&own->bytes), back)))
		return err_set(e, ENOMEM,
			"%zu bytes are too many with the %llu of the owner's buffers: ask for "
			"less, or raise your RLIMIT_MEMLOCK (ulimit -l), %" PRIu64 " bytes",
			room, atomic_load(&own->bytes), lock);
	if (ctx->id.uid && atomic_load(&own->pieces) >= BUFFERS_PER_USER)
		return err_set(e, ENOSPC,
			"too many buffers and live pages: write none to the format of some "
			"contexts, or rmdir some sets (limit: %d a user)",
			BUFFERS_PER_USER);
	return 0;
}
