/* SPDX-License-Identifier: MIT */
#include "launch/ssh.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "launch/netns.h"

#define SSH_PORT 22
#define RETRY_MS 5
#define TEXT_MAX (256 * 1024)
#define NODE_FILES 11

static int no_memory(struct err *e)
{
	return err_set(e, -ENOMEM, "cluster keys");
}

static int make_key(const char *path, const char *comment, struct err *e)
{
	const char *const argv[] = { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path, NULL };
	struct child_spec spec = { .argv = argv, .timeout_ms = 20000 };
	return child_check(&spec, e) < 0 ? err_wrap(e, "make key '%s'", path) : 0;
}

/* "NAME,ADDRESS ssh-ed25519 AAAA..." of every node. */
static int known_hosts(const struct launch_cluster *c, const char *folder, struct buf *to, struct err *e)
{
	for (unsigned i = 0; i < c->node_count; i++) {
		AUTO_STR path = str_printf("%s/node%u/ssh_host_ed25519_key.pub", folder, i + 1);
		AUTO_STR key = NULL;
		if (!path)
			return no_memory(e);
		int rc = fdio_read_file(AT_FDCWD, path, 4096, &key, NULL, e);
		if (rc < 0)
			return rc;
		key[strcspn(key, "\n")] = '\0';
		buf_printf(to, "%s,%s %s\n", c->nodes[i].name, c->nodes[i].address, key);
	}
	return to->failed ? no_memory(e) : 0;
}

/* A path as ssh_config(5) takes it: in double quotes, where '%' begins a token. */
static void config_path(struct buf *to, const char *keyword, const char *path)
{
	buf_printf(to, "  %s \"", keyword);
	for (; *path; path++)
		buf_printf(to, "%s%c", *path == '%' ? "%" : *path == '"' || *path == '\\' ? "\\" : "", *path);
	buf_str(to, "\"\n");
}

/* The client's rules, the same outside and inside: only our key, only known hosts, never a question. */
static void client_rules(struct buf *to, const char *key, const char *known)
{
	config_path(to, "IdentityFile", key);
	config_path(to, "UserKnownHostsFile", known);
	buf_str(to, "  User root\n  IdentitiesOnly yes\n  IdentityAgent none\n  GlobalKnownHostsFile none\n"
		    "  StrictHostKeyChecking yes\n  UpdateHostKeys no\n  CheckHostIP no\n"
		    "  PasswordAuthentication no\n  KbdInteractiveAuthentication no\n  ConnectTimeout 10\n");
}

static int write_in(const char *folder, const char *name, const struct buf *text, mode_t mode, struct err *e)
{
	AUTO_STR path = fdio_join(folder, name);
	if (!path || text->failed)
		return no_memory(e);
	return fdio_write_file(AT_FDCWD, path, buf_text(text), text->len, mode, e);
}

int ssh_make_keys(const struct launch_cluster *c, const char *folder, struct err *e)
{
	AUTO_STR user_key = str_printf("%s/ssh/id_ed25519", folder);
	AUTO_STR known_path = str_printf("%s/ssh/known_hosts", folder);
	AUTO_STR comment = str_printf("kiln cluster %s", c->name);
	AUTO_BUF known, config;
	buf_init(&known, TEXT_MAX);
	buf_init(&config, TEXT_MAX);
	if (!user_key || !known_path || !comment)
		return no_memory(e);
	int rc = make_key(user_key, comment, e);
	for (unsigned i = 0; rc == 0 && i < c->node_count; i++) {
		AUTO_STR path = str_printf("%s/node%u/ssh_host_ed25519_key", folder, i + 1);
		rc = path ? make_key(path, c->nodes[i].name, e) : no_memory(e);
	}
	if (rc == 0)
		rc = known_hosts(c, folder, &known, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < c->node_count; i++)
		buf_printf(&config, "Host %s\n  HostName %s\n", c->nodes[i].name, c->nodes[i].address);
	buf_str(&config, "Host *\n");
	client_rules(&config, user_key, known_path);
	rc = write_in(folder, "ssh/known_hosts", &known, 0644, e);
	return rc < 0 ? rc : write_in(folder, "ssh/config", &config, 0600, e);
}

