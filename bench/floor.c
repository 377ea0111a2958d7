// SPDX-License-Identifier: MIT
/*
 * floor MOUNTPOINT: a filesystem of one file, "f", whose every read is answered at once with the
 * same 20 bytes, and every ioctl with what it has brought, by libfuse's own single-threaded loop:
 * the least that a text file on FUSE costs, and an ioctl.
 */
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "12345678901234567890";

static void attr_of(fuse_ino_t ino, struct stat *st)
{
	*st = (struct stat){.st_ino = ino, .st_nlink = 1};
	st->st_mode = ino == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0444;
}

static void floor_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	attr_of(ino, &st);
	fuse_reply_attr(req, &st, 60);
}

static void floor_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = {.ino = 2, .entry_timeout = 60, .attr_timeout = 60};

	(void)parent;
	if (strcmp(name, "f") != 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	attr_of(2, &e.attr);
	fuse_reply_entry(req, &e);
}

static void floor_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fi->direct_io = 1;
	fi->noflush = 1;
	fuse_reply_open(req, fi);
}

static void floor_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino, (void)size, (void)off, (void)fi;
	fuse_reply_buf(req, text, sizeof(text) - 1);
}

static void floor_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned nr, void *arg,
	struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size, size_t out_size)
{
	(void)ino, (void)nr, (void)arg, (void)fi, (void)flags;
	fuse_reply_ioctl(req, 0, in, in_size < out_size ? in_size : out_size);
}

static const struct fuse_lowlevel_ops ops = {
	.getattr = floor_getattr,
	.ioctl = floor_ioctl,
	.lookup = floor_lookup,
	.open = floor_open,
	.read = floor_read,
};

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_session *se = fuse_session_new(&args, &ops, sizeof(ops), NULL);

	if (argc != 2 || !se || fuse_set_signal_handlers(se) || fuse_session_mount(se, argv[1])) {
		fprintf(stderr, "usage: floor MOUNTPOINT (as root)\n");
		return 1;
	}
	fuse_session_loop(se);
	fuse_session_unmount(se);
	fuse_remove_signal_handlers(se);
	fuse_session_destroy(se);
	return 0;
}
