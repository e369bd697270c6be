/* SPDX-License-Identifier: MIT */
#include "watch/record.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "catalog/xids.h"

void record_free(struct record *r)
{
	if (!r)
		return;
	free(r->json);
	free(r);
}

/* A string of bytes that anyone may have written: what is not UTF-8 becomes '?'. */
static json_t *string_of(const char *text)
{
	json_t *s = json_string(text);
	if (s)
		return s;
	AUTO_STR copy = strdup(text);
	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	return copy ? json_string(copy) : NULL;
}

static void set(json_t *j, const char *key, const char *text)
{
	json_object_set_new(j, key, string_of(text));
}

/* What every event begins with. id comes second, so that a reader finds it without a parser (sink_file). */
static json_t *event_head(const struct record_origin *o, int64_t wall_ns, const char *id, const char *origin,
			  const char *source)
{
	char time[CLOCK_TEXT_BYTES];
	clock_text_ms(wall_ns, time);
	return json_pack("{ss ss ss ss ss ss ss}", "kind", "event", "id", id, "time", time, "host", o->host, "boot_id",
			 o->boot_id, "origin", origin, "source", source);
}

/* Takes taken. */
static struct record *finish(enum record_kind kind, int64_t wall_ns, const char *id, json_t *taken)
{
	AUTO(record) r = calloc(1, sizeof(*r));
	AUTO_JSON j = taken;
	if (!r || !j)
		return NULL;
	r->kind = kind;
	r->wall_ns = wall_ns;
	snprintf(r->id, sizeof(r->id), "%s", id);
	r->json = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(12));
	return r->json ? steal(r) : NULL;
}

struct meaning {
	const char *type, *name, *meaning, *severity, *nvidia_action, *ec2_action;
};

static const char unknown_action[] = "Contact NVIDIA support with nvidia-bug-report.sh output";

static struct meaning meaning_of_switch(const struct xid *x)
{
	struct meaning m = {
		"sxid",  "UNKNOWN",      "An NVSwitch reported an error; this SXid is not in kiln's catalogue",
		"error", unknown_action, unknown_action
	};
	if (x->fatal == 0) {
		m.severity = "warning";
		m.nvidia_action = m.ec2_action = "None by itself: work goes on; contact NVIDIA support when it repeats";
	} else if (x->fatal == 1) {
		m.severity = "fatal";
		m.nvidia_action = "End the jobs on this node and reset its GPUs and NVSwitches";
		m.ec2_action = "End the jobs on this instance and reboot it";
	}
	return m;
}

static struct meaning meaning_of(const struct xid *x)
{
	if (x->kind == XID_NVSWITCH)
		return meaning_of_switch(x);
	const char *type = x->kind == XID_FELL_OFF ? "fell-off-bus" : "xid";
	const struct xids_row *row = xids_find(x->code);
	if (!row)
		return (struct meaning){ type,    "UNKNOWN",      "This Xid is not in kiln's catalogue",
					 "error", unknown_action, unknown_action };
	struct meaning m = { type, row->name, row->meaning, row->severity, row->nvidia_action, row->ec2_action };
	/* NVLink 5 lines say themselves whether they are fatal. */
	if (x->fatal >= 0)
		m.severity = x->fatal ? "fatal" : "warning";
	const struct xids_recovery *to = x->recovery >= 0 ? xids_find_recovery(x->recovery) : NULL;
	if (to) {
		m.severity = to->severity;
		m.nvidia_action = to->nvidia_action;
		m.ec2_action = to->ec2_action;
	}
	return m;
}

/* What the line told; what it did not tell is left out. */
static void set_told(json_t *j, const struct xid *x)
{
	const struct {
		const char *key;
		int value;
	} numbers[] = { { "gpu_instance", x->gi },
			{ "compute_instance", x->ci },
			{ "link", x->link },
			{ "caused_by", x->cause },
			{ "recovery_action", x->recovery } };
	if (x->pid >= 0)
		json_object_set_new(j, "pid", json_integer(x->pid));
	if (x->name[0])
		set(j, "process", x->name);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		if (numbers[i].value >= 0)
			json_object_set_new(j, numbers[i].key, json_integer(numbers[i].value));
}

struct record *record_of_xid(const struct record_origin *o, int64_t wall_ns, const struct kmsg_record *k,
			     const struct xid *x)
{
	char id[RECORD_ID_BYTES];
	struct meaning m = meaning_of(x);
	snprintf(id, sizeof(id), "%s:%" PRIu64, o->boot_id, k->seq);
	json_t *j = event_head(o, wall_ns, id, k->facility == 0 ? "kernel" : "user", "kmsg");
	if (!j)
		return NULL;
	set(j, "device", x->bdf);
	/* A GPU that is lost without an Xid has no code of its own. */
	if (x->kind != XID_FELL_OFF)
		json_object_set_new(j, "code", json_integer(x->code));
	set(j, "type", m.type);
	set(j, "name", m.name);
	set(j, "meaning", m.meaning);
	set(j, "severity", m.severity);
	set(j, "nvidia_action", m.nvidia_action);
	set(j, "ec2_action", m.ec2_action);
	set_told(j, x);
	set(j, "text", k->text);
	return finish(RECORD_EVENT, wall_ns, id, j);
}