void ssh_files_free(struct ssh_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->list && i < f->count; i++)
		free((char *)f->list[i].text);
	free(f->list);
	free(f);
}

/* Takes the text. */
static int put(struct ssh_files *f, const char *path, mode_t mode, char *text, struct err *e)
{
	if (!text)
		return no_memory(e);
	f->list[f->count++] = (struct node_file){ .path = path, .mode = mode, .text = text, .len = strlen(text) };
	return 0;
}

static int put_copy(struct ssh_files *f, const char *path, mode_t mode, const char *folder, const char *from,
		    struct err *e)
{
	AUTO_STR source = fdio_join(folder, from);
	char *text = NULL;
	if (!source)
		return no_memory(e);
	int rc = fdio_read_file(AT_FDCWD, source, TEXT_MAX, &text, NULL, e);
	return rc < 0 ? rc : put(f, path, mode, text, e);
}

static char *hosts_table(const struct launch_cluster *c)
{
	AUTO_BUF b;
	buf_init(&b, TEXT_MAX);
	buf_str(&b, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
	for (unsigned i = 0; i < c->node_count; i++)
		buf_printf(&b, "%s %s\n", c->nodes[i].address, c->nodes[i].name);
	return buf_steal(&b);
}

static char *node_client_config(const struct launch_cluster *c)
{
	AUTO_BUF b;
	buf_init(&b, TEXT_MAX);
	buf_printf(&b, "Host %s-* 10.77.0.*\n", c->name);
	client_rules(&b, "/root/.ssh/id_ed25519", "/etc/ssh/ssh_known_hosts");
	return buf_steal(&b);
}

/* What an image declares reaches a login over ssh through PAM's /etc/environment, as it would reach a container's first
 * process. */
static char *environment(char *const *env)
{
	AUTO_BUF b;
	buf_init(&b, TEXT_MAX);
	buf_str(&b, "\n");
	for (; env && *env; env++)
		if (!strchr(*env, '\n'))
			buf_printf(&b, "%s\n", *env);
	return buf_steal(&b);
}

int ssh_files_new(const struct launch_cluster *c, const char *folder, unsigned node, char *const *env,
		  struct ssh_files **ret, struct err *e)
{
	char host_key[64], host_key_pub[64];
	snprintf(host_key, sizeof(host_key), "node%u/ssh_host_ed25519_key", node + 1);
	snprintf(host_key_pub, sizeof(host_key_pub), "node%u/ssh_host_ed25519_key.pub", node + 1);
	AUTO(ssh_files) f = calloc(1, sizeof(*f));
	if (!f || !(f->list = calloc(NODE_FILES, sizeof(*f->list))))
		return no_memory(e);
	int rc = put(f, "/etc/hosts", 0644, hosts_table(c), e);
	rc = rc < 0 ? rc : put(f, "/etc/hostname", 0644, str_printf("%s\n", c->nodes[node].name), e);
	rc = rc < 0 ? rc : put(f, "/etc/kiln/hosts", 0644, launch_hosts_text(c), e);
	rc = rc < 0 ? rc : put_copy(f, "/etc/ssh/ssh_known_hosts", 0644, folder, "ssh/known_hosts", e);
	rc = rc < 0 ? rc : put_copy(f, "/etc/ssh/ssh_host_ed25519_key", 0600, folder, host_key, e);
	rc = rc < 0 ? rc : put_copy(f, "/etc/ssh/ssh_host_ed25519_key.pub", 0644, folder, host_key_pub, e);
	rc = rc < 0 ? rc : put_copy(f, "/root/.ssh/id_ed25519", 0600, folder, "ssh/id_ed25519", e);
	rc = rc < 0 ? rc : put_copy(f, "/root/.ssh/authorized_keys", 0600, folder, "ssh/id_ed25519.pub", e);
	rc = rc < 0 ? rc : put(f, "/root/.ssh/config", 0600, node_client_config(c), e);
	if (rc == 0 && env && *env) {
		rc = put(f, "/etc/environment", 0644, environment(env), e);
		if (rc == 0)
			f->list[f->count - 1].append = true;
	}
	if (rc < 0)
		return rc;
	*ret = steal(f);
	return 0;
}

static int connect_to(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SSH_PORT) };
	AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return -1;
	return steal_fd(&fd);
}

