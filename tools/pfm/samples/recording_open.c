// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/find_names.h"
#include "tools/pfm/samples/recording.h"

int recording_open(struct recording *r, const char *path, unsigned names, struct err *e)
{
	struct data_file f;
	int rc = data_load(&f, path, e);

	if (rc < 0)
		return rc;
	if (names && !f.named && find_names_append(&f, e) < 0) {
		data_unload(&f);
		return err_prefix(e, "%s", path);
	}
	rc = recording_take(r, f, names, e);
	return rc < 0 ? err_prefix(e, "%s", path) : 0;
}
