/* SPDX-License-Identifier: MIT */
#include "launch/local_build.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "launch/cluster.h"
#include "launch/netlink.h"
#include "launch/netns.h"
#include "launch/node.h"
#include "launch/ssh.h"

#define SUBNET_BITS 24
#define SWITCH_ADDRESS "10.77.0.1"
#define ANSWER_WAIT_MS 10000
#define ANSWER_SLICE_MS 100
#define ANSWER_NODE_MS 50 /* of a processor, for an sshd to take a connection and greet */

/* What is open while a cluster is built. */
struct build {
	struct launch_cluster *c;
	const struct launch_spec *spec;
	const struct oci_image *image;
	char *folder;
	unsigned layers;
	int switch_fd;
	int switch_netlink;
	int node_fds[LAUNCH_NODES_MAX];
	int reports[LAUNCH_NODES_MAX];
};

static void build_fini(struct build *b)
{
	free(b->folder);
	own_close(&b->switch_fd);
	own_close(&b->switch_netlink);
	for (unsigned i = 0; i < LAUNCH_NODES_MAX; i++) {
		own_close(&b->node_fds[i]);
		own_close(&b->reports[i]);
	}
}

static int stopped(const struct build *b, struct err *e)
{
	if (b->spec->stop && *b->spec->stop)
		return err_set(e, -EINTR, "interrupted: what was made of cluster '%s' was removed", b->c->name);
	return 0;
}

static int make_folder(const struct build *b, const char *name, struct err *e)
{
	AUTO_STR path = fdio_join(b->folder, name);
	if (!path)
		return err_set(e, -ENOMEM, "cluster '%s'", b->c->name);
	/* Whatever the umask: a node's upper folder is its / . */
	return mkdir(path, 0755) < 0 || chmod(path, 0755) < 0 ? err_sys(e, "make '%s'", path) : 0;
}

/* An overlay's upper layer cannot be on an overlay itself, which is where a container's own files are. */
static int check_file_system(const struct build *b, struct err *e)
{
	struct statfs fs;
	if (statfs(b->folder, &fs) < 0)
		return err_sys(e, "look at '%s'", b->folder);
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return err_set(
			e, -EOPNOTSUPP,
			"'%s' is on an overlay file system, which cannot carry a node's: set KILN_STATE to a folder on "
			"ext4, xfs or tmpfs",
			b->folder);
	return 0;
}

static int make_folders(struct build *b, struct err *e)
{
	int rc = make_folder(b, "ssh", e);
	if (rc == 0)
		rc = make_folder(b, "lower", e);
	for (unsigned i = 1; rc == 0 && i <= b->c->node_count; i++) {
		static const char *const parts[] = { "", "/upper", "/work", "/root" };
		for (size_t k = 0; rc == 0 && k < COUNT_OF(parts); k++) {
			char name[32];
			snprintf(name, sizeof(name), "node%u%s", i, parts[k]);
			rc = make_folder(b, name, e);
		}
	}
	return rc;
}

static int link_layers(struct build *b, struct err *e)
{
	AUTO_STRINGS dirs = NULL;
	int rc = oci_layer_dirs(b->c->image, b->image, &dirs, e);
	for (; rc == 0 && dirs[b->layers]; b->layers++) {
		char name[32];
		snprintf(name, sizeof(name), "lower/%u", b->layers);
		AUTO_STR path = fdio_join(b->folder, name);
		AUTO_STR target = realpath(dirs[b->layers], NULL);
		if (!target)
			return err_sys(e, "layer '%s'", dirs[b->layers]);
		if (!path || symlink(target, path) < 0)
			return err_sys(e, "link layer '%s'", target);
	}
	return rc;
}

