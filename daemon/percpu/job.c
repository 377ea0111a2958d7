// SPDX-License-Identifier: MIT
#include "daemon/percpu/job.h"

#include <errno.h>

int job_cancelled(struct job *job)
{
	return err_set(&job->err, EINTR, "the request was interrupted before it began");
}
