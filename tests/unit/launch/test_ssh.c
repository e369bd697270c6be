/* SPDX-License-Identifier: MIT */
/* Keys and known hosts, made and read back with OpenSSH's own programs. */
#include "state.h"

#include <fcntl.h>

#include "base/child.h"
#include "launch/cluster.h"
#include "launch/ssh.h"

static struct launch_cluster *cluster;

static int setup(void **state)
{
	if (state_setup(state) || cluster_new("demo", 2, &cluster, NULL) < 0)
		return -1;
	cluster->nodes[0].slots = cluster->nodes[1].slots = 2;
	static const char *const folders[] = { "ssh", "node1", "node2" };
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		AUTO_STR path = fdio_join(state_root, folders[i]);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	AUTO_STR keygen = child_which("ssh-keygen");
	AUTO_STR ssh = child_which("ssh");
	*state = keygen && ssh ? cluster : NULL;
	return 0;
}

static int teardown(void **state)
{
	launch_cluster_free(steal(cluster));
	return state_teardown(state);
}

static void need_openssh(void **state)
{
	if (!*state) {
		print_message("# needs openssh-client\n");
		skip();
	}
}

static char *printed_by(const char *const *argv)
{
	struct child_spec spec = { .argv = argv, .timeout_ms = 20000 };
	struct err e;
	char *out = NULL;
	if (child_output(&spec, &out, &e) < 0)
		fail_msg("%s: %s", argv[0], e.msg);
	return out;
}

static mode_t mode_of(const char *name)
{
	struct stat st;
	AUTO_STR path = fdio_join(state_root, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void keys_are_private_and_known(void **state)
{
	need_openssh(state);
	struct err e;
	assert_int_equal(ssh_make_keys(cluster, state_root, &e), 0);
	assert_int_equal(mode_of("ssh/id_ed25519"), 0600);
	assert_int_equal(mode_of("node1/ssh_host_ed25519_key"), 0600);
	assert_int_equal(mode_of("ssh/config"), 0600);

	AUTO_STR known = fdio_join(state_root, "ssh/known_hosts");
	static const char *const asked[] = { "demo-1", "demo-2", "10.77.0.11", "10.77.0.12" };
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		const char *const find[] = { "ssh-keygen", "-F", asked[i], "-f", known, NULL };
		AUTO_STR found = printed_by(find);
		assert_non_null(strstr(found, "ssh-ed25519"));
	}
}

/* What ssh itself makes of the client configuration. */
static void client_is_strict(void **state)
{
	need_openssh(state);
	struct err e;
	assert_int_equal(ssh_make_keys(cluster, state_root, &e), 0);
	AUTO_STR config = fdio_join(state_root, "ssh/config");
	const char *const ask[] = { "ssh", "-G", "-F", config, "demo-2", NULL };
	AUTO_STR said = printed_by(ask);
	assert_non_null(strstr(said, "hostname 10.77.0.12\n"));
	assert_non_null(strstr(said, "stricthostkeychecking true\n"));
	assert_non_null(strstr(said, "user root\n"));
	assert_non_null(strstr(said, "passwordauthentication no\n"));
}

static const struct node_file *file_of(const struct ssh_files *f, const char *path)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].path, path))
			return &f->list[i];
	fail_msg("the node gets no %s", path);
	return NULL;
}

static void node_files(void **state)
{
	need_openssh(state);
	struct err e;
	AUTO(ssh_files) f = NULL;
	char *env[] = { "FI_PROVIDER=efa", "BAD=two\nlines", NULL };
	assert_int_equal(ssh_make_keys(cluster, state_root, &e), 0);
	assert_int_equal(ssh_files_new(cluster, state_root, 1, env, &f, &e), 0);
	assert_int_equal(file_of(f, "/root/.ssh/id_ed25519")->mode, 0600);
	assert_int_equal(file_of(f, "/root/.ssh/config")->mode, 0600);
	assert_int_equal(file_of(f, "/etc/ssh/ssh_host_ed25519_key")->mode, 0600);
	assert_string_equal(file_of(f, "/etc/kiln/hosts")->text, "10.77.0.11 slots=2\n10.77.0.12 slots=2\n");
	assert_string_equal(file_of(f, "/etc/hostname")->text, "demo-2\n");
	assert_non_null(strstr(file_of(f, "/etc/hosts")->text, "10.77.0.11 demo-1\n"));
	assert_non_null(strstr(file_of(f, "/root/.ssh/config")->text, "StrictHostKeyChecking yes\n"));
	assert_string_equal(file_of(f, "/etc/environment")->text, "\nFI_PROVIDER=efa\n");
	assert_true(file_of(f, "/etc/environment")->append);

	/* The host key that the node gets is the one that is known for it. */
	AUTO_STR pub = strdup(file_of(f, "/etc/ssh/ssh_host_ed25519_key.pub")->text);
	pub[strcspn(pub, "\n")] = '\0';
	AUTO_STR line = NULL;
	assert_true(asprintf(&line, "demo-2,10.77.0.12 %s\n", pub) > 0);
	assert_non_null(strstr(file_of(f, "/etc/ssh/ssh_known_hosts")->text, line));
}

static void without_keygen(void **state)
{
	(void)state;
	struct err e = { 0 };
	const char *was = getenv("PATH");
	AUTO_STR path = strdup(was ? was : "");
	assert_non_null(path);
	setenv("PATH", state_root, 1);
	int rc = ssh_make_keys(cluster, state_root, &e);
	setenv("PATH", path, 1);
	assert_true(rc < 0);
	assert_non_null(strstr(e.msg, "ssh-keygen"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_are_private_and_known, setup, teardown),
		cmocka_unit_test_setup_teardown(client_is_strict, setup, teardown),
		cmocka_unit_test_setup_teardown(node_files, setup, teardown),
		cmocka_unit_test_setup_teardown(without_keygen, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