static int connect_node(struct build *b, unsigned i, struct err *e)
{
	const struct launch_node *n = &b->c->nodes[i];
	AUTO_FD netlink = -1;
	char port[16];
	snprintf(port, sizeof(port), "n%u", i + 1); /* interface names have room for 15 bytes */
	int rc = netns_add(n->place, &b->node_fds[i], &netlink, e);
	if (rc == 0)
		rc = netlink_add_veth(b->switch_netlink, port, "br0", "eth0", b->node_fds[i], e);
	if (rc == 0)
		rc = netlink_add_address(netlink, "eth0", n->address, SUBNET_BITS, e);
	if (rc == 0)
		rc = netlink_set_up(netlink, "eth0", e);
	return rc;
}

static int make_network(struct build *b, struct err *e)
{
	char name[64];
	snprintf(name, sizeof(name), "kiln-%s", b->c->name);
	int rc = netns_add(name, &b->switch_fd, &b->switch_netlink, e);
	if (rc == 0)
		rc = netlink_add_bridge(b->switch_netlink, "br0", e);
	if (rc == 0)
		rc = netlink_add_address(b->switch_netlink, "br0", SWITCH_ADDRESS, SUBNET_BITS, e);
	if (rc == 0)
		rc = netlink_set_up(b->switch_netlink, "br0", e);
	for (unsigned i = 0; rc == 0 && i < b->c->node_count; i++) {
		rc = connect_node(b, i, e);
		if (rc == 0)
			rc = stopped(b, e);
	}
	return rc;
}

static int start_node(struct build *b, unsigned i, struct err *e)
{
	struct launch_node *n = &b->c->nodes[i];
	__attribute__((cleanup(own_free))) struct node_device *devices = NULL;
	AUTO(ssh_files) files = NULL;
	struct node_plan plan = { .name = n->name, .folder = b->folder, .number = i + 1, .layers = b->layers };
	unsigned gpus;
	int rc = node_devices_find("/dev", i, b->c->node_count, &devices, &plan.device_count, &gpus, e);
	if (rc == 0)
		rc = ssh_files_new(b->c, b->folder, i, b->image->env, &files, e);
	if (rc != 0)
		return rc;
	plan.devices = devices;
	plan.files = files->list;
	plan.file_count = files->count;
	return node_start(&plan, b->node_fds[i], &n->pid, &b->reports[i], e);
}

static int start_nodes(struct build *b, struct progress_step *step, struct err *e)
{
	int rc = 0;
	unsigned count = b->c->node_count;
	for (unsigned i = 0; rc == 0 && i < count; i++) {
		rc = start_node(b, i, e);
		if (rc == 0)
			rc = stopped(b, e);
	}
	for (unsigned i = 0; rc == 0 && i < count; i++) {
		rc = node_await(b->c->nodes[i].name, steal_fd(&b->reports[i]), e);
		progress_update(step, i + 1, count, "nodes");
	}
	return rc;
}

/* A node whose pid 1 has ended, or that stays silent: its own last words say why. */
static int node_failed(const struct build *b, unsigned i, const char *how, struct err *e)
{
	char log[32];
	snprintf(log, sizeof(log), "node%u/console.log", i + 1);
	AUTO_STR path = fdio_join(b->folder, log);
	AUTO_STR last = path ? child_last_lines(path, 1) : NULL;
	return err_set(e, -EIO, "node '%s' %s; the last line of its console: %s", b->c->nodes[i].name, how,
		       last && *last ? last : "(nothing)");
}

