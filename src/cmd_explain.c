/* SPDX-License-Identifier: MIT */
/* kiln explain: what an Xid, a metric, a component or a check means, and what to do. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "catalog/metrics.h"
#include "catalog/xids.h"
#include "device/xid.h"
#include "kiln.h"
#include "prove/check.h"
#include "stack/component.h"

struct explain_args {
	bool json;
};

/* One kind of thing that can be explained. */
struct kind {
	const char *name; /* as may be typed in front of the word */
	/* What is known of `word`; NULL: not one of this kind. */
	json_t *(*find)(const char *word);
};

/* Xid 154 is about the number in its line. */
static json_t *recovery_actions(void)
{
	json_t *all = json_array();
	for (unsigned i = 0; i < xids_recovery_table_count; i++) {
		const struct xids_recovery *a = &xids_recovery_table[i];
		AUTO_STR line = str_printf("0x%x %s: %s; on EC2: %s", (unsigned)a->action, a->name, a->nvidia_action,
					   a->ec2_action);
		json_array_append_new(all, json_string(line ? line : ""));
	}
	return all;
}

static json_t *find_xid(const char *word)
{
	char *end;
	if (!isdigit((unsigned char)*word))
		return NULL;
	errno = 0;
	long code = strtol(word, &end, 10);
	const struct xids_row *x = *end || errno || code > 99999 ? NULL : xids_find((int)code);
	if (!x)
		return NULL;
	json_t *about = json_pack("{ss si ss ss ss ss ss ss ss ss}", "kind", "xid", "code", x->code, "name", x->name,
				  "meaning", x->meaning, "severity", x->severity, "whose", x->whose, "nvidia_action",
				  x->nvidia_action, "ec2_action", x->ec2_action, "source", x->source, "date", x->date);
	if (code == XID_CODE_RECOVERY_ACTION)
		json_object_set_new(about, "recovery_actions", recovery_actions());
	return about;
}

static json_t *find_metric(const char *word)
{
	const struct metrics_row *m = metrics_find(word);
	return m ? json_pack("{ss ss ss ss ss ss ss ss}", "kind", "metric", "name", m->name, "meaning", m->help, "of",
			     m->of, "type", m->kind, "unit", m->unit, "source", m->source, "date", m->date)
		 : NULL;
}

static json_t *find_check(const char *word)
{
	const struct check *c = check_find(word);
	return c ? json_pack("{ss ss ss ss ss ss ss}", "kind", "check", "name", c->id, "meaning", c->what, "why",
			     c->why, "mend", c->mend, "severity", check_outcome_text(c->severity), "source", c->source)
		 : NULL;
}

static json_t *find_component(const char *word)
{
	struct component_dirs dirs __attribute__((cleanup(component_dirs_fini))) = { 0 };
	AUTO(component) c = NULL;
	/* A word with a slash would be a path. */
	if (strchr(word, '/') || component_dirs_init(&dirs, NULL, NULL) < 0 ||
	    component_load(&dirs, word, &c, NULL) < 0)
		return NULL;
	AUTO_BUF oses;
	const char *os;
	json_t *row;
	buf_init(&oses, 4096);
	json_object_foreach ((json_t *)c->os, os, row)
		buf_printf(&oses, "%s%s", oses.len ? ", " : "", os);
	const char *help = json_string_value(json_object_get(c->doc->root, "help"));
	return json_pack("{ss ss ss ss sO* ss}", "kind", "component", "name", c->name, "meaning", help ? help : "",
			 "systems", buf_text(&oses), "needs", c->needs, "source", c->doc->path);
}

static const struct kind kinds[] = {
	{ "xid", find_xid },
	{ "metric", find_metric },
	{ "check", find_check },
	{ "component", find_component },
};

/* The label that a member has for people; members without one are part of the title. */
static const struct {
	const char *key, *label;
} labels[] = {
	{ "why", "Why it matters" },
	{ "mend", "What to do" },
	{ "whose", "Usual cause" },
	{ "nvidia_action", "NVIDIA says" },
	{ "ec2_action", "On EC2" },
	{ "recovery_actions", "Actions" },
	{ "of", "Of" },
	{ "type", "Type" },
	{ "unit", "Unit" },
	{ "systems", "Systems" },
	{ "needs", "Needs" },
	{ "severity", "Severity" },
	{ "source", "Source" },
	{ "date", "Read on" },
};

static void print_member(const char *label, const json_t *value)
{
	if (json_is_string(value))
		printf("  %-16s%s\n", label, json_string_value(value));
	for (size_t i = 0; i < json_array_size(value); i++)
		printf("  %-16s%s\n", i ? "" : label, json_string_value(json_array_get(value, i)));
}

static void print_text(const json_t *about)
{
	const json_t *code = json_object_get(about, "code");
	if (code)
		printf("Xid %d  %s\n", (int)json_integer_value(code),
		       json_string_value(json_object_get(about, "name")));
	else
		printf("%s  (%s)\n", json_string_value(json_object_get(about, "name")),
		       json_string_value(json_object_get(about, "kind")));
	printf("  %s\n\n", json_string_value(json_object_get(about, "meaning")));
	for (size_t i = 0; i < COUNT_OF(labels); i++) {
		const json_t *value = json_object_get(about, labels[i].key);
		if (value)
			print_member(labels[i].label, value);
	}
	const json_t *also = json_object_get(about, "also");
	for (size_t i = 0; i < json_array_size(also); i++)
		printf("\nA %s has this name too: kiln explain %s %s\n", json_string_value(json_array_get(also, i)),
		       json_string_value(json_array_get(also, i)), json_string_value(json_object_get(about, "name")));
}

