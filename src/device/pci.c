/* SPDX-License-Identifier: MIT */
#include "device/pci.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define DEVICES "/sys/bus/pci/devices"

static bool read_hex(const struct world *w, const char *bdf, const char *file, unsigned *ret)
{
	char path[128];
	AUTO_STR text = NULL;
	snprintf(path, sizeof(path), DEVICES "/%s/%s", bdf, file);
	if (world_read(w, path, &text, NULL) < 0)
		return false;
	*ret = (unsigned)strtoul(text, NULL, 16);
	return true;
}

/* The line "DRIVER=nvidia" of uevent; "" when no driver is bound. */
static void read_driver(const struct world *w, const char *bdf, char *ret, size_t size)
{
	char path[128];
	AUTO_STR text = NULL;
	ret[0] = '\0';
	snprintf(path, sizeof(path), DEVICES "/%s/uevent", bdf);
	if (world_read(w, path, &text, NULL) < 0)
		return;
	const char *at = strncmp(text, "DRIVER=", 7) == 0 ? text : strstr(text, "\nDRIVER=");
	if (!at)
		return;
	at = strchr(at, '=') + 1;
	snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static bool is_gpu(const struct pci_function *f)
{
	return f->vendor == 0x10de && (f->class_code >> 8 == 0x0300 || f->class_code >> 8 == 0x0302);
}

static bool is_efa(const struct pci_function *f)
{
	return f->vendor == 0x1d0f && (f->device & 0xfff0) == 0xefa0;
}

static int list(const struct world *w, bool (*wanted)(const struct pci_function *), struct pci_function **ret,
		size_t *ret_count, struct err *e)
{
	AUTO_STRINGS names = NULL;
	int rc = world_list(w, DEVICES, &names, e);
	if (rc < 0)
		return rc;
	size_t names_count = 0, count = 0;
	while (names && names[names_count])
		names_count++;
	struct pci_function *found __attribute__((cleanup(own_free))) = calloc(names_count + 1, sizeof(*found));
	if (!found)
		return err_set(e, -ENOMEM, "PCI devices: no memory");
	for (size_t i = 0; i < names_count; i++) {
		struct pci_function f = { 0 };
		if (strlen(names[i]) >= sizeof(f.bdf) || !read_hex(w, names[i], "vendor", &f.vendor) ||
		    !read_hex(w, names[i], "device", &f.device) || !read_hex(w, names[i], "class", &f.class_code) ||
		    !wanted(&f))
			continue;
		snprintf(f.bdf, sizeof(f.bdf), "%s", names[i]);
		read_driver(w, f.bdf, f.driver, sizeof(f.driver));
		found[count++] = f;
	}
	*ret = steal(found);
	*ret_count = count;
	return 0;
}

int pci_list_gpus(const struct world *w, struct pci_function **ret, size_t *ret_count, struct err *e)
{
	return list(w, is_gpu, ret, ret_count, e);
}

int pci_list_efa(const struct world *w, struct pci_function **ret, size_t *ret_count, struct err *e)
{
	return list(w, is_efa, ret, ret_count, e);
}
