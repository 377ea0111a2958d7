// SPDX-License-Identifier: MIT
#include "daemon/fs/session/passthrough.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/fs/session/session.h"

/* Linux 6.9 (5.17 for flags2). Newer headers have these as 64-bit flags and members. */
enum {
	INIT_EXT = 1 << 30,
	FLAGS2_PASSTHROUGH = 1 << (37 - 32),
	STACK_DEPTH = 1, /* memory is not on a stacked filesystem */
};

/* Looks for INIT in a request from the kernel. */
static void passthrough_note_request(struct passthrough *p, const void *request, size_t n)
{
	const struct fuse_in_header *in = request;
	const struct fuse_init_in *init = (const void *)(in + 1);

	if (p->answered || n < sizeof(*in) + sizeof(*init) || in->opcode != FUSE_INIT)
		return;
	p->init = in->unique;
	p->offered = (init->flags & INIT_EXT) && (init->flags2 & FLAGS2_PASSTHROUGH);
}

/* Sets the member after flags2, which older headers lack. */
static void passthrough_set_stack_depth(struct fuse_init_out *out)
{
	const uint32_t depth = STACK_DEPTH;

	memcpy((char *)out + offsetof(struct fuse_init_out, flags2) + sizeof(out->flags2), &depth,
		sizeof(depth));
}

struct passthrough_reply {
	_Alignas(uint64_t) char body[64];
	struct iovec iov[2];
};

/* Returns the reply to send: @iov (a header and a body), or a completed copy of it in @room. */
static const struct iovec *passthrough_complete_reply(
	struct fs *fs, const struct iovec *iov, int n, struct passthrough_reply *room)
{
	struct passthrough *p = &session_of(fs)->passthrough;
	const struct fuse_out_header *header = iov[0].iov_base;
	struct fuse_init_out *out = (void *)room->body;

	if (p->answered || header->unique != p->init || !header->unique)
		return iov;
	if (n == 2 && iov[1].iov_len > sizeof(header->len) * 2)
		p->answered = true; /* a shorter body asks for another version */
	if (!p->wanted || !p->offered || header->error || n != 2 ||
		iov[1].iov_len != sizeof(*out) || sizeof(*out) > sizeof(room->body))
		return iov;
	memcpy(out, iov[1].iov_base, sizeof(*out));
	out->flags |= INIT_EXT;
	out->flags2 |= FLAGS2_PASSTHROUGH;
	passthrough_set_stack_depth(out);
	fs->passthrough = true;
	room->iov[0] = iov[0];
	room->iov[1] = (struct iovec){out, sizeof(*out)};
	return room->iov;
}

static ssize_t passthrough_read(int fd, void *buf, size_t size, void *userdata)
{
	struct fs *fs = userdata;
	struct fuse_in_header *in = buf;
	ssize_t n = read(fd, buf, size);

	if (n <= 0)
		return n;
	/* In this mount, its owner has root's rights. */
	if (in->uid == fs->owner)
		in->uid = 0;
	passthrough_note_request(&session_of(fs)->passthrough, buf, (size_t)n);
	return n;
}

static ssize_t passthrough_write(int fd, struct iovec *iov, int n, void *userdata)
{
	struct passthrough_reply room;
	struct fs *fs = userdata;

	return writev(fd, passthrough_complete_reply(fs, iov, n, &room), n);
}

int passthrough_attach(struct fuse_session *se, int fd)
{
	const struct fuse_custom_io io = {.read = passthrough_read, .writev = passthrough_write};

	return fuse_session_custom_io(se, &io, fd);
}
