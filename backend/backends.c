// SPDX-License-Identifier: MIT
/* The table of backends. BACKENDS has a ROW(NAME) for each backend in backend/meson.build. */
#include "perfmonfs/backend.h"

#include <errno.h>
#include <string.h>

#define ROW(name) extern const struct backend_ops name##_backend_ops;
BACKENDS
#undef ROW

#define ROW(name) &name##_backend_ops,
const struct backend_ops *const backends[] = {BACKENDS NULL};
#undef ROW

void backend_usage(const struct backend_ops *ops, struct text *out)
{
	text_printf(out, "%s%s", ops->name, ops->model_name ? "[:MODEL]" : "");
}

int backend_find(
	const char *word, struct backend_conf *conf, const struct backend_ops **out, struct err *e)
{
	size_t n = word ? strcspn(word, ":") : 0;
	TEXT_CLEANUP struct text names = {0};

	*out = backends[0];
	if (!word)
		return 0;
	for (unsigned i = 0; backends[i]; i++) {
		*out = backends[i];
		if (strlen((*out)->name) == n && memcmp((*out)->name, word, n) == 0 &&
			(!word[n] || (*out)->model_name)) {
			conf->model = word[n] ? word + n + 1 : NULL;
			return 0;
		}
		text_printf(&names, "%s", i ? ", " : "");
		backend_usage(*out, &names);
	}
	return err_set(e, EINVAL, "backend '%s': EINVAL: choose one of %s", word,
		text_ok(&names) ? names.p : "those of --help");
}
