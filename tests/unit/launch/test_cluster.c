/* SPDX-License-Identifier: MIT */
/* The folder of a cluster: its record, its lock, its end. */
#include "state.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "launch/cluster.h"

static void record_round_trip(void **unused)
{
	(void)unused;
	AUTO(launch_cluster) c = NULL;
	AUTO(launch_cluster) back = NULL;
	AUTO_FD lock = -1;
	bool made = false;
	struct err e;
	assert_int_equal(cluster_lock("demo", true, &lock, &made, &e), 0);
	assert_true(made);
	assert_int_equal(cluster_new("demo", 2, &c, &e), 0);
	c->image = strdup("/images/with \"quotes\"");
	c->created_wall_ns = 1795228896123456789;
	c->nodes[0].slots = 8;
	c->nodes[1].slots = 1;
	snprintf(c->digest, sizeof(c->digest), "%064d", 7);
	assert_int_equal(cluster_save(c, &e), 0);
	assert_int_equal(cluster_load("demo", &back, &e), 0);
	assert_false(back->complete);
	assert_int_equal(back->node_count, 2);
	assert_int_equal(back->created_wall_ns, c->created_wall_ns);
	assert_string_equal(back->image, c->image);
	assert_string_equal(back->digest, c->digest);
	assert_string_equal(back->nodes[1].name, "demo-2");
	assert_string_equal(back->nodes[1].address, "10.77.0.12");
	assert_string_equal(back->nodes[1].place, "kiln-demo-2");
	assert_int_equal(back->nodes[0].slots, 8);
}

/* What a killed `up` may leave: a folder, with no record or with part of one. */
static void torn_records(void **unused)
{
	(void)unused;
	static const char *const texts[] = {
		"",
		"{",
		"{}",
		"[]",
		"{\"slots\":[]}",
		"{\"created_wall_ns\":1,\"complete\":true,\"image\":\"x\",\"digest\":\"y\",\"slots\":[]}"
	};
	AUTO_STR folder = NULL;
	struct err e;
	assert_int_equal(cluster_path("torn", &folder, &e), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	AUTO_STR file = fdio_join(folder, "cluster.json");
	for (size_t i = 0; i <= COUNT_OF(texts); i++) {
		AUTO(launch_cluster) c = NULL;
		if (i > 0)
			assert_int_equal(fdio_write_file(AT_FDCWD, file, texts[i - 1], strlen(texts[i - 1]), 0644, &e),
					 0);
		assert_int_equal(cluster_load("torn", &c, &e), 0);
		assert_int_equal(c->node_count, 0);
		assert_false(c->complete);
	}
}

static void lists_in_order(void **unused)
{
	(void)unused;
	static const char *const made[] = { "zeta", "alpha", "Not-A-Cluster", "mid" };
	AUTO_STRINGS names = NULL;
	struct err e;
	for (size_t i = 0; i < COUNT_OF(made); i++) {
		AUTO_STR folder = NULL;
		assert_int_equal(cluster_path(made[i], &folder, &e), 0);
		assert_int_equal(mkdir(folder, 0700), 0);
	}
	assert_int_equal(cluster_list(&names, &e), 0);
	assert_string_equal(names[0], "alpha");
	assert_string_equal(names[1], "mid");
	assert_string_equal(names[2], "zeta");
	assert_null(names[3]);
}

/*
 * `down` holds the lock and removes the folder while an `up` waits for it: the `up` must end with the lock of the folder
 * that the name means then, not with the removed one's.
 */
static void lock_follows_the_name(void **unused)
{
	(void)unused;
	AUTO_FD lock = -1;
	bool made = false;
	struct err e;
	int told[2], status;
	char byte;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(cluster_lock("demo", true, &lock, &made, &e), 0);
	pid_t waiter = fork();
	if (waiter == 0) {
		int fd = -1;
		bool fresh = false;
		own_close(&lock);
		(void)!write(told[1], "w", 1);
		if (cluster_lock("demo", true, &fd, &fresh, NULL) < 0)
			_exit(1);
		struct stat held, there;
		AUTO_STR path = NULL;
		if (cluster_path("demo", &path, NULL) < 0 || fstat(fd, &held) < 0 || stat(path, &there) < 0)
			_exit(2);
		_exit(held.st_ino == there.st_ino && fresh ? 0 : 3);
	}
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(cluster_remove("demo", &e), 0);
	own_close(&lock);
	lock = -1;
	assert_int_equal(waitpid(waiter, &status, 0), waiter);
	assert_int_equal(status, 0);
	close(told[0]);
	close(told[1]);
}

static void lock_of_nothing(void **unused)
{
	(void)unused;
	int lock = -1;
	bool made = false;
	assert_int_equal(cluster_lock("nothing", false, &lock, &made, NULL), -ENOENT);
	assert_int_equal(lock, -1);
}

static void remove_leaves_nothing(void **unused)
{
	(void)unused;
	AUTO_STR folder = NULL;
	AUTO_STR deep = NULL;
	struct err e;
	assert_int_equal(cluster_path("demo", &folder, &e), 0);
	assert_true(asprintf(&deep, "%s/node1/upper/etc", folder) > 0);
	assert_int_equal(fdio_mkdir_p(deep, 0700, &e), 0);
	assert_int_equal(cluster_remove("demo", &e), 0);
	assert_int_equal(cluster_remove("demo", &e), 0);
	AUTO_STR clusters = fdio_join(state_root, "clusters");
	assert_false(fdio_exists(AT_FDCWD, clusters));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(record_round_trip, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(torn_records, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(lists_in_order, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(lock_follows_the_name, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(lock_of_nothing, state_setup, state_teardown),
		cmocka_unit_test_setup_teardown(remove_leaves_nothing, state_setup, state_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
