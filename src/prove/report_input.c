/* SPDX-License-Identifier: MIT */
/* Result files, told apart by what is in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fdio.h"
#include "base/json.h"
#include "prove/report.h"
#include "prove/report_html.h"

#define MAX_FILE_BYTES (64 << 20)
#define MAX_TOTAL_BYTES (256 << 20)

/* Where a result goes, and the array that makes it one: a file that lacks it was cut off, or made by something else. */
static json_t *place(const struct report *r, const char *kiln, const char **ret_array)
{
	static const struct {
		const char *kiln, *array;
		size_t at;
	} table[] = {
		{ "plan", "steps", offsetof(struct report, plans) },
		{ "bake", NULL, offsetof(struct report, bakes) },
		{ "launch", "nodes", offsetof(struct report, clusters) },
		{ "launch up", "nodes", offsetof(struct report, clusters) },
		{ "launch status", "nodes", offsetof(struct report, clusters) },
		{ "prove node", "checks", offsetof(struct report, nodes) },
		{ "prove transfer", "sizes", offsetof(struct report, transfers) },
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (strcmp(kiln, table[i].kiln) != 0)
			continue;
		*ret_array = table[i].array;
		return *(json_t *const *)((const char *)r + table[i].at);
	}
	if (strncmp(kiln, "prove all_", 10) != 0 && strncmp(kiln, "prove reduce", 12) != 0 &&
	    strncmp(kiln, "prove broadcast", 15) != 0)
		return NULL;
	*ret_array = "results";
	return r->collectives;
}

static bool holds_objects(const json_t *array)
{
	size_t i;
	json_t *element;
	json_array_foreach (array, i, element)
		if (!json_is_object(element))
			return false;
	return json_is_array(array);
}

/* kiln watch once --json: its GPUs as if they were lines of metrics. */
static int add_sample(struct report *r, const char *path, const json_t *sample, struct err *e)
{
	static const char *const common[] = { "time", "host", "simulated" };
	const json_t *gpus = json_object_get(sample, "gpus");
	size_t i;
	json_t *gpu;
	if (!holds_objects(gpus))
		return err_input(e, "%s: 'gpus' is missing or is not a list of objects", path);
	json_array_foreach (gpus, i, gpu) {
		AUTO_JSON line = json_copy(gpu);
		for (size_t k = 0; line && k < COUNT_OF(common); k++)
			if (json_object_get(sample, common[k]))
				json_object_set(line, common[k], json_object_get(sample, common[k]));
		if (!line || json_array_append(r->metrics, line) < 0)
			return err_set(e, -ENOMEM, "%s", path);
	}
	return 0;
}

static int add_result(struct report *r, const char *path, json_t *root, struct err *e)
{
	const char *array = NULL;
	const json_t *kiln = json_object_get(root, "kiln");
	json_t *to = NULL;
	if (!json_is_object(root))
		return err_input(e, "%s: not a result of kiln: an object is wanted", path);
	if (json_is_string(kiln) && strcmp(json_string_value(kiln), "watch once") == 0)
		return add_sample(r, path, root, e);
	if (json_is_string(kiln)) {
		to = place(r, json_string_value(kiln), &array);
		if (!to)
			return err_input(e, "%s: a result of 'kiln %s' has no place in the report", path,
					 json_string_value(kiln));
	} else if (json_object_get(root, "results") && json_object_get(root, "out_of_bounds")) {
		array = "results"; /* nccl-tests -J */
		to = r->collectives;
	} else {
		return err_input(e, "%s: not a result of kiln: it has no \"kiln\" key (write it with --json)", path);
	}
	if (array && !holds_objects(json_object_get(root, array)))
		return err_input(
			e, "%s: '%s' is missing or is not a list of objects: the file was cut off, or is not a result",
			path, array);
	return json_array_append(to, root) < 0 ? err_set(e, -ENOMEM, "%s", path) : 0;
}

