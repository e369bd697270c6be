/* SPDX-License-Identifier: MIT */
/*
 * Real namespaces, bridges and processes, under a /run of the test's own (a private mount), so that the machine sees
 * nothing of it and what is left there can be counted.
 */
#include "state.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "launch/netlink.h"
#include "launch/netns.h"
#include "launch/process.h"

static bool able;

static int private_run(void **unused)
{
	(void)unused;
	able = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/run", "tmpfs", 0, NULL) == 0;
	return 0;
}

static void need_namespaces(void)
{
	if (!able) {
		print_message("# needs root, for namespaces\n");
		skip();
	}
}

static unsigned entries_in_run(void)
{
	unsigned n = 0;
	AUTO_DIR dir = opendir("/run");
	for (struct dirent *d = readdir(dir); d; d = readdir(dir))
		n += d->d_name[0] != '.';
	return n;
}

static void add(const char *name)
{
	struct err e;
	int ns = -1, netlink = -1;
	if (netns_add(name, &ns, &netlink, &e) < 0)
		fail_msg("%s", e.msg);
	close(ns);
	close(netlink);
}

static void comes_and_goes_without_trace(void **unused)
{
	(void)unused;
	need_namespaces();
	struct err e;
	int ns, netlink;
	assert_int_equal(entries_in_run(), 0);
	add("kiln-one");
	assert_int_equal(netns_add("kiln-one", &ns, &netlink, &e), -EEXIST);
	AUTO_FD fd = netns_open("kiln-one", &e);
	assert_true(fd >= 0);
	assert_int_equal(netns_remove("kiln-one", &e), 0);
	assert_int_equal(netns_remove("kiln-one", &e), 0);
	assert_int_equal(netns_open("kiln-one", &e), -ENOENT);
	assert_int_equal(entries_in_run(), 0);
}

/* An `up` that was killed at once: between marking, making and mounting /run/netns. */
static void tidies_a_beginning(void **unused)
{
	(void)unused;
	need_namespaces();
	struct err e;
	for (int made = 1; made <= 3; made++) {
		assert_int_equal(mkdir("/run/kiln-netns", 0755), 0);
		if (made > 1)
			assert_int_equal(mkdir("/run/netns", 0755), 0);
		if (made > 2)
			assert_int_equal(mount("/run/netns", "/run/netns", "none", MS_BIND, NULL), 0);
		assert_int_equal(netns_tidy(&e), 0);
		assert_int_equal(entries_in_run(), 0);
	}
}

/* A folder that was there before, or that holds another's namespace, stays. */
static void leaves_what_is_not_ours(void **unused)
{
	(void)unused;
	need_namespaces();
	struct err e;
	assert_int_equal(mkdir("/run/netns", 0755), 0);
	add("kiln-one");
	assert_int_equal(netns_remove("kiln-one", &e), 0);
	assert_true(fdio_exists(AT_FDCWD, "/run/netns"));
	umount2("/run/netns", MNT_DETACH);
	assert_int_equal(rmdir("/run/netns"), 0);

	add("kiln-one");
	add("other");
	assert_int_equal(netns_remove("kiln-one", &e), 0);
	AUTO_FD other = netns_open("other", &e);
	assert_true(other >= 0);
	assert_int_equal(netns_remove("other", &e), 0);
	assert_int_equal(entries_in_run(), 0);
}

static void lists_one_cluster(void **unused)
{
	(void)unused;
	need_namespaces();
	static const char *const all[] = {
		"kiln-a", "kiln-a-1", "kiln-a-12", "kiln-ab", "kiln-a-b", "kiln-a-b-1", "a"
	};
	AUTO_STRINGS names = NULL;
	unsigned count = 0;
	struct err e;
	for (size_t i = 0; i < COUNT_OF(all); i++)
		add(all[i]);
	assert_int_equal(netns_list("a", &names, &e), 0);
	for (char **s = names; *s; s++, count++)
		assert_true(!strcmp(*s, all[0]) || !strcmp(*s, all[1]) || !strcmp(*s, all[2]));
	assert_int_equal(count, 3);
	for (size_t i = 0; i < COUNT_OF(all); i++)
		assert_int_equal(netns_remove(all[i], &e), 0);
	assert_int_equal(entries_in_run(), 0);
}

