/* SPDX-License-Identifier: MIT */
#include "bake/target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

#define TARGET_NEW_FORMAT ".new-%ld" /* how oci_write and sqsh_write name what they make, behind the output's name */

const struct bake_target *const target_rows[] = { &target_oci, &target_sqsh, NULL };

const struct bake_target *target_find(const char *name)
{
	for (size_t i = 0; target_rows[i]; i++)
		if (strcmp(target_rows[i]->name, name) == 0)
			return target_rows[i];
	return NULL;
}

int target_check_folder(const char *output, struct err *e)
{
	AUTO_STR copy = strdup(output);
	struct stat st;
	if (!copy)
		return err_set(e, -ENOMEM, "out of memory for a path");

	char *slash = strrchr(copy, '/');
	if (slash && slash != copy)
		*slash = '\0';
	const char *parent = !slash ? "." : slash == copy ? "/" : copy;
	if (stat(parent, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_input(e, "%s: there is no folder %s: make it or choose another --output", output, parent);
	if (access(parent, W_OK | X_OK) < 0) /* root is refused only by a read-only file system: to a user the same */
		return err_native(e, -EACCES, ERR_SYS, errno,
				  "%s: the folder %s cannot be written (%s): choose another --output", output, parent,
				  strerror(errno));
	return 0;
}

void target_remove_left_overs(const char *output)
{
	const char *slash = strrchr(output, '/');
	const char *base = slash ? slash + 1 : output;
	size_t base_len = strlen(base);
	AUTO_STR parent = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup("./");
	AUTO_DIR dir = parent ? opendir(parent) : NULL;

	for (struct dirent *d; dir && (d = readdir(dir));) {
		long pid = 0;
		int used = 0;
		if (strncmp(d->d_name, base, base_len) != 0 ||
		    sscanf(d->d_name + base_len, TARGET_NEW_FORMAT "%n", &pid, &used) != 1 ||
		    d->d_name[base_len + (size_t)used] || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			continue;
		AUTO_STR path = str_printf("%s%s", parent, d->d_name);
		if (path)
			fdio_remove_tree(path, NULL);
	}
}

/* Sets NAME=value in a list that has room for it. */
static int env_set(char **env, const char *pair)
{
	size_t name_len = strcspn(pair, "=") + 1;
	char *copy = strdup(pair);
	if (!copy)
		return -ENOMEM;
	while (*env && strncmp(*env, pair, name_len) != 0)
		env++;
	free(*env);
	*env = copy;
	return 0;
}

int target_env(const struct plan *p, char ***ret, struct err *e)
{
	size_t most = 2;
	for (char **v = p->env; v && *v; v++)
		most++;
	for (size_t i = 0; i < p->step_count; i++)
		for (char **v = p->steps[i].image_env; v && *v; v++)
			most++;

	AUTO_STRINGS env = calloc(most, sizeof(*env));
	int rc = env ? env_set(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") : -ENOMEM;
	for (size_t i = 0; i < p->step_count; i++)
		for (char **v = p->steps[i].image_env; v && *v && rc == 0; v++)
			rc = env_set(env, *v);
	for (char **v = p->env; v && *v && rc == 0; v++)
		rc = env_set(env, *v);
	if (rc < 0)
		return err_set(e, rc, "out of memory for the image's environment");
	*ret = steal(env);
	return 0;
}