static int await_sshd(struct build *b, struct progress_step *step, struct err *e)
{
	bool answered[LAUNCH_NODES_MAX] = { false };
	unsigned count = b->c->node_count;
	int missing = (int)count;
	int64_t until = clock_mono_ns() + ANSWER_WAIT_MS * INT64_C(1000000);
	while (missing > 0) {
		int before = missing;
		/* Long enough for all to greet: at its end the connections are dropped, and those sshds begin anew. */
		missing = ssh_await(b->c, b->switch_fd, ANSWER_SLICE_MS + ANSWER_NODE_MS * (uint32_t)missing, answered,
				    e);
		if (missing < 0)
			return missing;
		if (missing < before) /* many nodes on a busy machine take their time, but they come one by one */
			until = clock_mono_ns() + ANSWER_WAIT_MS * INT64_C(1000000);
		progress_update(step, count - (unsigned)missing, count, "nodes");
		int rc = stopped(b, e);
		if (rc < 0)
			return rc;
		for (unsigned i = 0; i < count; i++) {
			if (!answered[i] && waitpid(b->c->nodes[i].pid, NULL, WNOHANG) == b->c->nodes[i].pid)
				return node_failed(b, i, "ended while it started", e);
			if (!answered[i] && clock_mono_ns() > until)
				return node_failed(b, i, "does not answer on port 22 after 10 s", e);
		}
	}
	for (unsigned i = 0; i < count; i++)
		b->c->nodes[i].state = LAUNCH_UP;
	return 0;
}

/* Who gets how many ranks, and what `down`, `status` and `hosts` need to know, before there is anything to find. */
static int record(struct build *b, struct err *e)
{
	for (unsigned i = 0; i < b->c->node_count; i++) {
		__attribute__((cleanup(own_free))) struct node_device *devices = NULL;
		size_t device_count;
		unsigned gpus = 0;
		int rc = node_devices_find("/dev", i, b->c->node_count, &devices, &device_count, &gpus, e);
		if (rc < 0)
			return rc;
		b->c->nodes[i].slots = b->spec->slots ? b->spec->slots : gpus ? gpus : 1;
	}
	snprintf(b->c->digest, sizeof(b->c->digest), "%s", b->image->digest);
	AUTO_STR hosts = launch_hosts_text(b->c);
	AUTO_STR path = fdio_join(b->folder, "hosts");
	if (!hosts || !path)
		return err_set(e, -ENOMEM, "cluster '%s'", b->c->name);
	int rc = cluster_save(b->c, e);
	return rc < 0 ? rc : fdio_write_file(AT_FDCWD, path, hosts, strlen(hosts), 0644, e);
}

static int prepare(struct build *b, struct err *e)
{
	int rc = cluster_path(b->c->name, &b->folder, e);
	if (rc == 0)
		rc = check_file_system(b, e);
	if (rc == 0)
		rc = record(b, e);
	if (rc == 0)
		rc = make_folders(b, e);
	if (rc == 0)
		rc = link_layers(b, e);
	return rc == 0 ? stopped(b, e) : rc;
}

static struct progress_step *next_step(struct build *b, struct progress_step *done, const char *what)
{
	if (done)
		progress_end(done, PROGRESS_DONE, NULL);
	return progress_start(b->spec->progress, "%s", what);
}

int local_build(struct launch_cluster *c, const struct launch_spec *s, const struct oci_image *image, struct err *e)
{
	__attribute__((cleanup(build_fini))) struct build b = {
		.c = c, .spec = s, .image = image, .switch_fd = -1, .switch_netlink = -1
	};
	memset(b.node_fds, 0xff, sizeof(b.node_fds));
	memset(b.reports, 0xff, sizeof(b.reports));
	struct progress_step *step = next_step(&b, NULL, "unpack the image's layers");
	int rc = prepare(&b, e);
	if (rc == 0) {
		step = next_step(&b, step, "make keys and network");
		rc = ssh_make_keys(c, b.folder, e);
	}
	if (rc == 0)
		rc = make_network(&b, e);
	if (rc == 0) {
		step = next_step(&b, step, "start nodes");
		rc = start_nodes(&b, step, e);
	}
	if (rc == 0) {
		step = next_step(&b, step, "wait for sshd");
		rc = await_sshd(&b, step, e);
	}
	if (rc == 0) {
		c->complete = true;
		rc = cluster_save(c, e);
	}
	progress_end(step, rc == 0 ? PROGRESS_DONE : PROGRESS_FAILED, NULL);
	return rc;
}