/* One look at all connections; those that failed are closed, to be tried again. */
static unsigned look(const struct launch_cluster *c, struct pollfd *sockets, bool *answered, int wait_ms)
{
	unsigned missing = 0;
	for (unsigned i = 0; i < c->node_count; i++) {
		if (!answered[i] && sockets[i].fd < 0)
			sockets[i].fd = connect_to(c->nodes[i].address);
		sockets[i].events = POLLIN;
		sockets[i].revents = 0;
	}
	(void)poll(sockets, c->node_count, wait_ms);
	for (unsigned i = 0; i < c->node_count; i++) {
		char greeting[256]; /* all of it, so that closing does not reset the connection */
		if (sockets[i].fd >= 0 && sockets[i].revents) {
			answered[i] =
				recv(sockets[i].fd, greeting, sizeof(greeting), 0) >= 4 && !memcmp(greeting, "SSH-", 4);
			close(sockets[i].fd);
			sockets[i].fd = -1;
		}
		missing += !answered[i];
	}
	return missing;
}

int ssh_await(const struct launch_cluster *c, int switch_fd, uint32_t timeout_ms, bool *answered, struct err *e)
{
	struct pollfd sockets[LAUNCH_NODES_MAX];
	unsigned missing = 0;
	int home;
	for (unsigned i = 0; i < c->node_count; i++) {
		sockets[i].fd = -1;
		missing += !answered[i];
	}
	int rc = netns_enter(switch_fd, &home, e);
	if (rc < 0)
		return rc;
	int64_t until = clock_mono_ns() + timeout_ms * INT64_C(1000000);
	while (missing > 0 && clock_mono_ns() < until) {
		unsigned before = missing;
		missing = look(c, sockets, answered, RETRY_MS);
		if (missing == before)
			clock_sleep_ms(RETRY_MS + missing); /* many nodes starting need the processor more than we do */
	}
	for (unsigned i = 0; i < c->node_count; i++)
		if (sockets[i].fd >= 0)
			close(sockets[i].fd);
	netns_leave(home);
	return (int)missing;
}

int ssh_become(const struct launch_cluster *c, const char *folder, int switch_fd, unsigned node, char *const *command,
	       struct err *e)
{
	AUTO_STR config = str_printf("%s/ssh/config", folder);
	size_t words = 0;
	while (command && command[words])
		words++;
	const char **argv = calloc(words + 8, sizeof(*argv));
	if (!config || !argv) {
		free(argv);
		return no_memory(e);
	}
	size_t n = 0;
	argv[n++] = "ssh";
	argv[n++] = "-F";
	argv[n++] = config;
	argv[n++] = c->nodes[node].name;
	if (words)
		argv[n++] = "--";
	for (size_t i = 0; i < words; i++)
		argv[n++] = command[i];
	int home, rc = netns_enter(switch_fd, &home, e);
	if (rc == 0) {
		execvp("ssh", (char *const *)argv);
		rc = errno == ENOENT ? err_set(e, -ENOSYS, "ssh is not installed: install openssh-client")
				     : err_sys(e, "run ssh");
		netns_leave(home);
	}
	free(argv);
	return rc;
}
