/* SPDX-License-Identifier: MIT */
/*
 * /dev/kmsg: one record per read(2): "prio,seq,usec,flags[,…];text\n" and then lines " KEY=value\n".
 * Source: Documentation/ABI/testing/dev-kmsg and kernel/printk/printk.c of Linux 6.
 */
#ifndef KILN_DEVICE_KMSG_H
#define KILN_DEVICE_KMSG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "base/world.h"

/* The kernel's own limit for one record with its prefix and keys (CONSOLE_EXT_LOG_MAX, PRINTKRB_RECORD_MAX). */
#define KMSG_RECORD_BYTES 8192

struct kmsg_record {
	uint64_t seq;
	uint64_t usec;  /* since boot, the kernel's local clock */
	unsigned level; /* 0 (emergency) … 7 (debug) */
	unsigned
		facility; /* 0: printed by the kernel itself. User space that writes to /dev/kmsg gets 1 or more, also with "<0>" */
	char text[KMSG_RECORD_BYTES]; /* escapes undone; a multi-line message holds newlines; NUL bytes become '?' */
	char device[64];              /* the DEVICE= key: "+pci:0000:31:00.0"; "" when there is none */
};

/* Reads one record. -EBADMSG: not a record. ret is undefined on failure. */
int kmsg_parse(const char *raw, size_t len, struct kmsg_record *ret, struct err *e);

struct kmsg; /* an open log: the device, or a file or FIFO that holds records one per line */

/* path as on the machine. From the oldest record that the ring still holds. -EACCES/-EPERM: reading the log needs root or
 * CAP_SYSLOG; -ENODEV: no such log. */
int kmsg_open(const struct world *w, const char *path, struct kmsg **ret, struct err *e);
void kmsg_free(struct kmsg *k);
AUTO_DEFINE(kmsg)
/* To poll(2) for input, when kmsg_wait_ms says so. */
int kmsg_fd(const struct kmsg *k);
/* -1: poll the descriptor; >= 0: the log is a file or a FIFO, look again after so many milliseconds. */
int kmsg_wait_ms(const struct kmsg *k);

/* The next record. 1: there is one. -EAGAIN: none now. -EPIPE: the ring overwrote records before they were read; the
 * next record's seq tells how many. -EBADMSG: an unreadable record, which was passed over. Else: read errors. */
int kmsg_next(struct kmsg *k, struct kmsg_record *ret, struct err *e);

#endif
