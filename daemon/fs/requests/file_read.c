// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/file_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "daemon/fs/requests/work_request.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/percpu/virtual_pmd.h"

struct file_read {
	struct work_request r;
	struct command *cmd; /* holds the values */
	const struct command_kind *kind;
	/* The files of cmd->files. A copy, because the thread that reads them may outlast the
	 * backend. */
	struct pmu_virtual files[PMU_MAX_VIRTUALS];
};

static struct file_read *file_read_of(struct work_request *r)
{
	return container_of(r, struct file_read, r);
}

/* The file that is virtual PMD @num; NULL if it is none. */
static const struct pmu_virtual *file_read_find(const struct pmu *pmu, unsigned num)
{
	int row = pmu_find_virtual(pmu, num);

	return row >= 0 && pmu_virtual_is_file(&pmu->virtuals[row]) ? &pmu->virtuals[row] : NULL;
}

static void file_read_add(struct cmd_files *files, unsigned num)
{
	for (unsigned i = 0; i < files->n; i++)
		if (files->pmd[i].num == num)
			return;
	files->pmd[files->n++].num = num;
}

/* Lists the files that @cmd needs; returns their number. */
static unsigned file_read_list(
	const struct pmu *pmu, const struct command *cmd, struct cmd_files *files)
{
	files->n = 0;
	for (unsigned i = 0; i < cmd->vector.nregs; i++)
		if (cmd->vector.regs[i].pmd && file_read_find(pmu, cmd->vector.regs[i].num))
			file_read_add(files, cmd->vector.regs[i].num);
	return files->n;
}

static void file_read_run(struct work_request *r)
{
	struct file_read *read = file_read_of(r);
	struct cmd_files *files = read->cmd->files;

	for (unsigned i = 0; i < files->n; i++)
		files->pmd[i].known = virtual_pmd_read_file(&read->files[i], &files->pmd[i].value);
}

static void file_read_go(struct work_request *r)
{
	struct file_read *read = file_read_of(r);

	command_submit(&r->request.call, read->cmd, read->kind, NULL);
	free(read->cmd);
	free(read);
}

/* A thread is still reading a file and keeps using its request, although the daemon is ending. */
static bool file_read_stuck;

static void file_read_drop(struct work_request *r)
{
	struct file_read *read = file_read_of(r);

	if (r->work.hangs) {
		file_read_stuck = true;
		return;
	}
	command_drop(&r->request.call, read->cmd);
	free(read);
}

static const struct work_kind file_read_work = {file_read_run, file_read_go, file_read_drop};

/* Frees a read that did not begin, with its files. A copy of the command owns the files once it has
 * begun. */
static void file_read_free(struct file_read *read)
{
	if (read->cmd)
		free(read->cmd->files);
	free(read->cmd);
	free(read);
}

static struct file_read *file_read_new(const struct command *cmd, const struct cmd_files *files)
{
	struct file_read *read = calloc(1, sizeof(*read));

	if (!read)
		return NULL;
	read->cmd = malloc(sizeof(*read->cmd));
	if (!read->cmd) {
		free(read);
		return NULL;
	}
	*read->cmd = *cmd;
	read->cmd->files = malloc(sizeof(*files));
	if (read->cmd->files) {
		*read->cmd->files = *files;
		return read;
	}
	file_read_free(read);
	return NULL;
}

/* Takes @cmd and the call's packet, unless it fails. */
static int file_read_begin(struct call *call, struct command *cmd, const struct cmd_files *files,
	const struct command_kind *kind, struct err *e)
{
	size_t bytes = sizeof(struct file_read) + sizeof(*files) + command_bytes(call, cmd);
	struct file_read *read = file_read_new(cmd, files);

	if (!read)
		return err_set(e, ENOMEM, "no memory to read files");
	read->kind = kind;
	for (unsigned i = 0; i < files->n; i++)
		read->files[i] = *file_read_find(call->fs->be->pmu, files->pmd[i].num);
	read->r.work.uid = fuse_req_ctx(call->req)->uid;
	read->r.work.may_hang = true;
	if (work_request_begin(&read->r, call, bytes, &file_read_work, e) == 0)
		return 0;
	file_read_free(read);
	return -e->no;
}

void file_read_submit(struct call *call, struct command *cmd, const struct command_kind *kind)
{
	struct cmd_files files;
	struct err e;

	if (cmd->verb != CMD_READ || !file_read_list(call->fs->be->pmu, cmd, &files))
		command_submit(call, cmd, kind, NULL);
	else if (file_read_begin(call, cmd, &files, kind, &e) < 0)
		command_fail(call, cmd, &e);
}

bool file_read_is_stuck(void)
{
	return file_read_stuck;
}
