// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/find_names.h"
#include "tools/pfm/samples/recording.h"

int recording_open(struct recording *r, const char *path, unsigned names, struct err *e)
{
	struct data_file f;
	struct err why = {0};
	int rc = data_load(&f, path, e);

	if (rc < 0)
		return rc;
	if (names && !f.named)
		(void)find_names_append(&f, &why);
	rc = recording_take(r, f, names, e);
	if (rc == 0 && why.no)
		text_printf(&r->notes, "addresses instead of names: %s\n", why.text);
	return rc < 0 ? err_prefix(e, "%s", path) : 0;
}
