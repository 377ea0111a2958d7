// SPDX-License-Identifier: MIT
/* Commands that need no context: registers (3.1.13, 3.1.14) and global properties (3.1.16, 3.1.17).
 */
#include "lib/v06.h"

#include <string.h>

#include "lib/config.h"
#include "lib/lib_i.h"
#include "lib/registers.h"
#include "perfmon/perfmon_v06.h"

static int v06_fill_info(const char *table, pfarg_pmcinfo_t *info)
{
	struct reg_info r;

	info->reg_flags &= ~PFM_REG_RETFL_MASK;
	if (info->reg_flags) {
		info->reg_flags |= PFM_REG_RETFL_EINVAL;
		return lib_fail(EINVAL);
	}
	if (registers_find(table, info->reg_num, &r) < 0) {
		if (errno == EINVAL)
			info->reg_flags |= PFM_REG_RETFL_EINVAL;
		return -1;
	}
	info->reg_type = r.type;
	info->reg_index = r.type == PFM_REG_TYPE_NONE ? PFM_REG_IDX_NONE : (size_t)r.addr;
	info->reg_def_value = r.def;
	info->reg_rsvd_mask = r.rsvd;
	return 0;
}

int v06_getinfo_registers(int fd, int cmd, void *arg, int n)
{
	const char *table = cmd == PFM_GETINFO_PMCS ? "pmu/pmcs" : "pmu/pmds";
	pfarg_pmcinfo_t info, *user = arg;

	(void)fd;
	if (n <= 0)
		return lib_fail(EINVAL);
	if (vector_check(NULL, n, sizeof(info)) < 0)
		return lib_fail(EFAULT);
	for (int i = 0; i < n; i++) {
		if (copy_in(&info, user + i, sizeof(info)) < 0)
			return -1;
		int rc = v06_fill_info(table, &info);
		int err = errno;
		if (copy_out(user + i, &info, sizeof(info)) < 0)
			return -1;
		if (rc < 0)
			return lib_fail(err);
	}
	return 0;
}

static const struct group_words words = {PFM_GROUP_ANY, PFM_GROUP_NONE};

/* Reads the properties that can be set. */
static int v06_read_properties(pfarg_config_t *cf)
{
	uint64_t arg, buf;

	if (config_number("config/arg_size_max", &arg) < 0 ||
		config_number("config/smpl_buf_size_max", &buf) < 0 ||
		config_group("config/sys_group", &words, &cf->cf_sys_gid) < 0 ||
		config_group("config/thread_group", &words, &cf->cf_thread_gid) < 0)
		return -1;
	cf->cf_arg_size_max = (size_t)arg;
	cf->cf_smpl_buf_size_max = (size_t)buf;
	return 0;
}

/* Writes the properties up to the first one that the daemon refuses. */
static int v06_write_properties(const pfarg_config_t *cf)
{
	if (config_set_number("config/arg_size_max", cf->cf_arg_size_max) < 0 ||
		config_set_number("config/smpl_buf_size_max", cf->cf_smpl_buf_size_max) < 0 ||
		config_set_group("config/sys_group", &words, cf->cf_sys_gid) < 0)
		return -1;
	return config_set_group("config/thread_group", &words, cf->cf_thread_gid);
}

/* Sets all properties or none: after an error, the properties set before it are restored. */
int v06_set_config(int fd, int cmd, void *arg, int n)
{
	pfarg_config_t cf, old;

	(void)fd, (void)cmd;
	if (n != 1)
		return lib_fail(EFAULT);
	if (copy_in(&cf, arg, sizeof(cf)) < 0)
		return -1;
	if (cf.cf_flags)
		return lib_fail(EINVAL);
	if (v06_read_properties(&old) < 0)
		return -1;
	if (v06_write_properties(&cf) == 0)
		return 0;
	int err = errno;
	v06_write_properties(&old);
	return lib_fail(err);
}

/* Sets a bit for each register of the table. */
static int v06_fill_implemented(const char *table, uint64_t *bits, unsigned nbits)
{
	struct reg_info r;
	struct lines l;

	if (mount_open_lines(&l, table) < 0)
		return lib_fail(errno == ENOENT ? ENOSYS : errno);
	while (registers_next(&l, &r))
		if (r.num < nbits)
			bits[r.num / 64] |= UINT64_C(1) << r.num % 64;
	lines_close(&l);
	return 0;
}

int v06_get_config(int fd, int cmd, void *arg, int n)
{
	pfarg_config_t cf = {.cf_version = PFM_VERSION};
	uint64_t width;

	(void)fd, (void)cmd;
	if (n != 1)
		return lib_fail(EFAULT);
	if (v06_fill_implemented("pmu/pmcs", cf.cf_impl_pmcs, PFM_MAX_PMCS) < 0 ||
		v06_fill_implemented("pmu/pmds", cf.cf_impl_pmds, PFM_MAX_PMDS) < 0 ||
		v06_read_properties(&cf) < 0 || config_number("pmu/counter_width", &width) < 0)
		return -1;
	cf.cf_counter_width = (uint16_t)width;
	return copy_out(arg, &cf, sizeof(cf));
}
