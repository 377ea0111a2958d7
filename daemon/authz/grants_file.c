// SPDX-License-Identifier: MIT
#include "daemon/authz/grants_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/trusted.h"

static const char why[] = "it grants rights";

/* The file name for @mountpoint: its path with '-' for each slash, and bytes except letters,
 * digits, '.' and '_' as \xNN, as in the names of systemd's mount units. */
static int grants_file_name(const char *mountpoint, struct text *name, struct err *e)
{
	text_printf(name, "grants.");
	for (const char *p = *mountpoint == '/' ? mountpoint + 1 : mountpoint; *p; p++) {
		if (*p == '/')
			text_printf(name, "-");
		else if (isalnum((unsigned char)*p) || *p == '.' || *p == '_')
			text_printf(name, "%c", *p);
		else
			text_printf(name, "\\x%02x", (unsigned char)*p);
	}
	if (!text_ok(name))
		return err_set(e, ENOMEM, "no memory");
	/* With room for the suffix of the file that replaces it. */
	if (name->n + sizeof(".new") > NAME_MAX)
		return err_set(e, ENAMETOOLONG,
			"the mount point's path is too long for a file of its grants: mount on a "
			"shorter path");
	return 0;
}

static int grants_file_check(int fd, const char *what, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "%s: %s", what, err_name(errno));
	return trusted_check(&st, TRUSTED_SELF, what, why, e);
}

static int grants_file_read(int fd, struct text *out, struct err *e)
{
	CLEANUP_FREE char *buf = malloc(GRANTS_FILE_MAX + 1);
	ssize_t n = buf ? read(fd, buf, GRANTS_FILE_MAX + 1) : -1;

	if (!buf)
		return err_set(e, ENOMEM, "no memory");
	if (n < 0)
		return err_set(e, errno, "cannot read it: %s", err_name(errno));
	if (n > GRANTS_FILE_MAX || memchr(buf, '\0', (size_t)n))
		return err_set(e, n > GRANTS_FILE_MAX ? E2BIG : EINVAL, "it is damaged");
	text_printf(out, "%.*s", (int)n, buf);
	return text_ok(out) || !n ? 0 : err_set(e, ENOMEM, "no memory");
}

/* Refuses revocations: the file has grants only. */
static int grants_file_parse(struct slice text, uint64_t now, struct grants *g, struct err *e)
{
	if (text.n && text.p[text.n - 1] != '\n')
		return err_set(e, EINVAL, "its last line is cut off");
	for (unsigned n = 1; text.n; n++) {
		struct slice line = slice_cut(&text, '\n');

		if (!slice_starts(line, "uid="))
			return err_set(e, EINVAL, "line %u does not begin with uid=", n);
		if (grants_apply(g, line, 0, NULL, e) < 0)
			return err_prefix(e, "line %u", n);
	}
	grants_expire(g, now);
	return 0;
}

static int grants_file_load_from(int dir, const char *run_dir, const char *name, uint64_t now,
	struct grants *g, struct err *e)
{
	CLEANUP_CLOSE int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	TEXT_CLEANUP struct text text = {0};

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(e, errno, "cannot open it: %s", err_name(errno));
	if (grants_file_check(dir, run_dir, e) < 0 || grants_file_check(fd, name, e) < 0 ||
		grants_file_read(fd, &text, e) < 0)
		return -e->no;
	return grants_file_parse((struct slice){text.p, text.n}, now, g, e);
}

int grants_file_load(
	const char *run_dir, const char *mountpoint, uint64_t now, struct grants *g, struct err *e)
{
	CLEANUP_CLOSE int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	TEXT_CLEANUP struct text name = {0};
	struct grants loaded = {0};

	if (dir < 0 || grants_file_name(mountpoint, &name, e) < 0)
		return 0;
	if (grants_file_load_from(dir, run_dir, name.p, now, &loaded, e) < 0) {
		grants_free(&loaded);
		return err_prefix(
			e, "%s/%s: remove it, and grant its lines again", run_dir, name.p);
	}
	grants_free(g);
	*g = loaded;
	return 0;
}

static int grants_file_write(int dir, const char *name, const struct text *text, struct err *e)
{
	CLEANUP_CLOSE int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set(e, errno, "cannot create %s: %s", name, err_name(errno));
	if (write(fd, text->p, text->n) != (ssize_t)text->n)
		return err_set(e, ENOSPC, "cannot write %s: is the filesystem full?", name);
	return 0;
}

static int grants_file_replace(int dir, const char *name, const struct grants *g, struct err *e)
{
	TEXT_CLEANUP struct text lines = {0}, new = {0};

	grants_show(g, &lines);
	text_printf(&new, "%s.new", name);
	if (!text_ok(&lines) || !text_ok(&new))
		return err_set(e, ENOMEM, "no memory for the grants");
	if (lines.n > GRANTS_FILE_MAX)
		return err_set(e, E2BIG, "the grants take more than %d bytes: use ranges of CPUs",
			GRANTS_FILE_MAX);
	if (grants_file_write(dir, new.p, &lines, e) < 0) {
		unlinkat(dir, new.p, 0);
		return -e->no;
	}
	if (renameat(dir, new.p, dir, name) < 0)
		return err_set(e, errno, "cannot rename %s: %s", new.p, err_name(errno));
	return 0;
}

int grants_file_save(
	const char *run_dir, const char *mountpoint, const struct grants *g, struct err *e)
{
	TEXT_CLEANUP struct text name = {0};
	CLEANUP_CLOSE int dir = -1;

	if (grants_file_name(mountpoint, &name, e) < 0)
		return -e->no;
	if (mkdir(run_dir, 0700) < 0 && errno != EEXIST)
		return err_set(
			e, errno, "cannot make the directory %s: %s", run_dir, err_name(errno));
	dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_set(
			e, errno, "cannot open the directory %s: %s", run_dir, err_name(errno));
	if (grants_file_check(dir, run_dir, e) < 0)
		return -e->no;
	if (g->n)
		return grants_file_replace(dir, name.p, g, e);
	if (unlinkat(dir, name.p, 0) < 0 && errno != ENOENT)
		return err_set(
			e, errno, "cannot remove %s/%s: %s", run_dir, name.p, err_name(errno));
	return 0;
}
