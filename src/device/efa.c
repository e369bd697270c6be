/* SPDX-License-Identifier: MIT */
#include "device/efa.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define CLASS "/sys/class/infiniband"
/* Room for the 22 port and 15 device counters of r3.1.0 and for as many that later drivers may add. */
#define COUNTERS_MAX 96

static int read_text(const struct world *w, const char *device, const char *file, char **ret)
{
	char path[256];
	snprintf(path, sizeof(path), CLASS "/%s/%s", device, file);
	return world_read(w, path, ret, NULL);
}

static void copy_line(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%.*s", (int)strcspn(from, "\n"), from);
}

/* The value of "KEY=" in uevent's lines. */
static void read_uevent(const char *uevent, const char *key, char *ret, size_t size)
{
	size_t n = strlen(key);
	ret[0] = '\0';
	for (const char *at = uevent; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, n) == 0) {
			copy_line(ret, size, at + n);
			return;
		}
	}
}

/* By the PCI identity, since both names ("rdmap0s6", "efa_0") and other vendors' devices share the folder. */
static bool is_efa(const struct world *w, const char *name)
{
	AUTO_STR vendor = NULL;
	AUTO_STR device = NULL;
	return read_text(w, name, "device/vendor", &vendor) == 0 && strtoul(vendor, NULL, 16) == 0x1d0f &&
	       read_text(w, name, "device/device", &device) == 0 && (strtoul(device, NULL, 16) & 0xfff0) == 0xefa0;
}

static void read_device(const struct world *w, const char *name, struct efa_device *ret)
{
	AUTO_STR uevent = NULL;
	AUTO_STR firmware = NULL;
	AUTO_STR state = NULL;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (read_text(w, name, "device/uevent", &uevent) == 0)
		read_uevent(uevent, "PCI_SLOT_NAME=", ret->bdf, sizeof(ret->bdf));
	if (read_text(w, name, "fw_ver", &firmware) == 0)
		copy_line(ret->firmware, sizeof(ret->firmware), firmware);
	ret->port_active = read_text(w, name, "ports/1/state", &state) == 0 && strncmp(state, "4:", 2) == 0;
}

int efa_list(const struct world *w, struct efa_device **ret, size_t *ret_count, struct err *e)
{
	AUTO_STRINGS names = NULL;
	int rc = world_list(w, CLASS, &names, e);
	if (rc < 0)
		return rc;
	size_t names_count = 0, count = 0;
	while (names && names[names_count])
		names_count++;
	struct efa_device *found __attribute__((cleanup(own_free))) = calloc(names_count + 1, sizeof(*found));
	if (!found)
		return err_set(e, -ENOMEM, "EFA devices: no memory");
	for (size_t i = 0; i < names_count; i++)
		if (strlen(names[i]) < sizeof(found->name) && is_efa(w, names[i]))
			read_device(w, names[i], &found[count++]);
	*ret = steal(found);
	*ret_count = count;
	return 0;
}

int efa_driver_version(const struct world *w, char **ret, struct err *e)
{
	if (world_read(w, "/sys/module/efa/version", ret, NULL) == 0)
		return 0;
	return err_set(e, -ENOENT, "the efa kernel module is not loaded");
}

/* An unsupported counter gives EOPNOTSUPP or EINVAL when it is read: it is passed over. */
static size_t read_counters(const struct world *w, const char *name, const char *folder, bool of_port,
			    struct efa_counter *to, size_t room)
{
	char path[256];
	AUTO_STRINGS files = NULL;
	size_t count = 0;
	snprintf(path, sizeof(path), CLASS "/%s/%s", name, folder);
	if (world_list(w, path, &files, NULL) < 0)
		return 0;
	for (size_t i = 0; files && files[i] && count < room; i++) {
		AUTO_STR text = NULL;
		char *end;
		if (strcmp(files[i], "lifespan") == 0 || strlen(files[i]) >= sizeof(to->name))
			continue;
		snprintf(path, sizeof(path), CLASS "/%s/%s/%s", name, folder, files[i]);
		if (world_read(w, path, &text, NULL) < 0 || !isdigit((unsigned char)text[0]))
			continue;
		errno = 0;
		uint64_t value = strtoull(text, &end, 10);
		if (errno || (*end && !isspace((unsigned char)*end)))
			continue;
		snprintf(to[count].name, sizeof(to->name), "%s", files[i]);
		to[count].value = value;
		to[count++].of_port = of_port;
	}
	return count;
}

int efa_counters(const struct world *w, const char *name, struct efa_counter **ret, size_t *ret_count, struct err *e)
{
	char path[256];
	snprintf(path, sizeof(path), CLASS "/%s", name);
	if (!world_exists(w, path))
		return err_set(e, -ENOENT, "no EFA device '%s'", name);
	struct efa_counter *found __attribute__((cleanup(own_free))) = calloc(COUNTERS_MAX, sizeof(*found));
	if (!found)
		return err_set(e, -ENOMEM, "EFA counters: no memory");
	size_t n = read_counters(w, name, "ports/1/hw_counters", true, found, COUNTERS_MAX);
	n += read_counters(w, name, "hw_counters", false, found + n, COUNTERS_MAX - n);
	*ret = steal(found);
	*ret_count = n;
	return 0;
}