/* A killed `up` leaves an empty file where a namespace was to be; and somebody may have bound our own namespace. */
static void odd_names(void **unused)
{
	(void)unused;
	need_namespaces();
	struct err e;
	add("kiln-x");
	assert_int_equal(fdio_write_file(AT_FDCWD, "/run/netns/kiln-x-1", "", 0, 0444, &e), 0);
	assert_int_equal(netns_open("kiln-x-1", &e), -ENOENT);
	assert_int_equal(mount("/proc/self/ns/net", "/run/netns/kiln-x-1", "none", MS_BIND, NULL), 0);
	assert_int_equal(netns_open("kiln-x-1", &e), -EDEADLK);
	assert_int_equal(netns_remove("kiln-x-1", &e), 0);
	assert_int_equal(netns_remove("kiln-x", &e), 0);
	assert_int_equal(entries_in_run(), 0);
}

/* A child in the namespace; `stubborn` ignores SIGTERM. */
static pid_t child_in(int ns, bool stubborn)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setns(ns, CLONE_NEWNET) < 0)
			_exit(1);
		if (stubborn)
			signal(SIGTERM, SIG_IGN);
		(void)!write(ready[1], "r", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void finds_and_ends_processes(void **unused)
{
	(void)unused;
	need_namespaces();
	struct err e;
	AUTO_FD ns = -1;
	AUTO_FD netlink = -1;
	unsigned killed = 0;
	int status;
	assert_int_equal(netns_add("kiln-p", &ns, &netlink, &e), 0);
	pid_t gentle = child_in(ns, false), stubborn = child_in(ns, true),
	      outside = child_in(open("/proc/self/ns/net", O_RDONLY), 0);
	{
		__attribute__((cleanup(own_free))) struct process *list = NULL;
		size_t n = 0;
		assert_int_equal(process_list("ns/net", ns, &list, &n, &e), 0);
		assert_int_equal(n, 2);
		assert_false(list[0].is_init);
	}
	assert_int_equal(process_kill("ns/net", ns, 50, &killed, &e), 0);
	assert_int_equal(killed, 2);
	assert_int_equal(waitpid(gentle, &status, 0), gentle);
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(waitpid(stubborn, &status, 0), stubborn);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(waitpid(outside, &status, WNOHANG), 0);
	kill(outside, SIGKILL);
	waitpid(outside, &status, 0);
	assert_int_equal(netns_remove("kiln-p", &e), 0);
}

/* A TCP connection from one node to the other, through the bridge. */
static void carries_traffic(void **unused)
{
	(void)unused;
	need_namespaces();
	struct err e = { 0 };
	int ns[3], nl[3], home;
	static const char *const names[] = { "kiln-t", "kiln-t-1", "kiln-t-2" };
	for (int i = 0; i < 3; i++)
		assert_int_equal(netns_add(names[i], &ns[i], &nl[i], &e), 0);
	assert_int_equal(netlink_add_bridge(nl[0], "br0", &e), 0);
	assert_int_equal(netlink_add_bridge(nl[0], "br0", &e), -EEXIST);
	assert_int_equal(netlink_set_up(nl[0], "br0", &e), 0);
	assert_int_equal(netlink_add_veth(nl[0], "n1", "br0", "eth0", ns[1], &e), 0);
	assert_int_equal(netlink_add_veth(nl[0], "n2", "br0", "eth0", ns[2], &e), 0);
	assert_int_equal(netlink_add_address(nl[1], "eth0", "10.77.0.11", 24, &e), 0);
	assert_int_equal(netlink_add_address(nl[2], "eth0", "10.77.0.12", 24, &e), 0);
	assert_true(netlink_add_address(nl[2], "eth9", "10.77.0.12", 24, &e) < 0);
	assert_non_null(strstr(e.msg, "eth9"));
	assert_int_equal(netlink_set_up(nl[1], "eth0", &e), 0);
	assert_int_equal(netlink_set_up(nl[2], "eth0", &e), 0);

	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7000) };
	inet_pton(AF_INET, "10.77.0.12", &at.sin_addr);
	assert_int_equal(netns_enter(ns[2], &home, &e), 0);
	AUTO_FD server = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server, 1), 0);
	netns_leave(home);
	assert_int_equal(netns_enter(ns[1], &home, &e), 0);
	AUTO_FD client = socket(AF_INET, SOCK_STREAM, 0);
	netns_leave(home);
	struct timeval patience = { .tv_sec = 5 };
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	for (int i = 0; i < 3; i++) {
		close(ns[i]);
		close(nl[i]);
		assert_int_equal(netns_remove(names[i], &e), 0);
	}
	assert_int_equal(entries_in_run(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_and_goes_without_trace),
		cmocka_unit_test(leaves_what_is_not_ours),
		cmocka_unit_test(tidies_a_beginning),
		cmocka_unit_test(lists_one_cluster),
		cmocka_unit_test(odd_names),
		cmocka_unit_test(finds_and_ends_processes),
		cmocka_unit_test(carries_traffic),
	};
	return cmocka_run_group_tests(tests, private_run, NULL);
}
