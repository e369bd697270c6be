/* SPDX-License-Identifier: MIT */
#include "base/dynlib.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/buf.h"
#include "base/own.h"

/* The loader's words, which name the file and what was wrong with it. */
static const char *why(void)
{
	const char *text = dlerror();
	return text ? text : "unknown loader error";
}

int dynlib_open(const char *const *sonames, const struct dynlib_symbol *symbols, size_t count, const char *cure,
		void **ret, struct err *e)
{
	void *handle = NULL;
	const char *name = sonames[0];
	AUTO_STR first = NULL; /* what was said of the first name: the one that a reader looks for */

	for (size_t i = 0; i < count; i++)
		*symbols[i].at = NULL;
	for (size_t i = 0; sonames[i] && !handle; i++) {
		name = sonames[i];
		handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!handle && !first)
			first = str_printf("%s", why());
	}
	if (!handle) {
		err_set(e, -ELIBACC, "cannot load %s: %s", sonames[0] ? sonames[0] : "(nothing named)",
			first ? first : "unknown loader error");
		if (cure)
			err_hint(e, "%s", cure);
		return -ELIBACC;
	}
	for (size_t i = 0; i < count; i++) {
		dlerror();
		*symbols[i].at = dlsym(handle, symbols[i].name);
		if (*symbols[i].at || !symbols[i].required)
			continue;
		err_set(e, -ENOSYS, "%s lacks '%s', which kiln needs: its version does not fit", name, symbols[i].name);
		for (size_t j = 0; j <= i; j++)
			*symbols[j].at = NULL;
		dlclose(handle);
		return -ENOSYS;
	}
	*ret = handle;
	return 0;
}
