/* SPDX-License-Identifier: MIT */
/* Which of the machine's devices a node gets. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "launch/node.h"

#define DEVICES_MAX 256

struct found {
	const char *dev;
	struct node_device *list;
	size_t count;
};

/* Adds DEV/relative as /dev/relative. One that is not there, or is no character device, is left out. */
static void add(struct found *f, const char *relative)
{
	char path[4096];
	struct stat st;
	int len = snprintf(path, sizeof(path), "%s/%s", f->dev, relative);
	if (f->count == DEVICES_MAX || len >= (int)sizeof(path) || strlen(relative) > 50)
		return;
	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode))
		return;
	struct node_device *d = &f->list[f->count++];
	snprintf(d->path, sizeof(d->path), "/dev/%s", relative);
	d->mode = st.st_mode;
	d->number = st.st_rdev;
}

static void add_folder(struct found *f, const char *relative)
{
	char path[4096], file[512];
	snprintf(path, sizeof(path), "%s/%s", f->dev, relative);
	AUTO_DIR dir = opendir(path);
	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		snprintf(file, sizeof(file), "%s/%s", relative, d->d_name);
		add(f, file);
	}
}

/* nvidia0, nvidia1, ...: the driver numbers them without gaps, but one may be bound to another driver, so the whole
 * range is looked at. Source: NVIDIA driver README, "Why does starting X give errors about device files". */
static unsigned add_gpus(struct found *f, unsigned index, unsigned nodes)
{
	unsigned numbers[64], total = 0, mine = 0;
	char path[4096];
	for (unsigned g = 0; g < 64; g++) {
		struct stat st;
		snprintf(path, sizeof(path), "%s/nvidia%u", f->dev, g);
		if (stat(path, &st) == 0 && S_ISCHR(st.st_mode))
			numbers[total++] = g;
	}
	for (unsigned g = 0; g < total; g++) {
		if (g * nodes / total != index)
			continue;
		snprintf(path, sizeof(path), "nvidia%u", numbers[g]);
		add(f, path);
		mine++;
	}
	return mine;
}

int node_devices_find(const char *dev, unsigned index, unsigned nodes, struct node_device **ret, size_t *ret_count,
		      unsigned *ret_gpus, struct err *e)
{
	static const char *const standard[] = { "null", "zero", "full", "random", "urandom", "tty", "kmsg" };
	static const char *const nvidia[] = { "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset" };
	__attribute__((cleanup(own_free))) struct node_device *list = calloc(DEVICES_MAX, sizeof(*list));
	if (!list)
		return err_set(e, -ENOMEM, "find devices");
	struct found f = { .dev = dev, .list = list };
	for (size_t i = 0; i < COUNT_OF(standard); i++)
		add(&f, standard[i]);
	unsigned gpus = add_gpus(&f, index, nodes);
	for (size_t i = 0; i < COUNT_OF(nvidia) && gpus; i++)
		add(&f, nvidia[i]);
	if (gpus)
		add_folder(&f, "nvidia-caps");
	add_folder(&f, "infiniband");
	*ret_count = f.count;
	*ret_gpus = gpus;
	*ret = steal(list);
	return 0;
}
