/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/own.h"
#include "base/world.h"
#include "scratch.h"

static void reads(const struct world *w, const char *path, const char *want)
{
	AUTO_STR text = NULL;
	struct err e = { 0 };
	if (world_read(w, path, &text, &e) < 0)
		fail_msg("%s: %s", path, e.msg);
	assert_string_equal(text, want);
}

/* root/: a recorded tree. beside/: what is outside and must not be seen. */
static void record(struct world *w)
{
	put_folder("root/etc");
	put_folder("root/sys/class/net/eth0");
	put_folder("beside");
	put_file("root/etc/name", "inside\n");
	put_file("beside/name", "outside\n");
	put_file("root/etc/two", "a\nb\n\n");
	put_file("root/sys/class/net/eth0/mtu", "9001\n");
	assert_int_equal(symlink("/etc/name", in_scratch("root/absolute")), 0);
	assert_int_equal(symlink("../../../../../../etc/name", in_scratch("root/etc/climbs")), 0);
	assert_int_equal(symlink("/sys/class/net", in_scratch("root/etc/dir")), 0);
	assert_int_equal(symlink("loop2", in_scratch("root/loop1")), 0);
	assert_int_equal(symlink("loop1", in_scratch("root/loop2")), 0);
	char out[600];
	snprintf(out, sizeof(out), "%s", in_scratch("beside/name"));
	assert_int_equal(symlink(out, in_scratch("root/etc/out")), 0);
	assert_int_equal(world_init(w, in_scratch("root"), NULL), 0);
	assert_true(w->recorded);
}

static void check_links_stay_inside(void)
{
	struct world w;
	struct err e = { 0 };
	char *text = NULL;
	record(&w);
	reads(&w, "/etc/name", "inside");
	reads(&w, "etc/name", "inside");
	reads(&w, "/etc/two", "a\nb\n");
	reads(&w, "/absolute", "inside");
	reads(&w, "/etc/climbs", "inside");
	reads(&w, "/../../etc/name", "inside");
	reads(&w, "/etc/../etc/./name", "inside");
	reads(&w, "/etc/dir/eth0/mtu", "9001");
	assert_int_equal(world_read(&w, "/etc/out", &text, &e), -ENOENT);
	assert_non_null(strstr(e.msg, in_scratch("root/etc/out")));
	assert_int_equal(world_read(&w, "/../beside/name", &text, &e), -ENOENT);
	assert_int_equal(world_read(&w, "/loop1", &text, &e), -ELOOP);
	assert_int_equal(world_read(&w, "/etc/name/x", &text, &e), -ENOTDIR);
	assert_null(text);
	assert_true(world_exists(&w, "/etc/climbs"));
	assert_true(world_exists(&w, "/"));
	assert_false(world_exists(&w, "/etc/out"));
	AUTO_STRINGS names = NULL;
	assert_int_equal(world_list(&w, "/etc/dir", &names, NULL), 0);
	assert_string_equal(names[0], "eth0");
	assert_null(names[1]);
	world_fini(&w);
}

static void test_links_stay_inside(void **state)
{
	(void)state;
	check_links_stay_inside();
}

/* From here on this process's kernel has no openat2, as before 5.6. */
static bool hide_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT_OF(filter), filter };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The last test: the filter stays on. */
static void test_links_stay_inside_without_openat2(void **state)
{
	(void)state;
	if (!hide_openat2())
		skip();
	assert_int_equal(syscall(SYS_openat2, -1, "", NULL, 0), -1);
	assert_int_equal(errno, ENOSYS);
	check_links_stay_inside();
}

static void test_the_machine_itself(void **state)
{
	(void)state;
	static const char *const roots[] = { NULL, "/", "//", "/proc/.." };
	for (size_t i = 0; i < COUNT_OF(roots); i++) {
		struct world w;
		assert_int_equal(world_init(&w, roots[i], NULL), 0);
		assert_false(w.recorded);
		assert_string_equal(w.root, "/");
		AUTO_STR status = NULL; /* through /proc's own kind of link, too */
		assert_int_equal(world_read(&w, "/proc/self/status", &status, NULL), 0);
		char own[32];
		snprintf(own, sizeof(own), "Pid:\t%d\n", (int)getpid());
		assert_non_null(strstr(status, own));
		assert_true(w.wall_ns() > 0 && w.mono_ns() > 0);
		setenv("KILN_TEST_WORLD", "x", 1);
		assert_string_equal(w.env("KILN_TEST_WORLD"), "x");
		world_fini(&w);
	}
}

static void test_no_such_root(void **state)
{
	(void)state;
	struct world w;
	struct err e = { 0 };
	assert_int_equal(world_init(&w, in_scratch("none"), &e), -ENOENT);
	assert_non_null(strstr(e.msg, in_scratch("none")));
	put_file("f", "");
	assert_int_equal(world_init(&w, in_scratch("f"), &e), -ENOTDIR);
}

static void test_list_is_sorted_and_missing_is_empty(void **state)
{
	(void)state;
	struct world w;
	record(&w);
	AUTO_STRINGS names = NULL;
	assert_int_equal(world_list(&w, "/etc", &names, NULL), 0);
	static const char *const want[] = { "climbs", "dir", "name", "out", "two" };
	for (size_t i = 0; i < COUNT_OF(want); i++)
		assert_string_equal(names[i], want[i]);
	assert_null(names[COUNT_OF(want)]);
	AUTO_STRINGS none = NULL;
	assert_int_equal(world_list(&w, "/sys/class/infiniband", &none, NULL), 0);
	assert_non_null(none);
	assert_null(none[0]);
	world_fini(&w);
}

static void test_open_is_close_on_exec(void **state)
{
	(void)state;
	struct world w;
	record(&w);
	AUTO_FD fd = world_open(&w, "/etc/name", O_RDONLY, NULL);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(world_open(&w, "/etc/none", O_RDONLY, NULL), -ENOENT);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_links_stay_inside),     cmocka_unit_test(test_the_machine_itself),
		scratch_test(test_no_such_root),          scratch_test(test_list_is_sorted_and_missing_is_empty),
		scratch_test(test_open_is_close_on_exec), scratch_test(test_links_stay_inside_without_openat2),
	};
	return cmocka_run_group_tests_name("base/world", tests, NULL, NULL);
}