/* The first kind that knows the word; the names of further ones go into "also". */
static json_t *find(const char *kind, const char *word)
{
	json_t *about = NULL;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		AUTO_JSON found = !kind || strcmp(kind, kinds[i].name) == 0 ? kinds[i].find(word) : NULL;
		if (!found)
			continue;
		if (!about) {
			about = steal(found);
			continue;
		}
		if (!json_object_get(about, "also"))
			json_object_set_new(about, "also", json_array());
		json_array_append_new(json_object_get(about, "also"), json_string(kinds[i].name));
	}
	return about;
}

/* Every word that can be explained, but the numbers: NULL-ended, borrowed but for the list itself and the components. */
static const char **all_words(char **components)
{
	size_t n = 0, count = 0;
	while (checks[n])
		n++;
	for (size_t i = 0; components && components[i]; i++)
		count++;
	const char **words = calloc(metrics_table_count + n + count + 1, sizeof(*words));
	size_t at = 0;
	for (unsigned i = 0; words && i < metrics_table_count; i++)
		words[at++] = metrics_table[i].name;
	for (size_t i = 0; words && i < n; i++)
		words[at++] = checks[i]->id;
	for (size_t i = 0; words && i < count; i++)
		words[at++] = components[i];
	return words;
}

static int unknown(const char *kind, const char *word, struct err *e)
{
	if (isdigit((unsigned char)*word)) {
		if (kind && strcmp(kind, "sxid") == 0)
			return err_input(
				e, "SXid %s: kiln's catalogue does not hold SXids; see NVIDIA's Fabric Manager guide",
				word);
		return err_input(e,
				 "Xid %s is not in kiln's catalogue; the nearest known code is %d. Unknown codes: "
				 "contact NVIDIA support",
				 word, xids_nearest(atoi(word)));
	}
	struct component_dirs dirs __attribute__((cleanup(component_dirs_fini))) = { 0 };
	AUTO_STRINGS components = NULL;
	if (component_dirs_init(&dirs, NULL, NULL) == 0)
		component_names(&dirs, &components, NULL);
	const char **words __attribute__((cleanup(own_free))) = all_words(components);
	const char *near = words ? str_nearest(word, words) : NULL;
	err_input(e, "'%s' is not an Xid, a metric, a check or a component", word);
	return near ? err_hint(e, "did you mean '%s'?", near)
		    : err_hint(e, "an Xid is a number, as in 'kiln explain 63'");
}

/* "63", "xid 63", "xid63", "Xid-63", "metric NAME" … -> the kind (NULL: any) and the word. */
static int split(char *const *operands, const char **ret_kind, const char **ret_word, struct err *e)
{
	static const char *const names[] = { "xid", "sxid", "metric", "check", "component", NULL };
	const char *first = operands[0];
	*ret_kind = NULL;
	*ret_word = first;
	if (operands[1]) {
		for (size_t i = 0; names[i]; i++)
			if (strcasecmp(first, names[i]) == 0) {
				*ret_kind = names[i];
				*ret_word = operands[1];
				return 0;
			}
		return err_input(e, "'%s' is not a kind of thing; kinds: xid, metric, check, component", first);
	}
	if (strncasecmp(first, "xid", 3) == 0 && first[3]) {
		*ret_kind = "xid";
		*ret_word = first + 3 + strspn(first + 3, " -:");
	}
	return 0;
}

static int explain(const void *opaque, char *const *operands)
{
	const struct explain_args *args = opaque;
	struct err e = { 0 };
	const char *kind, *word;
	if (split(operands, &kind, &word, &e) < 0)
		return opt_fail("explain", &e);
	AUTO_JSON about = find(kind, word);
	/* A name that begins with "xid" by chance. */
	if (!about && !operands[1])
		about = find(NULL, operands[0]);
	if (!about)
		return unknown(kind, word, &e), opt_fail("explain", &e);
	if (!args->json) {
		print_text(about);
		return EXIT_GOOD;
	}
	AUTO_JSON all = json_pack("{ss si}", "kiln", "explain", "version", 1);
	if (!all || json_object_update(all, about) < 0)
		return err_set(&e, -ENOMEM, "no memory"), opt_fail("explain", &e);
	return json_print(all, stdout) < 0 ? EXIT_FINDING : EXIT_GOOD;
}

static const struct opt opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct explain_args, json), NULL, NULL, "print one JSON object", NULL },
	{ 0 },
};

const struct verb cmd_explain = {
	.name = "explain",
	.operands = "[KIND] WHAT",
	.help = "what an Xid, a metric, a check or a component means, and what to do",
	.opts = opts,
	.args_size = sizeof(struct explain_args),
	.min_operands = 1,
	.max_operands = 2,
	.run = explain,
	.details =
		"WHAT is an Xid (63, \"xid 63\"), a metric (power_watts), a check of 'kiln prove node' (memlock) or a\n"
		"component (libfabric). KIND may say which: xid, metric, check, component.\n",
};
