/* SPDX-License-Identifier: MIT */
/* Package lists are verified, taken over whole or not at all, and asked once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "fixture.h"

#define LATER "Sun, 11 Jun 2023 08:00:00 UTC"

static void need(void **state, struct fixture **f)
{
	*f = *state;
	if (!*f)
		skip();
}

static struct plan *resolve(struct fixture *f, bool update)
{
	struct err e = { 0 };
	struct plan *p = NULL;
	if (fixture_plan(f, "\"tool\": \"latest\"", update, &p, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

/* With no program to be found, only what is remembered can answer. */
static void without_programs(struct fixture *f, bool on)
{
	static char *path;
	if (on) {
		path = strdup(getenv("PATH"));
		setenv("PATH", f->dir, 1);
	} else {
		setenv("PATH", path, 1);
		free(path);
	}
}

static void the_second_time_apt_is_not_run(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	without_programs(f, true);
	struct err e = { 0 };
	struct plan *again = NULL;
	int rc = fixture_plan(f, "\"tool\": \"latest\"", false, &again, &e);
	struct plan *none = NULL;
	struct err missing = { 0 };
	int other = fixture_plan(f, "\"foe\": \"latest\"", false, &none, &missing);
	without_programs(f, false);
	if (rc < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(first->key, again->key);
	assert_string_equal(first->steps[2].deb_index, again->steps[2].deb_index);
	plan_free(again);
	assert_int_equal(other, -ENOSYS); /* what was not asked before needs apt, and says so */
	assert_int_equal(err_exit_code(&missing), EXIT_CANNOT_TELL);
	assert_non_null(strstr(missing.msg, "install the package 'apt'"));
}

/* Does something to every memo: truncates it, or puts an 'x' into its middle. */
static unsigned damage_memos(struct fixture *f, bool truncate_them)
{
	AUTO_STR locks = fdio_join(f->dir, "state/locks");
	AUTO_DIR d = opendir(locks);
	unsigned count = 0;
	assert_non_null(d);
	for (const struct dirent *snapshot; (snapshot = readdir(d));) {
		if (snapshot->d_name[0] == '.')
			continue;
		AUTO_STR folder = fdio_join(locks, snapshot->d_name);
		AUTO_DIR memos = opendir(folder);
		for (const struct dirent *memo; (memo = readdir(memos));) {
			AUTO_STR path = fdio_join(folder, memo->d_name);
			struct stat st;
			if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
				continue;
			AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC);
			assert_true(fd >= 0);
			if (truncate_them)
				assert_int_equal(ftruncate(fd, st.st_size / 2), 0);
			else
				assert_int_equal(pwrite(fd, "x", 1, st.st_size / 2), 1);
			count++;
		}
	}
	return count;
}

static void a_damaged_memo_is_made_again(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	for (int how = 0; how < 2; how++) {
		assert_true(damage_memos(f, how) >= 4);
		AUTO(plan) again = resolve(f, false);
		assert_string_equal(first->key, again->key);
		without_programs(f, true); /* and what was made again is whole */
		AUTO(plan) third = resolve(f, false);
		without_programs(f, false);
		assert_string_equal(first->key, third->key);
	}
}

static void newer_lists_with_the_same_packages_change_no_key(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	AUTO_STR more = str_printf(
		"%s%s", fixture_packages,
		"Package: unrelated\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.com>\nDescription: "
		"x\nSize: 1\n"
		"Filename: pool/u.deb\nSHA256: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n\n");
	fixture_publish(f, FIXTURE_DATE, more);
	AUTO(plan) unasked = resolve(f, false); /* lists are as they were until --update */
	assert_string_equal(first->snapshot, unasked->snapshot);
	AUTO(plan) updated = resolve(f, true);
	assert_string_not_equal(first->snapshot, updated->snapshot);
	assert_string_equal(first->key, updated->key);
	for (size_t i = 0; i < first->step_count; i++)
		assert_string_equal(first->steps[i].key, updated->steps[i].key);
	AUTO_STR old = str_printf("%s/state/locks/%s", f->dir, first->snapshot);
	assert_false(fdio_exists(AT_FDCWD, old)); /* what was resolved from lists that are gone is forgotten */
}