/* An event that two sinks wrote is one event. */
static bool is_new_event(struct report *r, const json_t *line)
{
	char key[1024];
	const json_t *id = json_object_get(line, "id");
	if (json_is_string(id))
		snprintf(key, sizeof(key), "%s|%s", html_json_str(line, "host"), json_string_value(id));
	else if (json_is_integer(id))
		snprintf(key, sizeof(key), "%s|%lld", html_json_str(line, "host"), (long long)json_integer_value(id));
	else
		return true;
	if (json_object_get(r->event_ids, key))
		return false;
	json_object_set_new(r->event_ids, key, json_true());
	return true;
}

static int add_line(struct report *r, const char *path, unsigned number, const char *text, size_t len, struct err *e)
{
	json_error_t why;
	AUTO_JSON line = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!line)
		return err_input(e, "%s:%u: %s", path, number, why.text);
	const char *kind = html_json_str(line, "kind");
	if (strcmp(kind, "event") == 0)
		return is_new_event(r, line) && json_array_append(r->events, line) < 0 ? err_set(e, -ENOMEM, "%s", path)
										       : 0;
	if (strcmp(kind, "metrics") != 0)
		return *kind ? 0 : err_input(e, "%s:%u: not a line of kiln watch: it has no \"kind\"", path, number);
	/* A device that did not answer has "error" in their place. */
	if (!json_is_object(json_object_get(line, "values")) && !json_is_string(json_object_get(line, "error")))
		return err_input(e, "%s:%u: 'values' is missing or is not an object", path, number);
	return json_array_append(r->metrics, line) < 0 ? err_set(e, -ENOMEM, "%s", path) : 0;
}

static int add_lines(struct report *r, const char *path, const char *text, struct err *e)
{
	unsigned number = 1;
	r->has_watch = true;
	for (const char *at = text; *at; number++) {
		size_t len = strcspn(at, "\n");
		int rc = strspn(at, " \t\r") < len ? add_line(r, path, number, at, len, e) : 0;
		if (rc < 0)
			return rc;
		at += len + (at[len] == '\n');
	}
	return 0;
}

/* The first line alone is an object of watch. */
static bool is_lines(const char *text)
{
	json_error_t why;
	AUTO_JSON first = json_loadb(text, strcspn(text, "\n"), 0, &why);
	return json_is_object(first) && json_object_get(first, "kind");
}

int report_add_text(struct report *r, const char *path, const char *text, struct err *e)
{
	AUTO(json_doc) doc = NULL;
	const char *dot = strrchr(path, '.');
	if (text[strspn(text, " \t\r\n")] == '\0') {
		/* No event is what one hopes for; an empty result is one that was not written. */
		r->has_watch |= dot && (strcmp(dot, ".log") == 0 || strcmp(dot, ".jsonl") == 0);
		return r->has_watch ? 0 : err_input(e, "%s: the file is empty", path);
	}
	if (is_lines(text))
		return add_lines(r, path, text, e);
	int rc = json_doc_parse(path, text, &doc, e);
	return rc < 0 ? rc : add_result(r, path, doc->root, e);
}

int report_add(struct report *r, const char *path, struct err *e)
{
	AUTO_STR text = NULL;
	size_t len = 0;
	int rc = fdio_read_file(AT_FDCWD, path, MAX_FILE_BYTES, &text, &len, e);
	if (rc < 0) {
		/* What the user named is wrong, whatever the reason. */
		if (e)
			e->space = ERR_INPUT;
		return rc;
	}
	r->bytes += len;
	if (r->bytes > MAX_TOTAL_BYTES)
		return err_input(e, "%s: more than %d MiB of results in one report", path, MAX_TOTAL_BYTES >> 20);
	if (strlen(text) != len)
		return err_input(e, "%s: holds a NUL byte: not a text file", path);
	return report_add_text(r, path, text, e);
}
