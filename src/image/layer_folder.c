/* SPDX-License-Identifier: MIT */
#include "image/layer_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"
#include "base/state.h"

#define FOLDER_PREFIX ".new-"

/* When the process began, in clock ticks since boot (field 22 of /proc/PID/stat); 0: there is no such process. With the
 * number it names a process for good, which the number alone does not. */
static unsigned long long process_start(long pid)
{
	unsigned long long start = 0;
	AUTO_STR path = str_printf("/proc/%ld/stat", pid);
	AUTO_STR text = NULL;

	if (!path || fdio_read_file(AT_FDCWD, path, 65536, &text, NULL, NULL) < 0)
		return 0;
	const char *at = strrchr(text, ')'); /* the program's name may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, " %llu", &start);
	return start;
}

static bool folder_is_dead(const char *name)
{
	long pid = 0;
	unsigned long long start = 0;
	const char *at = strrchr(name, '-');

	while (at && at > name && at[-1] != '-')
		at--; /* back to the number before the last dash */
	if (!at || sscanf(at, "%ld-%llu", &pid, &start) != 2)
		return true;
	return process_start(pid) != start;
}

void layer_folder_remove_dead(const char *layers)
{
	AUTO_DIR dir = opendir(layers);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (strncmp(d->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0 || !folder_is_dead(d->d_name))
			continue;
		AUTO_STR path = fdio_join(layers, d->d_name);
		if (path)
			fdio_remove_tree(path, NULL);
	}
}

int layer_folder_begin(const char *key, char **ret_dir, struct err *e)
{
	AUTO_STR layers = NULL;
	AUTO_STR dir = NULL;
	AUTO_STR fs = NULL;
	AUTO_STR work = NULL;
	int rc = state_dir("layers", &layers, e);
	if (rc < 0)
		return rc;
	/* An image holds set-user-id programs, whoever made it: they are for its nodes, not for this machine's users. */
	if (chmod(layers, 0700) < 0)
		return err_sys(e, "close %s to other users", layers);
	layer_folder_remove_dead(layers);

	dir = str_printf("%s/" FOLDER_PREFIX "%s-%d-%llu", layers, key, (int)getpid(), process_start(getpid()));
	fs = dir ? fdio_join(dir, "fs") : NULL;
	work = dir ? fdio_join(dir, "work") : NULL;
	if (!fs || !work)
		return err_set(e, -ENOMEM, "out of memory for a path");
	rc = fdio_remove_tree(dir, e);
	if (rc == 0)
		rc = fdio_mkdir_p(fs, 0755, e);
	if (rc == 0)
		rc = fdio_mkdir_p(work, 0755, e);
	if (rc == 0 && chmod(fs, 0755) < 0) /* whatever the umask: it becomes the image's / */
		rc = err_sys(e, "set the mode of %s", fs);
	if (rc < 0) {
		fdio_remove_tree(dir, NULL);
		return rc;
	}
	*ret_dir = steal(dir);
	return 0;
}

static int folder_clean(const char *path, struct err *e)
{
	static const char *const kept[] = { ".", "..", "fs", "layer.tgz", "layer.json" };
	AUTO_DIR dir = opendir(path);
	if (!dir)
		return err_sys(e, "list %s", path);

	for (struct dirent *d; (d = readdir(dir));) {
		bool keep = false;
		for (size_t i = 0; i < COUNT_OF(kept); i++)
			keep = keep || strcmp(d->d_name, kept[i]) == 0;
		AUTO_STR sub = keep ? NULL : fdio_join(path, d->d_name);
		int rc = sub ? fdio_remove_tree(sub, e) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int layer_folder_keep(const char *dir, const char *at, struct err *e)
{
	int rc = folder_clean(dir, e);
	if (rc < 0)
		return rc;

	/* Layers are written without fsync (dpkg's is switched off): one for all before the name says that it is whole. */
	AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0)
		return err_sys(e, "bring %s to disk", dir);
	if (rename(dir, at) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return err_sys(e, "rename %s", dir);
	AUTO_STR old = str_printf("%s.old", dir); /* begins with .new-: removed later if we die here */
	if (!old)
		return err_set(e, -ENOMEM, "out of memory for a path");
	if (rename(at, old) < 0 || rename(dir, at) < 0)
		return err_sys(e, "replace %s", at);
	return fdio_remove_tree(old, e);
}