/* An update that fails: right exit code and words, and all is as it was. */
static void assert_update_refused(struct fixture *f, const struct plan *before, const char *says)
{
	struct err e = { 0 };
	struct plan *p = NULL;
	assert_true(fixture_plan(f, "\"tool\": \"latest\"", true, &p, &e) < 0);
	if (!strstr(e.msg, says))
		fail_msg("'%s' lacks '%s'", e.msg, says);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
	AUTO(plan) after = resolve(f, false);
	assert_string_equal(before->snapshot, after->snapshot);
	assert_string_equal(before->key, after->key);
	AUTO_STR left = fdio_join(f->dir, "state/apt/tiny1/.new");
	assert_false(fdio_exists(AT_FDCWD, left));
}

static void a_wrong_signature_is_refused(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	AUTO_STR path = fdio_join(f->dir, "repo/dists/tiny/InRelease");
	AUTO_STR text = NULL;
	assert_int_equal(fdio_read_file(AT_FDCWD, path, 1 << 20, &text, NULL, NULL), 0);
	char *date = strstr(text, "Date: Sat");
	assert_non_null(date);
	date[strlen("Date: Sat, ")] = '2'; /* 20 Jun: not what was signed */
	fixture_write(f, "repo/dists/tiny/InRelease", text);
	assert_update_refused(f, first, "are not signed by a key in '");
}

static void an_unsigned_mirror_is_refused(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	AUTO_STR path = fdio_join(f->dir, "repo/dists/tiny/InRelease");
	assert_int_equal(unlink(path), 0);
	assert_update_refused(f, first, "are not signed by a key in '");
}

static void changed_lists_are_refused(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	fixture_publish(f, LATER, strstr(fixture_packages, "Package: libc\n"));
	fixture_write(f, "repo/dists/tiny/main/binary-amd64/Packages", "Package: evil\n");
	fixture_write(f, "repo/dists/tiny/main/binary-arm64/Packages", "Package: evil\n");
	assert_update_refused(f, first, "fetching the package lists of tiny1 failed");
}

static void a_mirror_out_of_reach_leaves_the_lists(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO(plan) first = resolve(f, false);
	AUTO_STR repo = fdio_join(f->dir, "repo");
	AUTO_STR away = fdio_join(f->dir, "away");
	assert_int_equal(rename(repo, away), 0);
	assert_update_refused(f, first, "nothing was taken over");
}

static void what_a_killed_update_left_is_cleared(void **state)
{
	struct fixture *f;
	need(state, &f);
	fixture_write(f, "state/apt/tiny1/.new/lists/half_InRelease", "half\n");
	AUTO(plan) p = resolve(f, false);
	AUTO_STR left = fdio_join(f->dir, "state/apt/tiny1/.new");
	AUTO_STR taken = fdio_join(f->dir, "state/apt/tiny1/now/lists/half_InRelease");
	assert_false(fdio_exists(AT_FDCWD, left));
	assert_false(fdio_exists(AT_FDCWD, taken));
	assert_int_equal(p->step_count, 3);
}

static void a_missing_keyring_says_what_to_install(void **state)
{
	struct fixture *f;
	need(state, &f);
	AUTO_STR key = fdio_join(f->dir, "key.gpg");
	struct err e = { 0 };
	struct plan *p = NULL;
	assert_int_equal(unlink(key), 0);
	assert_true(fixture_plan(f, "\"tool\": \"latest\"", false, &p, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
	assert_non_null(strstr(e.msg, "install the package 'tiny-keyring'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_second_time_apt_is_not_run, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_damaged_memo_is_made_again, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(newer_lists_with_the_same_packages_change_no_key, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_wrong_signature_is_refused, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(an_unsigned_mirror_is_refused, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(changed_lists_are_refused, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_mirror_out_of_reach_leaves_the_lists, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_a_killed_update_left_is_cleared, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_missing_keyring_says_what_to_install, fixture_setup,
						fixture_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
