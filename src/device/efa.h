/* SPDX-License-Identifier: MIT */
/* EFA devices and their counters, from sysfs. Counter names: amzn-drivers, kernel/linux/efa/src/efa_verbs.c (r3.1.0). */
#ifndef KILN_DEVICE_EFA_H
#define KILN_DEVICE_EFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/world.h"

struct efa_device {
	char name[40];     /* "rdmap0s6" */
	char bdf[20];      /* "0000:00:06.0"; "" when sysfs does not tell */
	char firmware[40]; /* fw_ver; "" when sysfs does not tell */
	bool port_active;  /* port 1 says "4: ACTIVE" */
};
/* The EFA devices of the machine, sorted by name. Gives a list (free() it); 0 devices is a valid answer. A recorded tree
 * works. -ENOMEM. */
int efa_list(const struct world *w, struct efa_device **ret, size_t *ret_count, struct err *e);

/* The efa kernel module's version; gives the text ("2.17.2"). -ENOENT: the module is not loaded. */
int efa_driver_version(const struct world *w, char **ret, struct err *e);

struct efa_counter {
	char name[48];
	uint64_t value;
	bool of_port; /* false: of the device */
};
/* All counters of one device, read back to back: each refresh costs the device up to five admin commands and is cached for
 * `lifespan` (10 ms). Counters that the hardware does not support are left out, never given as 0. Gives a list
 * (free() it). -ENOENT: no such device. */
int efa_counters(const struct world *w, const char *name, struct efa_counter **ret, size_t *ret_count, struct err *e);

#endif
