/* SPDX-License-Identifier: MIT */
#include "prove/transfer.h"

static json_t *ranks(const struct team *t)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < t->ranks->size; i++)
		json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "rank", (int)i, "host",
						      t->ranks->members[i].host, "address", t->addresses[i]));
	return list;
}

static json_t *bursts(const struct transfer_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->burst_count; i++) {
		const struct transfer_burst *b = &r->bursts[i];
		json_array_append_new(list, json_pack("{s:i, s:i, s:i, s:i}", "from", (int)b->from, "to", (int)b->to,
						      "received", (int)b->received, "bad", (int)b->bad));
	}
	return list;
}

static json_t *sizes(const struct transfer_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->size_count; i++) {
		const struct transfer_size *s = &r->sizes[i];
		json_array_append_new(list, json_pack("{s:i, s:i, s:I, s:i, s:f, s:f, s:f, s:f}", "from", (int)s->from,
						      "to", (int)s->to, "bytes", (json_int_t)s->bytes, "iterations",
						      (int)s->iterations, "latency_min_us", s->latency_min_us,
						      "latency_p50_us", s->latency_p50_us, "latency_p99_us",
						      s->latency_p99_us, "bandwidth_gb_s", s->bandwidth_gb_s));
	}
	return list;
}

json_t *transfer_json(const struct team *t, const struct transfer_options *o, const struct transfer_result *r)
{
	const struct libfabric *lib = t->provider->lib;
	char library[64];
	double load[3] = { 0 };

	getloadavg(load, 3);
	snprintf(library, sizeof(library), "libfabric %u.%u", FI_MAJOR(lib->library_version),
		 FI_MINOR(lib->library_version));
	return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:i, s:I, s:b, s:o, s:o, s:[f, f, f], s:s}",
			 "kiln", "prove transfer", "version", 1, "provider", t->provider->name, "fabric",
			 t->provider->info->fabric_attr->name, "domain", t->provider->info->domain_attr->name,
			 "library", library, "library_path", lib->path, "rdma", (int)t->provider->is_rdma, "ranks",
			 ranks(t), "messages", (int)o->messages, "message_bytes", (json_int_t)o->message_bytes,
			 "verified", (int)r->verified, "bursts", bursts(r), "sizes", sizes(r), "load_average", load[0],
			 load[1], load[2], "verdict", r->verified ? "pass" : "fail");
}