/* An event of the agent's own. Takes j. */
static struct record *own_event(json_t *j, int64_t wall_ns, const char *id, const struct meaning *m, const char *text)
{
	if (!j)
		return NULL;
	set(j, "type", m->type);
	set(j, "name", m->name);
	set(j, "meaning", m->meaning);
	set(j, "severity", m->severity);
	set(j, "nvidia_action", m->nvidia_action);
	set(j, "ec2_action", m->ec2_action);
	set(j, "text", text);
	return finish(RECORD_EVENT, wall_ns, id, j);
}

struct record *record_of_gap(const struct record_origin *o, int64_t wall_ns, uint64_t first, uint64_t last)
{
	static const struct meaning m = {
		"kmsg-gap",
		"KMSG_GAP",
		"The kernel's ring overwrote records before they could be read: an Xid may have been among them",
		"warning",
		"Look at the GPUs' own counters for what the lost lines may have said; a larger log_buf_len keeps more",
		"Look at the GPUs' own counters for what the lost lines may have said; a larger log_buf_len keeps more",
	};
	char id[RECORD_ID_BYTES], text[160];
	snprintf(id, sizeof(id), "%s:gap-%" PRIu64 "-%" PRIu64, o->boot_id, first, last);
	snprintf(text, sizeof(text), "%" PRIu64 " kernel records lost, sequence numbers %" PRIu64 " to %" PRIu64,
		 last - first + 1, first, last);
	json_t *j = event_head(o, wall_ns, id, "kernel", "kmsg");
	if (j) {
		json_object_set_new(j, "first", json_integer((json_int_t)first));
		json_object_set_new(j, "last", json_integer((json_int_t)last));
		json_object_set_new(j, "lost", json_integer((json_int_t)last - (json_int_t)first + 1));
	}
	return own_event(j, wall_ns, id, &m, text);
}

struct record *record_of_hung_nvml(const struct record_origin *o, int64_t wall_ns, uint32_t timeout_ms)
{
	static const struct meaning m = {
		"nvml-hung",
		"NVML_HUNG",
		"The NVIDIA library did not answer: the driver may be stuck, and every program that asks it will wait "
		"too",
		"error",
		"Look for Xid 79, 119 or 120 in the kernel log; restart the machine when the driver stays stuck",
		"Look for Xid 79, 119 or 120 in the kernel log; reboot the instance when the driver stays stuck",
	};
	char id[RECORD_ID_BYTES], text[160];
	snprintf(id, sizeof(id), "%s:nvml-hung-%" PRId64, o->boot_id, wall_ns);
	snprintf(text, sizeof(text), "no answer from NVML in %.3g s; its process is left alone and metrics wait for it",
		 timeout_ms / 1000.0);
	return own_event(event_head(o, wall_ns, id, "kiln", "nvml"), wall_ns, id, &m, text);
}

struct record *record_of_metrics(const struct record_origin *o, int64_t wall_ns, bool simulated, const json_t *about)
{
	char time[CLOCK_TEXT_BYTES];
	clock_text_ms(wall_ns, time);
	json_t *j =
		json_pack("{ss ss ss sb}", "kind", "metrics", "time", time, "host", o->host, "simulated", simulated);
	if (j && json_object_update(j, (json_t *)about) < 0) {
		json_decref(j);
		return NULL;
	}
	return finish(RECORD_METRICS, wall_ns, "", j);
}

static const char *text_at(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));
	return s ? s : "";
}

char *record_readable(const struct record *r)
{
	AUTO_JSON j = json_loads(r->json, 0, NULL);
	if (r->kind != RECORD_EVENT || !j)
		return NULL;
	const json_t *code = json_object_get(j, "code");
	char what[64];
	if (code)
		snprintf(what, sizeof(what), "%s %" JSON_INTEGER_FORMAT,
			 strcmp(text_at(j, "type"), "sxid") == 0 ? "SXid" : "Xid", json_integer_value(code));
	else
		snprintf(what, sizeof(what), "%s", text_at(j, "type"));
	const char *device = text_at(j, "device");
	bool by_user = strcmp(text_at(j, "origin"), "user") == 0;
	AUTO_BUF b;
	buf_init(&b, 16384);
	buf_printf(&b, "%s  %-7s  %s%s%s: %s", text_at(j, "time"), text_at(j, "severity"), what,
		   device[0] ? " on " : "", device, text_at(j, "meaning"));
	if (by_user)
		buf_str(&b, " [written by a program, not by the kernel]");
	buf_printf(&b, " | %s", text_at(j, "text"));
	for (char *c = b.data; c && *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	return buf_steal(&b);
}
