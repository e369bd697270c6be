/* SPDX-License-Identifier: MIT */
/* A stack is resolved by the real apt against a signed repository of the test's own; a key changes exactly when what
 * goes into its layer does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/json.h"
#include "fixture.h"

#define ALL "\"tool\": \"latest\",\n\"own\": \"self\",\n\"lib\": \"latest\""

/* Resolves, or fails with the message. */
static struct plan *resolve(struct fixture *f, const char *components)
{
	struct err e = { 0 };
	struct plan *p = NULL;
	if (fixture_plan(f, components, false, &p, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

static void need(void **state, struct fixture **f)
{
	*f = *state;
	if (!*f)
		skip();
}

static void steps_come_after_what_they_need(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) p = resolve(f, ALL);
	static const char *const order[] = { "base", "lib", "tool", "own:buildroot", "own" };
	assert_int_equal(p->step_count, COUNT_OF(order));
	for (size_t i = 0; i < COUNT_OF(order); i++) {
		assert_string_equal(p->steps[i].name, order[i]);
		for (size_t k = 0; k < p->steps[i].need_count; k++)
			assert_true(p->steps[i].needs[k] < i);
	}
	const struct plan_step *tool = fixture_step(p, "tool");
	assert_int_equal(tool->need_count, 2); /* base and lib: all that it stands on */
	assert_int_equal(tool->needs[0], 0);
	assert_int_equal(tool->needs[1], 1);
	assert_int_equal(tool->buildroot, SIZE_MAX);
	assert_int_equal(fixture_step(p, "own")->buildroot, 3);
	assert_int_equal(fixture_step(p, "own:buildroot")->need_count, 1);
	assert_int_equal(p->epoch, FIXTURE_EPOCH);
	assert_string_equal(p->snapshot_date, "2023-06-10T08:00:00Z");
	assert_non_null(strstr(p->apt_sources, "Suites: tiny\n"));
}

static void a_step_takes_only_what_is_not_below_it(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) p = resolve(f, ALL);
	const struct plan_step *base = fixture_step(p, "base"), *tool = fixture_step(p, "tool"),
			       *own = fixture_step(p, "own");
	assert_int_equal(base->deb_count, 3);
	assert_string_equal(base->version, "12.1");
	assert_int_equal(tool->deb_count, 2); /* not liba, which lib has; not extra, which is only recommended */
	assert_string_equal(tool->debs[0].file, "libshared_3-1_all.deb");
	assert_string_equal(tool->debs[1].file, "tool_5+x~1_all.deb");
	assert_int_equal(tool->debs[1].sha256[0], '6');
	assert_int_equal(tool->debs[1].bytes, 100);
	AUTO_STR url = str_printf("file://%s/repo/pool/tool_5%%2bx%%7e1_all.deb", f->dir);
	assert_string_equal(tool->debs[1].url, url);
	assert_non_null(strstr(tool->deb_index, "Filename: ./tool_5+x~1_all.deb\n"));
	assert_string_equal(tool->packages[0], "tool=5+x~1");
	assert_null(tool->packages[1]);
	assert_string_equal(tool->env[0], "KILN_VERSION=5+x~1");
	assert_string_equal(tool->env[1], "TOOL_HOME=/opt");
	assert_string_equal(tool->image_env[0], "TOOL_HOME=/opt");
	assert_string_equal(own->version, KILN_VERSION);
	assert_string_equal(own->source_paths[3], "src");
	assert_int_equal(fixture_step(p, "own:buildroot")->deb_count, 2);
	assert_string_equal(fixture_step(p, "own:buildroot")->version, "12.2");
}

static void what_is_needed_and_not_listed_is_added(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) p = resolve(f, "\"tool\": \"latest\"");
	assert_int_equal(p->step_count, 3);
	assert_string_equal(fixture_step(p, "lib")->needed_by, "tool");
	assert_string_equal(fixture_step(p, "lib")->version, "1:1.1-1");
	assert_null(fixture_step(p, "tool")->needed_by);
}

