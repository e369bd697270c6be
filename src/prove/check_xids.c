/* SPDX-License-Identifier: MIT */
/* The kernel's log, since boot, tells of no GPU or NVSwitch error that the node still suffers from. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "catalog/xids.h"
#include "device/kmsg.h"
#include "device/xid.h"
#include "prove/check_rows.h"

#define MAX_SEEN 32 /* different errors that are told one by one */

struct seen {
	struct {
		enum xid_kind kind;
		int code;
		char bdf[XID_BDF_BYTES];
		unsigned times;
		enum check_outcome outcome;
		const char *meaning;
	} at[MAX_SEEN];
	size_t count;
	unsigned left_out; /* errors past MAX_SEEN */
	unsigned written;  /* lines that look like Xids but were written by a process */
	bool overrun;      /* the ring no longer holds its beginning */
};

/* The worst that one error says about the node, from the catalogue. What an application did to itself is told, and is
 * no fault of the node's. */
static enum check_outcome judge(const struct xid *x, const char **ret_meaning)
{
	const struct xids_row *row = xids_find(x->code);
	const struct xids_recovery *action =
		x->kind == XID_GPU && x->code == XID_CODE_RECOVERY_ACTION ? xids_find_recovery(x->recovery) : NULL;
	*ret_meaning = "not in the catalogue";
	if (x->kind == XID_NVSWITCH) {
		*ret_meaning = x->fatal == 1 ? "fatal NVSwitch error" : "NVSwitch error";
		return x->fatal == 1 ? CHECK_FAIL : CHECK_WARN;
	}
	if (action) {
		*ret_meaning = action->name;
		return strcmp(action->severity, "fatal") == 0  ? CHECK_FAIL
		       : strcmp(action->severity, "info") == 0 ? CHECK_PASS
							       : CHECK_WARN;
	}
	if (!row)
		return CHECK_WARN;
	*ret_meaning = row->meaning;
	if (strcmp(row->severity, "fatal") == 0)
		return CHECK_FAIL;
	return strcmp(row->severity, "info") == 0 || strcmp(row->whose, "application") == 0 ? CHECK_PASS : CHECK_WARN;
}

static void note(struct seen *s, const struct xid *x)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->at[i].kind != x->kind || s->at[i].code != x->code || strcmp(s->at[i].bdf, x->bdf) != 0)
			continue;
		s->at[i].times++;
		/* Xid 154 names the recovery that is asked for now, so its last line counts. */
		if (x->code == XID_CODE_RECOVERY_ACTION)
			s->at[i].outcome = judge(x, &s->at[i].meaning);
		return;
	}
	if (s->count == MAX_SEEN) {
		s->left_out++;
		return;
	}
	s->at[s->count].kind = x->kind;
	s->at[s->count].code = x->code;
	s->at[s->count].times = 1;
	snprintf(s->at[s->count].bdf, sizeof(s->at[0].bdf), "%s", x->bdf);
	s->at[s->count].outcome = judge(x, &s->at[s->count].meaning);
	s->count++;
}

/* To the log's end as it is now. */
static int read_log(struct kmsg *log, struct seen *s, struct err *e)
{
	struct kmsg_record record;
	struct xid x;
	bool first = true;
	for (;;) {
		int r = kmsg_next(log, &record, e);
		if (r == -EAGAIN || r == 0)
			return 0;
		if (r == -EPIPE || r == -EBADMSG) {
			s->overrun |= r == -EPIPE;
			continue;
		}
		if (r < 0)
			return r;
		s->overrun |= first && record.seq > 0;
		first = false;
		if (!xid_parse(record.text, &x))
			continue;
		if (record.facility == 0)
			note(s, &x);
		else
			s->written++;
	}
}

static void tell(const struct seen *s, struct check_result *ret)
{
	for (size_t i = 0; i < s->count; i++) {
		check_worsen(ret, s->at[i].outcome);
		check_add(ret, "%s %d on %s (%s)", s->at[i].kind == XID_NVSWITCH ? "SXid" : "Xid", s->at[i].code,
			  s->at[i].bdf, s->at[i].meaning);
		if (s->at[i].times > 1) {
			size_t len = strlen(ret->evidence);
			snprintf(ret->evidence + len, sizeof(ret->evidence) - len, ", %u times", s->at[i].times);
		}
		const struct xids_row *row = xids_find(s->at[i].code);
		if (s->at[i].kind != XID_NVSWITCH && row && s->at[i].outcome == CHECK_FAIL && !*ret->mend)
			check_mend(ret, "Xid %d: %s", row->code, row->ec2_action);
	}
	if (s->left_out)
		check_add(ret, "%u more", s->left_out);
	if (s->written)
		check_add(ret,
			  "%u line%s that look%s like an Xid came from a process, not from the kernel: not counted",
			  s->written, s->written == 1 ? "" : "s", s->written == 1 ? "s" : "");
	if (s->overrun)
		check_add(ret, "the log's beginning has been overwritten");
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO(kmsg) log = NULL;
	struct seen s = { 0 };
	if (!world_exists(c->world, "/dev/kmsg"))
		return check_skip(ret, "no kernel log (/dev/kmsg)");
	int r = kmsg_open(c->world, "/dev/kmsg", &log, e);
	if (r < 0)
		return r;
	r = read_log(log, &s, e);
	if (r < 0)
		return r;
	check_pass(ret, "%s", s.count ? "" : "no Xid or SXid in /dev/kmsg");
	tell(&s, ret);
	return 0;
}

const struct check check_xids = {
	.id = "xids",
	.what = "the kernel's log since boot has no GPU error that lasts (Xid, SXid)",
	.severity = CHECK_FAIL,
	.why = "a GPU that has had one of these fails the next job too, or computes wrong results",
	.mend = "kiln explain xid N tells what it means; drain the node, reboot it, and if it comes back ask for "
		"another instance",
	.source = "https://docs.nvidia.com/deploy/xid-errors/index.html",
	.run = run,
};
