// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <stdio.h>
#include <string.h>

#include "lib/config.h"
#include "lib/lines.h"
#include "perfmonfs/smpl_dfl.h"

/*
 * The UUIDs of the default format in perfmonfs and in kernels with 2.2. The samples are the same;
 * the argument differs between versions.
 */
static const unsigned char default_uuids[][16] = {
	PFM_DFL_SMPL_UUID,
	{0xd1, 0x39, 0xb2, 0x9e, 0x62, 0xe8, 0x40, 0xe4, 0xb4, 0x02, 0x73, 0x07, 0x87, 0x92, 0xe9,
		0x37},
};

static void format_uuid_print(const unsigned char uuid[16], char *to)
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

void format_from_uuid(const unsigned char uuid[16], struct format *f)
{
	static const unsigned char none[16];

	memset(f, 0, sizeof(*f));
	if (memcmp(uuid, none, sizeof(none)) == 0)
		return;
	for (size_t i = 0; i < sizeof(default_uuids) / sizeof(default_uuids[0]); i++)
		f->is_default = f->is_default || memcmp(uuid, default_uuids[i], sizeof(none)) == 0;
	if (f->is_default)
		strcpy(f->name, PFM_DFL_SMPL_NAME);
	else
		format_uuid_print(uuid, f->name);
}

/* Finds the path of the file with the size of the argument; "" if the mount does not have the
 * format. */
static void format_find_size_file(const char *uuid, char *path, size_t size)
{
	char *line, *id, *name;
	struct lines l;

	*path = 0;
	if (mount_open_lines(&l, "formats") < 0)
		return;
	while (!*path && (line = lines_next(&l))) {
		id = lines_word(&line);
		name = lines_word(&line);
		if (name && strcmp(id, uuid) == 0)
			snprintf(path, size, "sys/formats/%s/arg_size", name);
	}
	lines_close(&l);
}

size_t format_arg_size(const struct format *f)
{
	char path[PFM_IOC_FORMAT_MAX + sizeof("sys/formats//arg_size")];
	uint64_t size;

	if (f->is_default)
		return sizeof(pfm_dfl_smpl_arg_t);
	if (!*f->name)
		return 0;
	format_find_size_file(f->name, path, sizeof(path));
	return *path && config_number(path, &size) == 0 ? size : 0;
}