static void versions_are_the_best_the_named_or_anothers(void **state)
{
	struct fixture *f;
	need(state, &f);
	static const char *const rows[][2] = {
		{ "latest", "1:1.1-1" },
		{ "1:1.0-1", "1:1.0-1" },
		{ "1.0", "1:1.0-1" },
		{ "1.1", "1:1.1-1" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_STR text = str_printf("\"lib\": \"%s\"", rows[i][0]);
		AUTO(plan) p = resolve(f, text);
		assert_string_equal(fixture_step(p, "lib")->version, rows[i][1]);
		AUTO_STR package = str_printf("liba=%s", rows[i][1]);
		assert_string_equal(fixture_step(p, "lib")->packages[0], package);
	}
	fixture_component(f, "twin",
			  "{ \"component\": 1, \"name\": \"twin\", \"help\": \"x\", \"os\": { \"tiny1\": { "
			  "\"packages\": [\"liba\"], \"version_of\": \"liba\" } } }");
	AUTO(plan) p = resolve(f, "\"twin\": \"=lib\", \"lib\": \"1.0\"");
	assert_string_equal(fixture_step(p, "twin")->version, "1:1.0-1");
}

struct refusal {
	const char *components, *says;
};

static void what_cannot_be_is_refused(void **state)
{
	struct fixture *f;
	need(state, &f);
	static const struct refusal rows[] = {
		{ "\"lib\": \"99.0\"", "stack.json:3: lib 99.0 is not available for tiny1: the package snapshot of "
				       "2023-06-10 has 1:1.1-1, 1:1.0-1" },
		{ "\"lib\": \"self\"", "stack.json:3: 'lib' is not made from kiln's own source" },
		{ "\"own\": \"0.0.1\"", "stack.json:3: own 0.0.1 is not available: this kiln is " },
		{ "\"tool\": \"latest\", \"foe\": \"latest\"",
		  "stack.json: the packages of all components together cannot be installed: foe : Conflicts: tool" },
		{ "\"lib\": \"1.0\", \"twin\": \"1.1\"", "'lib' takes liba 1:1.0-1 and 'twin' takes liba=1:1.1-1" },
		{ "\"broken\": \"latest\"",
		  "the packages of broken cannot be installed: broken : Depends: nowhere but it is not installable" },
		{ "\"gone\": \"latest\"",
		  "package 'gone' of component 'gone' is not in the package snapshot of 2023-06-10" },
	};
	static const char *const extra[][2] = { { "twin", "liba" }, { "broken", "broken" }, { "gone", "gone" } };
	for (size_t i = 0; i < COUNT_OF(extra); i++) {
		AUTO_STR json = str_printf("{ \"component\": 1, \"name\": \"%s\", \"help\": \"x\", \"os\": { "
					   "\"tiny1\": { \"packages\": [\"%s\"], \"version_of\": \"%s\" } } }",
					   extra[i][0], extra[i][1], extra[i][1]);
		fixture_component(f, extra[i][0], json);
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err e = { 0 };
		struct plan *p = NULL;
		if (fixture_plan(f, rows[i].components, false, &p, &e) != -EINVAL || !strstr(e.msg, rows[i].says))
			fail_msg("row %zu: '%s' lacks '%s'", i, e.msg, rows[i].says);
		assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	}
}

/* Compares two plans' keys step by step; `changed` lists the steps whose keys must differ, "a b c", by name. */
static void assert_changed(const struct plan *before, const struct plan *after, const char *changed)
{
	assert_int_equal(before->step_count, after->step_count);
	for (size_t i = 0; i < before->step_count; i++) {
		AUTO_STR name = str_printf(" %s ", before->steps[i].name);
		AUTO_STR list = str_printf(" %s ", changed);
		bool differs = strcmp(before->steps[i].key, after->steps[i].key) != 0;
		if (differs != (strstr(list, name) != NULL))
			fail_msg("the key of%s %s", name, differs ? "changed" : "did not change");
	}
	bool image_differs = strcmp(before->key, after->key) != 0;
	if (image_differs != (changed[0] != '\0'))
		fail_msg("the image's key %s", image_differs ? "changed" : "did not change");
}

struct change {
	const char *path, *text, *changed;
};

static void a_key_changes_when_its_input_does_and_no_other(void **state)
{
	struct fixture *f;
	need(state, &f);
	static const struct change changes[] = {
		{ "data/components/lib/install.sh", "true # new\n", "lib tool" },
		{ "data/components/tool/install.sh", "true # new\n", "tool" },
		{ "data/components/tool/verify.sh", "true # new\n", "tool" },
		{ "data/components/own/build.sh", "true # new\n", "own" },
		{ "data/src/x.c", "int y;\n", "own" },
		{ "data/catalog/x.json", "[]\n", "own" },
		{ "data/scripts/catalog.py", "x\n", "own" },
		{ "data/scripts/setup", "x\n", "" },
		{ "data/tests/t.c", "int t;\n", "" },
		{ "data/components/lib/README", "x\n", "" },
		{ "data/components/foe/install.sh", "x\n", "" },
	};
	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		AUTO(plan) before = resolve(f, ALL);
		fixture_write(f, changes[i].path, changes[i].text);
		AUTO(plan) after = resolve(f, ALL);
		assert_changed(before, after, changes[i].changed);
	}
	AUTO(plan) before = resolve(f, ALL);
	fixture_component(f, "tool",
			  "{ \"component\": 1, \"name\": \"tool\", \"help\": \"other words\",\n"
			  "  \"os\": { \"tiny1\": { \"packages\": [\"tool\"], \"version_of\": \"tool\" } },\n"
			  "  \"needs\": [\"lib\"], \"env\": { \"TOOL_HOME\": \"/opt\" } }\n");
	fixture_write(f, "data/components/tool/install.sh", "true # new\n");
	fixture_write(f, "data/components/tool/verify.sh", "true # new\n");
	AUTO(plan) words = resolve(f, ALL);
	assert_changed(before, words, "");
	AUTO(plan) older = resolve(f, "\"tool\": \"latest\",\n\"own\": \"self\",\n\"lib\": \"1.0\"");
	assert_changed(before, older, "lib tool");
}

