/* SPDX-License-Identifier: MIT */
/* The layer store: whole layers only, found by key and by content, left-overs removed. */
#include "tree.h"

#include <dirent.h>
#include <sys/wait.h>

#include "image/layer.h"

#define KEY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void put_file(const char *dir, const char *name, const char *text)
{
	AUTO_STR path = str_printf("%s/%s", dir, name);
	assert_int_equal(fdio_write_file(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
}

static size_t left_overs(void)
{
	size_t n = 0;
	AUTO_STR layers = tree_path("state/layers");
	AUTO_DIR dir = opendir(layers);
	for (struct dirent *d; dir && (d = readdir(dir));)
		n += strncmp(d->d_name, ".new-", 5) == 0;
	return n;
}

static void a_committed_layer_is_found(void **state)
{
	(void)state;
	struct layer_info made, found;
	AUTO_STR dir = NULL;
	AUTO_STR fs = NULL;
	assert_false(layer_find(KEY, NULL));
	assert_int_equal(layer_begin(KEY, &dir, NULL), 0);
	put_file(dir, "fs/file", "text");
	put_file(dir, "scratch", "of the build");
	assert_false(layer_find(KEY, NULL));
	assert_int_equal(layer_commit(dir, KEY, "name", "1.0", TREE_EPOCH, true, &made, NULL), 0);
	assert_true(layer_find(KEY, &found));
	assert_string_equal(found.component, "name");
	assert_string_equal(found.version, "1.0");
	assert_string_equal(found.digest, made.digest);
	assert_true(found.bytes > 0 && found.uncompressed_bytes > 0);
	assert_int_equal(layer_path_by_diff(made.diff_id, &fs, NULL), 0);
	AUTO_STR file = str_printf("%s/file", fs);
	assert_true(fdio_exists(AT_FDCWD, file));
	AUTO_STR scratch = str_printf("%s/../scratch", fs);
	assert_false(fdio_exists(AT_FDCWD, scratch));
	assert_int_equal(left_overs(), 0);
}

static void a_layer_can_be_packed_later(void **state)
{
	(void)state;
	struct layer_info info, packed;
	AUTO_STR dir = NULL;
	AUTO_STR tgz = NULL;
	assert_int_equal(layer_begin(KEY, &dir, NULL), 0);
	put_file(dir, "fs/file", "text");
	assert_int_equal(layer_commit(dir, KEY, "name", "1.0", TREE_EPOCH, false, &info, NULL), 0);
	assert_string_equal(info.digest, "");
	assert_int_equal(layer_pack(KEY, TREE_EPOCH, &packed, NULL), 0);
	assert_int_equal(strlen(packed.digest), 64);
	assert_int_equal(layer_path(KEY, "layer.tgz", &tgz, NULL), 0);
	assert_int_equal(truncate(tgz, 3), 0); /* damaged: packed again */
	assert_int_equal(layer_pack(KEY, TREE_EPOCH, &info, NULL), 0);
	assert_string_equal(info.digest, packed.digest);
	struct stat st;
	assert_int_equal(stat(tgz, &st), 0);
	assert_int_equal(st.st_size, packed.bytes);
}

static void a_layer_is_replaced_whole(void **state)
{
	(void)state;
	AUTO_STR one = NULL;
	AUTO_STR two = NULL;
	assert_int_equal(layer_begin(KEY, &one, NULL), 0);
	put_file(one, "fs/old", "1");
	assert_int_equal(layer_commit(one, KEY, "name", "1", TREE_EPOCH, true, NULL, NULL), 0);
	assert_int_equal(layer_begin(KEY, &two, NULL), 0);
	put_file(two, "fs/new", "2");
	assert_int_equal(layer_commit(two, KEY, "name", "2", TREE_EPOCH, true, NULL, NULL), 0);
	AUTO_STR fresh = tree_path("state/layers/" KEY "/fs/new");
	AUTO_STR old = tree_path("state/layers/" KEY "/fs/old");
	assert_true(fdio_exists(AT_FDCWD, fresh));
	assert_false(fdio_exists(AT_FDCWD, old));
	assert_int_equal(left_overs(), 0);
}

static void left_overs_of_the_dead_go_and_of_the_living_stay(void **state)
{
	(void)state;
	AUTO_STR mine = NULL;
	AUTO_STR next = NULL;
	assert_int_equal(layer_begin("cccc", &mine, NULL), 0);
	struct stat st;
	AUTO_STR layers = tree_path("state/layers"); /* set-user-id programs of images are in there */
	assert_int_equal(stat(layers, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	pid_t pid = fork();
	if (pid == 0) {
		char *dir = NULL;
		_exit(layer_begin("bbbb", &dir, NULL) == 0 ? 0 : 1); /* dies without committing */
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(left_overs(), 2);
	assert_int_equal(layer_begin("dddd", &next, NULL), 0);
	assert_int_equal(left_overs(), 2); /* mine and the new one */
	assert_true(fdio_exists(AT_FDCWD, mine));
	layer_abandon(mine);
	layer_abandon(next);
	assert_int_equal(left_overs(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_committed_layer_is_found, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(a_layer_can_be_packed_later, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(a_layer_is_replaced_whole, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(left_overs_of_the_dead_go_and_of_the_living_stay, tree_setup,
						tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
