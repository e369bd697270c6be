/* SPDX-License-Identifier: MIT */
/* Names, nodes, images, the hosts file; and the contract that every place keeps. */
#include "state.h"

#include <fcntl.h>

#include "launch/cluster.h"
#include "launch/launch.h"

static void names(void **unused)
{
	(void)unused;
	static const char *const good[] = { "a",  "demo", "p5-train", "a1",
					    "a-", "x-1y", "demo2",    "abcdefghijklmnopqrstuvwxyz01234" };
	static const char *const bad[] = { "",     "A",         "1a",  "-a",
					   "a_b",  "a.b",       "a/b", "demo-2",
					   "a--7", "d\xc3\xa9", "a b", "abcdefghijklmnopqrstuvwxyz012345",
					   "..",   "$(id)" };
	struct err e;
	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_int_equal(launch_check_name(good[i], &e), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(launch_check_name(bad[i], &e), -EINVAL);
		assert_int_equal(e.space, ERR_INPUT);
	}
}

static void nodes(void **unused)
{
	(void)unused;
	AUTO(launch_cluster) c = NULL;
	struct err e;
	unsigned at = 9;
	assert_int_equal(cluster_new("demo", 3, &c, &e), 0);
	assert_int_equal(launch_find_node(c, "2", &at, &e), 0);
	assert_int_equal(at, 1);
	assert_int_equal(launch_find_node(c, "demo-3", &at, &e), 0);
	assert_int_equal(at, 2);
	assert_int_equal(launch_find_node(c, "10.77.0.11", &at, &e), 0);
	assert_int_equal(at, 0);
	assert_int_equal(launch_find_node(c, "4", &at, &e), -EINVAL);
	assert_int_equal(launch_find_node(c, "hostname", &at, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "'--'"));
	assert_int_equal(at, 0);
}

static void hosts_file(void **unused)
{
	(void)unused;
	AUTO(launch_cluster) c = NULL;
	assert_int_equal(cluster_new("demo", 2, &c, NULL), 0);
	c->nodes[0].slots = 8;
	c->nodes[1].slots = 4;
	AUTO_STR text = launch_hosts_text(c);
	assert_string_equal(text, "10.77.0.11 slots=8\n10.77.0.12 slots=4\n");
}

/* An image as far as finding it goes. */
static void make_layout(const char *name)
{
	AUTO_STR dir = NULL;
	AUTO_STR file = NULL;
	assert_true(asprintf(&dir, "%s/images/%s", state_root, name) > 0);
	assert_true(asprintf(&file, "%s/oci-layout", dir) > 0);
	assert_int_equal(fdio_mkdir_p(dir, 0755, NULL), 0);
	assert_int_equal(fdio_write_file(AT_FDCWD, file, "{}", 2, 0644, NULL), 0);
}

static void images(void **unused)
{
	(void)unused;
	struct err e;
	char *path = NULL;
	assert_int_equal(launch_find_image(NULL, &path, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "kiln bake oci"));
	assert_null(path);

	make_layout("local");
	assert_int_equal(launch_find_image(NULL, &path, &e), 0);
	AUTO_STR only = path;
	assert_non_null(strstr(only, "/images/local"));
	assert_int_equal(launch_find_image("local", &path, &e), 0);
	AUTO_STR named = path;
	assert_string_equal(named, only);
	assert_int_equal(launch_find_image(only, &path, &e), 0);
	AUTO_STR by_path = path;
	assert_string_equal(by_path, only);
	assert_int_equal(chdir(state_root), 0);
	assert_int_equal(launch_find_image("images/local", &path, &e), 0);
	AUTO_STR from_here = path;
	assert_int_equal(chdir("/"), 0);
	assert_string_equal(from_here, only);

	make_layout("p5.oci"); /* as `kiln bake oci` names it */
	assert_int_equal(launch_find_image("p5", &path, &e), 0);
	AUTO_STR baked = path;
	assert_non_null(strstr(baked, "/images/p5.oci"));
	assert_int_equal(launch_find_image(NULL, &path, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "local"));
	assert_non_null(strstr(e.msg, "p5"));
	assert_int_equal(launch_find_image("p4", &path, &e), -EINVAL);
	assert_int_equal(e.space, ERR_INPUT);
	assert_int_equal(launch_find_image(state_root, &path, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "not an OCI image"));
}

static void unknown_cluster(void **unused)
{
	(void)unused;
	const struct launch_ops *place = NULL;
	struct launch_cluster *c = NULL;
	AUTO_STR folder = NULL;
	struct err e;
	assert_int_equal(cluster_path("train", &folder, NULL), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(launch_find("trian", &place, &c, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "did you mean 'train'"));
	assert_int_equal(launch_find("zzzz", &place, &c, &e), -EINVAL);
	assert_null(c);
	assert_null(place);
	assert_int_equal(launch_find("train", &place, &c, &e), 0);
	assert_non_null(place);
	launch_cluster_free(c);
}

/* Every place, whatever it is. */
static void contract(void **unused)
{
	(void)unused;
	for (const struct launch_ops *const *p = launch_places; *p; p++) {
		struct launch_cluster *c = NULL;
		struct err e;
		AUTO_STRINGS list = NULL;
		assert_true((*p)->name && *(*p)->name && (*p)->help && *(*p)->help);
		assert_true((*p)->up && (*p)->list && (*p)->load && (*p)->look && (*p)->ssh && (*p)->down);
		assert_int_equal((*p)->list(&list, &e), 0);
		assert_null(list[0]);
		assert_int_equal((*p)->load("nothing", &c, &e), -ENOENT);
		assert_null(c);
		if (geteuid() != 0)
			continue;
		struct launch_removed removed = { 1, 1, 1 };
		assert_int_equal((*p)->down("kiln-unit-nothing", &removed, &e), 0);
		assert_int_equal(removed.processes + removed.namespaces + removed.folders, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(nodes),
		cmocka_unit_test(hosts_file),
		cmocka_unit_test_setup_teardown(images, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(unknown_cluster, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(contract, state_setup, state_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