static void the_environment_is_the_images_alone(void **state)
{
	struct fixture *f;
	need(state, &f);
	struct err e = { 0 };
	struct plan *p = NULL;
	AUTO(plan) before = resolve(f, "\"lib\": \"latest\"");
	assert_int_equal(fixture_plan_text(f,
					   "{ \"stack\": 1, \"name\": \"t\", \"os\": \"tiny1\", \"components\": { "
					   "\"lib\": \"latest\" }, \"env\": { \"A\": \"b c\" } }",
					   false, &p, &e),
			 0);
	AUTO(plan) after = p;
	assert_string_equal(after->env[0], "A=b c");
	assert_string_equal(before->steps[1].key, after->steps[1].key);
	assert_string_not_equal(before->key, after->key);
}

static void the_epoch_is_in_every_key(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) before = resolve(f, ALL);
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	AUTO(plan) after = resolve(f, ALL);
	unsetenv("SOURCE_DATE_EPOCH");
	assert_int_equal(after->epoch, 1700000000);
	assert_changed(before, after, "base lib tool own:buildroot own");
}

static void a_layer_in_the_store_is_cached(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) p = resolve(f, "\"lib\": \"latest\"");
	struct plan_totals before, after;
	assert_int_equal(plan_totals(p, &before, NULL), 0);
	assert_int_equal(before.cached, 0);
	assert_int_equal(before.download_bytes, 400);
	AUTO_STR layer = str_printf("state/layers/%s/layer.json", p->steps[1].key);
	AUTO_STR deb = str_printf("state/downloads/%s", p->steps[0].debs[0].sha256);
	fixture_write(f, layer, "{}\n");
	fixture_write(f, deb, "\n");
	assert_false(plan_is_cached(&p->steps[0]));
	assert_true(plan_is_cached(&p->steps[1]));
	assert_int_equal(plan_totals(p, &after, NULL), 0);
	assert_int_equal(after.cached, 1);
	assert_int_equal(after.download_bytes, 200);
	AUTO_JSON j = plan_json(p);
	const json_t *steps = json_object_get(j, "steps");
	assert_int_equal(json_array_size(steps), 2);
	assert_true(json_is_true(json_object_get(json_array_get(steps, 1), "cached")));
	assert_true(json_is_false(json_object_get(json_array_get(steps, 0), "cached")));
	assert_string_equal(json_string_value(json_object_get(j, "kiln")), "plan");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(steps_come_after_what_they_need, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_step_takes_only_what_is_not_below_it, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_is_needed_and_not_listed_is_added, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(versions_are_the_best_the_named_or_anothers, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_key_changes_when_its_input_does_and_no_other, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(the_environment_is_the_images_alone, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(the_epoch_is_in_every_key, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_layer_in_the_store_is_cached, fixture_setup, fixture_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
