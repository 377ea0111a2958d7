// SPDX-License-Identifier: MIT
#include "daemon/fs/passthrough.h"

#include "daemon/fs/fs_i.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Linux 6.9, and 5.17 for flags2; newer headers have these as 64-bit flags and as members. */
enum {
	INIT_EXT = 1 << 30,
	FLAGS2_PASSTHROUGH = 1 << (37 - 32),
	STACK_DEPTH = 1, /* memory lies on no other filesystem */
};

/* A request that the kernel has sent. */
static void hear(struct passthrough *p, const void *request, size_t n)
{
	const struct fuse_in_header *in = request;
	const struct fuse_init_in *init = (const void *)(in + 1);

	if (p->settled || n < sizeof(*in) + sizeof(*init) || in->opcode != FUSE_INIT)
		return;
	p->init = in->unique;
	p->offered = (init->flags & INIT_EXT) && (init->flags2 & FLAGS2_PASSTHROUGH);
}

/* The member after flags2, which this header does not know yet. */
static void set_stack_depth(struct fuse_init_out *out)
{
	const uint32_t depth = STACK_DEPTH;

	memcpy((char *)out + offsetof(struct fuse_init_out, flags2) + sizeof(out->flags2), &depth,
		sizeof(depth));
}

struct reply {
	_Alignas(uint64_t) char body[64];
	struct iovec iov[2];
};

/* The answer to it, a header and a body; in @room if there is something to be added. */
static const struct iovec *say(
	struct passthrough *p, const struct iovec *iov, int n, struct reply *room)
{
	const struct fuse_out_header *header = iov[0].iov_base;
	struct fuse_init_out *out = (void *)room->body;

	if (p->settled || header->unique != p->init || !header->unique)
		return iov;
	if (n == 2 && iov[1].iov_len > sizeof(header->len) * 2)
		p->settled = true; /* not the refusal of a version */
	if (!p->wanted || !p->offered || header->error || n != 2 ||
		iov[1].iov_len != sizeof(*out) || sizeof(*out) > sizeof(room->body))
		return iov;
	memcpy(out, iov[1].iov_base, sizeof(*out));
	out->flags |= INIT_EXT;
	out->flags2 |= FLAGS2_PASSTHROUGH;
	set_stack_depth(out);
	p->on = true;
	room->iov[0] = iov[0];
	room->iov[1] = (struct iovec){out, sizeof(*out)};
	return room->iov;
}

static ssize_t session_read(int fd, void *buf, size_t size, void *userdata)
{
	struct fs *fs = userdata;
	ssize_t n = read(fd, buf, size);

	if (n > 0)
		hear(&fs->passthrough, buf, (size_t)n);
	return n;
}

static ssize_t session_write(int fd, struct iovec *iov, int n, void *userdata)
{
	struct reply room;
	struct fs *fs = userdata;

	return writev(fd, say(&fs->passthrough, iov, n, &room), n);
}

int passthrough_session(struct fuse_session *se, int fd)
{
	const struct fuse_custom_io io = {.read = session_read, .writev = session_write};

	return fuse_session_custom_io(se, &io, fd);
}
