// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/file_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/percpu/virtual_pmd.h"

/* Allocated, as it is large. */
struct file_read {
	struct await_work wait;
	struct command cmd;
	const struct command_kind *kind;
	/* The numbers and values of the files, and copies of their descriptions: the thread that
	 * reads them may outlast the backend. */
	struct cmd_files values;
	struct pmu_virtual files[PMU_MAX_VIRTUALS];
};

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

static void file_read_run(struct work *work)
{
	struct file_read *read = container_of(work, struct file_read, wait.work);

	for (unsigned i = 0; i < read->values.n; i++)
		read->values.pmd[i].known =
			virtual_pmd_read_file(&read->files[i], &read->values.pmd[i].value);
}

/* The command gets its own copy of the values. */
static int file_read_wait(struct call *call, struct file_read *read, struct err *e)
{
	if (await_charge(call, sizeof(*read) + command_bytes(call, &read->cmd), e) < 0 ||
		await_work(call, &read->wait, e) < 0)
		return -e->no;
	read->cmd.files = malloc(sizeof(read->values));
	if (!read->cmd.files)
		return err_set(e, ENOMEM, "no memory to read files");
	*read->cmd.files = read->values;
	return 0;
}

static void file_read_main(struct call *call, void *arg)
{
	CLEANUP_FREE struct file_read *read = arg;
	struct err e;
	int rc = file_read_wait(call, read, &e);

	if (!await_end(call)) {
		command_free(&read->cmd);
		free(call->packet);
	} else if (rc < 0) {
		command_fail(call, &read->cmd, &e);
	} else {
		command_submit(call, &read->cmd, read->kind, NULL);
	}
}

/* Takes @cmd and the call's packet, unless it fails. */
static int file_read_begin(struct call *call, struct command *cmd, const struct cmd_files *files,
	const struct command_kind *kind, struct err *e)
{
	struct file_read *read = malloc(sizeof(*read));

	if (!read)
		return err_set(e, ENOMEM, "no memory to read files");
	*read = (struct file_read){
		.wait.work = {.run = file_read_run, .may_hang = true},
		.cmd = *cmd,
		.kind = kind,
		.values = *files,
	};
	for (unsigned i = 0; i < files->n; i++)
		read->files[i] = *file_read_find(call->fs->be->pmu, files->pmd[i].num);
	if (await_start(call, file_read_main, read, e) == 0)
		return 0;
	free(read);
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
