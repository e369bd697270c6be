/* SPDX-License-Identifier: MIT */
/* What apt prints is read exactly or refused; what is kept of it comes back whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "stack/resolution.h"

#define SUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SUM_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static const char uris[] = "'http://m/pool/z/z_2-1%2bb1_all.deb' z_2-1+b1_all.deb 20 SHA256:" SUM_B "\n"
			   "'http://m/pool/a/a_1.0%7erc1-1_amd64.deb' a_3%3a1.0~rc1-1_amd64.deb 10 SHA256:" SUM_A "\n";
static const char stanzas[] =
	"Package: a\nVersion: 3:1.0~rc1-1\nDescription: x\n a line\n .\nFilename: pool/a/a_1.0~rc1-1_amd64.deb\n"
	"Size: 10\nSHA256: " SUM_A "\n\nPackage: z\nVersion: 2-1+b1\nFilename: pool/z/z_2-1+b1_all.deb\nSHA256: " SUM_B
	"\nSize: 20\n\n";

static void files_versions_and_stanzas_are_read(void **state)
{
	(void)state;
	AUTO(resolution) r = NULL;
	assert_int_equal(resolution_parse(uris, stanzas, &r, NULL), 0);
	assert_int_equal(r->count, 2);
	assert_string_equal(r->names[0], "a=3:1.0~rc1-1");
	assert_string_equal(r->debs[0].file, "a_1.0~rc1-1_amd64.deb"); /* by file name, whatever apt's order */
	assert_string_equal(r->debs[0].url, "http://m/pool/a/a_1.0%7erc1-1_amd64.deb");
	assert_string_equal(r->debs[0].sha256, SUM_A);
	assert_int_equal(r->debs[0].bytes, 10);
	assert_string_equal(resolution_version(r, "z"), "2-1+b1");
	assert_null(resolution_version(r, "zz"));
	assert_string_equal(r->index, "Package: a\nVersion: 3:1.0~rc1-1\nDescription: x\n a line\n .\n"
				      "Filename: ./a_1.0~rc1-1_amd64.deb\nSize: 10\nSHA256: " SUM_A "\n\n"
				      "Package: z\nVersion: 2-1+b1\nFilename: ./z_2-1+b1_all.deb\nSHA256: " SUM_B
				      "\nSize: 20\n\n");
}

static void what_is_not_understood_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"'http://m/a.deb' a_1_all.deb 20\n",
		"'http://m/a.deb' a_1_all.deb 20 MD5Sum:00\n",
		"'http://m/a.deb' a_1_all.deb x20 SHA256:" SUM_A "\n",
		"'http://m/a.deb' a_1_all.deb -2 SHA256:" SUM_A "\n",
		"'http://m/a.deb' a.deb 20 SHA256:" SUM_A "\n",
		"'http://m/a.deb a_1_all.deb 20 SHA256:" SUM_A "\n",
		"'' a_1_all.deb 20 SHA256:" SUM_A "\n",
		"'http://m/a.deb' a_1_all.deb 20 SHA256:" SUM_C "\n", /* no stanza */
	};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = { 0 };
		struct resolution *r = NULL;
		if (resolution_parse(bad[i], stanzas, &r, &e) != -EBADMSG)
			fail_msg("row %zu was taken: '%s'", i, bad[i]);
		assert_null(r);
	}
}

static void what_is_kept_comes_back_whole(void **state)
{
	(void)state;
	AUTO(resolution) r = NULL;
	AUTO(resolution) again = NULL;
	assert_int_equal(resolution_parse(uris, stanzas, &r, NULL), 0);
	AUTO_JSON kept = resolution_json(r);
	assert_non_null(kept);
	assert_int_equal(resolution_from_json(kept, &again, NULL), 0);
	assert_string_equal(again->digest, r->digest);
	assert_string_equal(again->index, r->index);
	assert_string_equal(again->names[1], r->names[1]);
	assert_null(again->names[2]);
}

/* One character changed anywhere in the text either cannot be parsed or is seen by the digest. */
static void any_damage_is_seen(void **state)
{
	(void)state;
	AUTO(resolution) r = NULL;
	assert_int_equal(resolution_parse(uris, stanzas, &r, NULL), 0);
	AUTO_JSON kept = resolution_json(r);
	AUTO_STR text = json_dumps(kept, JSON_COMPACT);
	size_t n = strlen(text);
	assert_true(n > 200);
	for (size_t i = 0; i < n; i++) {
		char was = text[i];
		text[i] = was == '7' ? '8' : '7';
		AUTO_JSON damaged = json_loads(text, 0, NULL);
		struct resolution *back = NULL;
		if (damaged && resolution_from_json(damaged, &back, NULL) == 0)
			fail_msg("a change at %zu ('%c') was not seen", i, was);
		text[i] = was;
	}
}

static void nothing_to_take_is_a_resolution_too(void **state)
{
	(void)state;
	AUTO(resolution) r = NULL;
	AUTO_STRINGS names = NULL;
	assert_int_equal(resolution_parse("W: a warning\n", "", &r, NULL), 0);
	assert_int_equal(r->count, 0);
	assert_null(r->names[0]);
	assert_string_equal(r->index, "");
	assert_int_equal(resolution_parse_names("", &names, NULL), 0);
	assert_null(names[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_versions_and_stanzas_are_read),
		cmocka_unit_test(what_is_not_understood_is_refused),
		cmocka_unit_test(what_is_kept_comes_back_whole),
		cmocka_unit_test(any_damage_is_seen),
		cmocka_unit_test(nothing_to_take_is_a_resolution_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
