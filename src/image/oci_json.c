/* SPDX-License-Identifier: MIT */
#include "image/oci_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"

json_t *oci_json_map(char *const *pairs)
{
	json_t *map = json_object();

	for (; pairs && *pairs; pairs++) {
		const char *value = strchr(*pairs, '=');
		if (value)
			json_object_setn_new(map, *pairs, (size_t)(value - *pairs), json_string(value + 1));
	}
	return map;
}

char **oci_json_pairs(const json_t *map)
{
	AUTO_STRINGS pairs = calloc(json_object_size(map) + 1, sizeof(*pairs));
	size_t n = 0;
	const char *key;
	json_t *value;

	if (!pairs)
		return NULL;
	json_object_foreach ((json_t *)map, key, value) {
		const char *text = json_string_value(value);
		if (!text)
			continue;
		pairs[n] = str_printf("%s=%s", key, text);
		if (!pairs[n++])
			return NULL;
	}
	return steal(pairs);
}

static json_t *hex_digest(const char *hex)
{
	return json_sprintf("sha256:%s", hex);
}

static json_t *json_strings(char *const *strings)
{
	json_t *array = json_array();
	for (; strings && *strings; strings++)
		json_array_append_new(array, json_string(*strings));
	return array;
}

json_t *oci_json_config(const struct oci_spec *s)
{
	char created[CLOCK_TEXT_BYTES];
	AUTO_JSON diffs = json_array();
	AUTO_JSON history = json_array();

	clock_text(s->epoch * 1000000000, created);
	for (size_t i = 0; i < s->layer_count; i++) {
		const struct layer_info *l = &s->layers[i];
		json_array_append_new(diffs, hex_digest(l->diff_id));
		json_array_append_new(history, json_pack("{s:s s:o}", "created", created, "created_by",
							 json_sprintf("kiln bake: %s%s%s", l->component,
								      l->version[0] ? " " : "", l->version)));
	}
	return json_pack("{s:s s:s s:s s:{s:o s:[s] s:s s:o} s:{s:s s:O} s:O}", "created", created, "architecture",
			 s->architecture, "os", "linux", "config", "Env", json_strings(s->env), "Cmd", "/bin/bash",
			 "WorkingDir", "/", "Labels", oci_json_map(s->labels), "rootfs", "type", "layers", "diff_ids",
			 diffs, "history", history);
}

json_t *oci_json_manifest(const struct oci_spec *s, const char *config_digest, size_t config_bytes)
{
	AUTO_JSON layers = json_array();

	for (size_t i = 0; i < s->layer_count; i++)
		json_array_append_new(layers, json_pack("{s:s s:o s:I}", "mediaType", OCI_TYPE_LAYER "+gzip", "digest",
							hex_digest(s->layers[i].digest), "size",
							(json_int_t)s->layers[i].bytes));
	return json_pack("{s:i s:s s:{s:s s:o s:I} s:O s:o}", "schemaVersion", 2, "mediaType", OCI_TYPE_MANIFEST,
			 "config", "mediaType", OCI_TYPE_CONFIG, "digest", hex_digest(config_digest), "size",
			 (json_int_t)config_bytes, "layers", layers, "annotations", oci_json_map(s->labels));
}

json_t *oci_json_index(const struct oci_spec *s, const char *manifest_digest, size_t manifest_bytes)
{
	const char *colon = strrchr(s->name, ':');
	const char *tag = colon ? colon + 1 : "latest";

	/* The tag alone is what skopeo and umoci write and look for; the full name is what podman load and ctr use. */
	return json_pack("{s:i s:s s:[{s:s s:o s:I s:{s:s s:s} s:{s:s s:o}}]}", "schemaVersion", 2, "mediaType",
			 OCI_TYPE_INDEX, "manifests", "mediaType", OCI_TYPE_MANIFEST, "digest",
			 hex_digest(manifest_digest), "size", (json_int_t)manifest_bytes, "platform", "architecture",
			 s->architecture, "os", "linux", "annotations", "org.opencontainers.image.ref.name", tag,
			 "io.containerd.image.name", json_sprintf(OCI_NAME_PREFIX "%s", s->name));
}
