/* SPDX-License-Identifier: MIT */
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

/* A variable that is set to nothing counts as not set. */
static const char *env(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* Absolute, since children run in other folders. NULL: out of memory, or no working folder. */
static char *absolute(const char *path)
{
	if (path[0] == '/')
		return strdup(path);
	AUTO_STR here = getcwd(NULL, 0);
	return here ? fdio_join(here, path) : NULL;
}

/* The state folder's name; NULL when nothing says where it is. */
static char *state_root(void)
{
	if (env("KILN_STATE"))
		return absolute(env("KILN_STATE"));
	if (geteuid() == 0)
		return strdup("/var/lib/kiln");
	if (env("XDG_STATE_HOME"))
		return str_printf("%s/kiln", env("XDG_STATE_HOME"));
	if (env("HOME"))
		return str_printf("%s/.local/state/kiln", env("HOME"));
	return NULL;
}

int state_dir(const char *sub, char **ret, struct err *e)
{
	AUTO_STR root = state_root();
	if (!root)
		return err_set(e, -ENOENT, "there is no folder for kiln's state: neither HOME nor KILN_STATE is set");
	AUTO_STR dir = sub && *sub ? fdio_join(root, sub) : strdup(root);
	if (!dir)
		return err_set(e, -ENOMEM, "state folder: out of memory");
	int rc = fdio_mkdir_p(dir, 0755, e);
	if (rc < 0) {
		err_hint(e, "set KILN_STATE to a folder that you may write");
		return rc;
	}
	*ret = steal(dir);
	return 0;
}

/* Whether this program lies in the build folder it was built in. */
static bool runs_from_build(void)
{
	char exe[4096];
	size_t n = strlen(KILN_BUILD_DIR);
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (len < 0)
		return false;
	exe[len] = '\0';
	return strncmp(exe, KILN_BUILD_DIR, n) == 0 && exe[n] == '/';
}

int state_data(const char *sub, char **ret, struct err *e)
{
	const char *root = env("KILN_DATA");
	bool said = root != NULL;
	if (!root)
		root = runs_from_build() ? KILN_SOURCE_DIR : KILN_DATA_DIR;
	AUTO_STR whole = absolute(root);
	AUTO_STR dir = whole ? fdio_join(whole, sub) : NULL;
	if (!dir)
		return err_set(e, -ENOMEM, "data folder: out of memory");
	if (!fdio_exists(AT_FDCWD, dir))
		return err_set(e, -ENOSYS, "kiln's data is not there: '%s' is missing; %s", dir,
			       said ? "KILN_DATA must name the folder that holds it"
				    : "install kiln with its data, or name the folder in KILN_DATA");
	*ret = steal(dir);
	return 0;
}
