/* SPDX-License-Identifier: MIT */
/* What an Xid means and what to do about it: catalog/xid.json, made into a table when kiln is built. */
#ifndef KILN_CATALOG_XIDS_H
#define KILN_CATALOG_XIDS_H

struct xids_row {
	int code;
	const char *name;    /* NVIDIA's mnemonic */
	const char *meaning; /* one sentence */
	const char *
		severity; /* "info" nothing to do, "warning" look when convenient, "error" an application is lost, "fatal" the GPU
				    * or the node is lost until something is done */
	const char *whose;         /* who is most often to blame: "hardware", "driver", "application" */
	const char *nvidia_action; /* what NVIDIA's catalogue asks for */
	const char *ec2_action;    /* what that becomes on EC2, where a guest cannot reset a GPU */
	const char *source;        /* URL */
	const char *date;          /* when the source was read: "2026-11-21" */
};

/* Xid 154 tells by a number what the driver asks for now; that overrides what the table says of earlier Xids. */
struct xids_recovery {
	int action;
	const char *name;
	const char *severity;
	const char *nvidia_action;
	const char *ec2_action;
	const char *source;
	const char *date;
};

/* Sorted by code, by action. */
extern const struct xids_row xids_table[];
extern const unsigned xids_table_count;
extern const struct xids_recovery xids_recovery_table[];
extern const unsigned xids_recovery_table_count;

/* NULL: a code that the catalogue does not know. */
const struct xids_row *xids_find(int code);
/* NULL: an action that the catalogue does not know. */
const struct xids_recovery *xids_find_recovery(int action);
/* The known code nearest to `code`, for "did you mean". */
int xids_nearest(int code);

#endif
