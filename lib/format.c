// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <stdlib.h>
#include <string.h>

#include "lib/lines.h"
#include "perfmonfs/smpl_correlate.h"
#include "perfmonfs/smpl_hist.h"
#include "perfmonfs/smpl_nway.h"

/* The default format is told from the others by its arguments, which differ between versions. */
static const struct {
	unsigned char uuid[16];
	size_t arg_size;
	bool is_default;
} formats[] = {
	{PFM_DFL_SMPL_UUID, sizeof(pfm_dfl_smpl_arg_t), true},
	/* That of 2.2 kernels; samples are the same. */
	{{0xd1, 0x39, 0xb2, 0x9e, 0x62, 0xe8, 0x40, 0xe4, 0xb4, 0x02, 0x73, 0x07, 0x87, 0x92, 0xe9,
		 0x37},
		sizeof(pfm_dfl_smpl_arg_t), true},
	{PFM_NWAY_SMPL_UUID, sizeof(pfm_nway_smpl_arg_t), false},
	{PFM_HIST_SMPL_UUID, sizeof(pfm_hist_smpl_arg_t), false},
	{PFM_CORRELATE_SMPL_UUID, sizeof(pfm_correlate_smpl_arg_t), false},
};

static void uuid_text(const unsigned char uuid[16], char *to)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[uuid[i] >> 4];
		*to++ = digits[uuid[i] & 15];
	}
	*to = 0;
}

/* Of a format that is not ours. Where nothing can be found, the daemon will say what is wrong. */
static size_t ask_for_size(const char *uuid)
{
	static const char dir[] = "sys/formats/", file[] = "/arg_size";
	char path[sizeof(dir) + PFM_IOC_FORMAT_MAX + sizeof(file)] = "";
	char *line, *id, *name, *size;
	size_t found = 0;
	struct lines l;

	if (lines_open_mount(&l, "formats") < 0)
		return 0;
	while (!*path && (line = lines_next(&l))) {
		id = lines_word(&line);
		name = lines_word(&line);
		if (!name || strcmp(id, uuid) != 0 || strlen(name) >= PFM_IOC_FORMAT_MAX)
			continue;
		strcpy(path, dir);
		strcat(path, name);
		strcat(path, file);
	}
	lines_close(&l);
	if (!*path || lines_open_mount(&l, path) < 0)
		return 0;
	size = lines_next(&l);
	if (size)
		found = strtoul(size, NULL, 10);
	lines_close(&l);
	return found;
}

void format_of(const unsigned char uuid[16], struct format *f)
{
	static const unsigned char none[16];

	memset(f, 0, sizeof(*f));
	if (memcmp(uuid, none, sizeof(none)) == 0)
		return;
	uuid_text(uuid, f->name);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (memcmp(uuid, formats[i].uuid, sizeof(none)) != 0)
			continue;
		f->arg_size = formats[i].arg_size;
		f->is_default = formats[i].is_default;
		if (f->is_default)
			strcpy(f->name, PFM_DFL_SMPL_NAME);
		return;
	}
	f->arg_size = ask_for_size(f->name);
}
