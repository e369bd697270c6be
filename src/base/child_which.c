/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/own.h"

static bool runs(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

char *child_which(const char *name)
{
	if (strchr(name, '/'))
		return runs(name) ? strdup(name) : NULL;
	const char *at = getenv("PATH");
	if (!at)
		at = "/bin:/usr/bin"; /* as execvp */
	for (;;) {
		size_t n = strcspn(at, ":");
		AUTO_STR path = str_printf("%.*s%s%s", (int)n, at, n ? "/" : "./", name);
		if (path && *name && runs(path))
			return steal(path);
		if (!at[n])
			return NULL;
		at += n + 1;
	}
}
