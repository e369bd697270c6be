/* SPDX-License-Identifier: MIT */
/*
 * What the NVIDIA driver says in the kernel log when a GPU (Xid) or an NVSwitch (SXid) has an error.
 * Forms: kernel_rc.c, osapi.c and common_nvswitch.h of open-gpu-kernel-modules 595.45.04, and what older drivers print.
 */
#ifndef KILN_DEVICE_XID_H
#define KILN_DEVICE_XID_H

#include <stdbool.h>

enum xid_kind {
	XID_GPU,      /* "NVRM: Xid (PCI:…): 63, …" */
	XID_NVSWITCH, /* "nvidia-nvswitch3: SXid (PCI:…): 12028, …" */
	XID_FELL_OFF, /* "The NVIDIA GPU … fallen off the bus" printed without any Xid; its meaning is that of Xid 79 */
};

/* Codes that other code names; all others come from catalog/xid.json. */
enum { XID_CODE_FELL_OFF_BUS = 79, XID_CODE_RECOVERY_ACTION = 154 };

#define XID_BDF_BYTES 24
#define XID_NAME_BYTES 64
#define XID_DETAIL_BYTES 1024
struct xid {
	enum xid_kind kind;
	int code;                  /* XID_FELL_OFF: 79 */
	char bdf[XID_BDF_BYTES];   /* as sysfs writes it, "0000:73:1c.0" (the driver leaves function 0 away) */
	long pid;                  /* -1: not told ('<unknown>', or a form without it) */
	char name[XID_NAME_BYTES]; /* the process; "" when not told. Chosen by its user: never trust it */
	int gi, ci;                /* MIG GPU instance and compute instance; -1: none */
	int link;                  /* NVLink number; -1: none */
	int cause;                 /* "caused by previous Xid N"; -1: none */
	int recovery;              /* Xid 154: the new recovery action's number; -1: none */
	int fatal; /* NVLink 5 Xids and SXids say "Fatal" (1) or "Nonfatal"/"Non-fatal" (0); -1: not told */
	char detail[XID_DETAIL_BYTES]; /* the rest of the line */
};

/* Reads the text of one kernel record, which must begin with the message (as /dev/kmsg gives it: a quotation in the
 * middle of another message does not count). True when it is one of the kinds above; ret is untouched otherwise. */
bool xid_parse(const char *text, struct xid *ret);
/* As xid_parse for a line of a saved log (dmesg, journal, syslog), which has a prefix of its own in front. */
bool xid_parse_line(const char *line, struct xid *ret);

#endif
