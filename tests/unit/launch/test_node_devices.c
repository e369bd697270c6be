/* SPDX-License-Identifier: MIT */
/* Which devices a node gets: from a folder that stands in for /dev, made of real device nodes. */
#include "state.h"

#include <sys/sysmacros.h>

#include "launch/node.h"

static void device(const char *name)
{
	AUTO_STR path = fdio_join(state_root, name);
	assert_int_equal(mknod(path, S_IFCHR | 0666, makedev(1, 3)), 0);
}

static bool has(const struct node_device *list, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].path, path))
			return S_ISCHR(list[i].mode) && list[i].number == makedev(1, 3);
	return false;
}

static int setup(void **state)
{
	if (state_setup(state))
		return -1;
	AUTO_STR probe = fdio_join(state_root, "probe");
	*state = mknod(probe, S_IFCHR | 0666, makedev(1, 3)) == 0 ? state_root : NULL;
	return 0;
}

static void need_mknod(void **state)
{
	if (!*state) {
		print_message("# needs root, to make device nodes\n");
		skip();
	}
}

static void shares_gpus(void **state)
{
	need_mknod(state);
	struct {
		unsigned nodes, index, gpus;
		const char *first;
	} const cases[] = { { 1, 0, 8, "/dev/nvidia0" }, { 2, 0, 4, "/dev/nvidia0" }, { 2, 1, 4, "/dev/nvidia4" },
			    { 3, 0, 3, "/dev/nvidia0" }, { 3, 2, 2, "/dev/nvidia6" }, { 16, 0, 1, "/dev/nvidia0" },
			    { 16, 1, 0, NULL } };
	char name[32];
	for (unsigned g = 0; g < 8; g++) {
		snprintf(name, sizeof(name), "nvidia%u", g);
		device(name);
	}
	device("null");
	device("nvidiactl");
	device("nvidia-uvm");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		__attribute__((cleanup(own_free))) struct node_device *list = NULL;
		size_t count = 0;
		unsigned gpus = 99;
		assert_int_equal(
			node_devices_find(state_root, cases[i].index, cases[i].nodes, &list, &count, &gpus, NULL), 0);
		assert_int_equal(gpus, cases[i].gpus);
		assert_true(has(list, count, "/dev/null"));
		assert_true(has(list, count, "/dev/nvidiactl") == (gpus > 0));
		assert_true(!cases[i].first || has(list, count, cases[i].first));
		assert_false(has(list, count, "/dev/probe"));
	}
	/* Together the nodes hold each GPU once. */
	unsigned total = 0;
	for (unsigned i = 0; i < 5; i++) {
		__attribute__((cleanup(own_free))) struct node_device *list = NULL;
		size_t count;
		unsigned gpus;
		assert_int_equal(node_devices_find(state_root, i, 5, &list, &count, &gpus, NULL), 0);
		total += gpus;
	}
	assert_int_equal(total, 8);
}

static void fabric_and_none(void **state)
{
	need_mknod(state);
	__attribute__((cleanup(own_free))) struct node_device *list = NULL;
	size_t count = 0;
	unsigned gpus = 99;
	AUTO_STR folder = fdio_join(state_root, "infiniband");
	assert_int_equal(mkdir(folder, 0755), 0);
	device("infiniband/uverbs0");
	device("nvidiactl");
	assert_int_equal(node_devices_find(state_root, 0, 2, &list, &count, &gpus, NULL), 0);
	assert_int_equal(gpus, 0);
	assert_true(has(list, count, "/dev/infiniband/uverbs0"));
	assert_false(has(list, count, "/dev/nvidiactl"));
	assert_int_equal(count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shares_gpus, setup, state_teardown),
		cmocka_unit_test_setup_teardown(fabric_and_none, setup, state_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
