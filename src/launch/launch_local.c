/* SPDX-License-Identifier: MIT */
#include "launch/launch_local.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "launch/cluster.h"
#include "launch/local_build.h"
#include "launch/netns.h"
#include "launch/process.h"
#include "launch/ssh.h"

#define STATUS_WAIT_MS 1000
#define SSH_GRACE_MS 1000

static int need_root(struct err *e)
{
	if (geteuid() == 0)
		return 0;
	return err_set(e, -EPERM, "needs root, for namespaces and mounts: run it again with sudo");
}

/* Ends the processes of one namespace. Clients in the switch get a while to see their connection end by itself. */
static int empty(const char *ns, uint32_t grace_ms, struct launch_removed *removed, struct err *e)
{
	AUTO_FD fd = netns_open(ns, e);
	if (fd == -ENOENT) /* only the file of one that was in the making */
		return 0;
	return fd < 0 ? fd : process_kill("ns/net", fd, grace_ms, &removed->processes, e);
}

/* Ends nodes whose namespace has lost its name (`ip netns del`): their console, in the folder, still leads to them. */
static int end_nameless(const char *name, struct launch_removed *removed, struct err *e)
{
	AUTO_STR folder = NULL;
	int rc = cluster_path(name, &folder, e);
	for (unsigned i = 1; rc == 0 && i <= LAUNCH_NODES_MAX; i++) {
		AUTO_STR console = str_printf("%s/node%u/console.log", folder, i);
		AUTO_FD fd = console ? open(console, O_RDONLY | O_CLOEXEC) : -1;
		if (fd >= 0)
			rc = process_kill("fd/2", fd, 0, &removed->processes, e);
	}
	return rc;
}

/* Removes what there is of a cluster, folder last: so that as long as anything is there, its record is too. */
static int remove_all(const char *name, struct launch_removed *removed, struct err *e)
{
	AUTO_STRINGS spaces = NULL;
	AUTO_STR folder = NULL;
	char switch_name[64];
	snprintf(switch_name, sizeof(switch_name), "kiln-%s", name);
	int rc = netns_list(name, &spaces, e);
	for (char **s = spaces; rc == 0 && *s; s++)
		if (strcmp(*s, switch_name) != 0)
			rc = empty(*s, 0, removed, e);
	if (rc == 0)
		rc = end_nameless(name, removed, e);
	for (char **s = spaces; rc == 0 && *s; s++)
		if (strcmp(*s, switch_name) == 0)
			rc = empty(*s, SSH_GRACE_MS, removed, e);
	for (char **s = spaces; rc == 0 && *s; s++) {
		rc = netns_remove(*s, e);
		removed->namespaces += rc == 0;
	}
	if (rc == 0)
		rc = netns_tidy(e);
	if (rc == 0)
		rc = cluster_path(name, &folder, e);
	struct stat st;
	if (rc == 0 && lstat(folder, &st) == 0)
		removed->folders++;
	return rc < 0 ? rc : cluster_remove(name, e);
}

static int local_down(const char *name, struct launch_removed *ret, struct err *e)
{
	struct launch_removed removed = { 0 };
	AUTO_FD lock = -1;
	bool made = false;
	int rc = need_root(e);
	if (rc < 0)
		return rc;
	rc = cluster_lock(name, /* create= */ false, &lock, &made, e);
	if (rc == 0 || rc == -ENOENT)
		rc = remove_all(name, &removed, e);
	if (rc < 0)
		return rc;
	*ret = removed;
	return 0;
}

/* How many processes run in the cluster's namespaces. */
static int count_running(const char *name, unsigned *ret, struct err *e)
{
	AUTO_STRINGS spaces = NULL;
	unsigned running = 0;
	int rc = netns_list(name, &spaces, e);
	for (char **s = spaces; rc == 0 && *s; s++) {
		__attribute__((cleanup(own_free))) struct process *list = NULL;
		size_t n = 0;
		AUTO_FD fd = netns_open(*s, e);
		if (fd == -ENOENT)
			continue;
		rc = fd < 0 ? fd : process_list("ns/net", fd, &list, &n, e);
		running += (unsigned)n;
	}
	if (rc == 0)
		*ret = running;
	return rc;
}

/* A folder was there: fails when its cluster is up. One that runs in part is not ours to take away either. */
static int refuse_running(const char *name, unsigned running, struct err *e)
{
	AUTO(launch_cluster) there = NULL;
	char since[CLOCK_TEXT_BYTES];
	int rc = cluster_load(name, &there, e);
	if (rc < 0)
		return rc;
	if (!there->complete || running == 0)
		return 0;
	clock_text(there->created_wall_ns, since);
	return err_input(e,
			 "cluster '%s' is already up (%u node%s since %s): run 'kiln launch down %s' first, or choose "
			 "another name",
			 name, there->node_count, there->node_count == 1 ? "" : "s", since, name);
}

/* No folder was there, but processes are: somebody else's cluster. */
static int refuse_stranger(const char *name, unsigned running, struct err *e)
{
	if (running == 0)
		return 0;
	(void)cluster_remove(name, NULL); /* the one that we have just made */
	return err_input(
		e,
		"the name '%s' is taken: %u processes run in its namespaces, but this state folder knows no such "
		"cluster; choose another name, or set KILN_STATE as when it was made, or run 'kiln launch down %s'",
		name, running, name);
}

/* One attempt at claim: 1 when the name was free, 0 when it is now. */
static int claim_once(const char *name, int *ret_lock, struct err *e)
{
	AUTO_FD lock = -1;
	AUTO_STRINGS spaces = NULL;
	struct launch_removed removed = { 0 };
	bool made = false;
	unsigned running = 0;
	int rc = cluster_lock(name, /* create= */ true, &lock, &made, e);
	if (rc == 0)
		rc = netns_list(name, &spaces, e);
	if (rc < 0)
		return rc;
	if (made && !(spaces && *spaces)) {
		*ret_lock = steal_fd(&lock);
		return 1;
	}
	rc = count_running(name, &running, e);
	if (rc == 0)
		rc = made ? refuse_stranger(name, running, e) : refuse_running(name, running, e);
	return rc < 0 ? rc : remove_all(name, &removed, e);
}

/* Takes the name: a fresh, locked folder and no namespace. What an unfinished `up` left is removed first. */
static int claim(const char *name, int *ret_lock, bool *ret_remnants, struct err *e)
{
	int rc;
	*ret_remnants = false;
	while ((rc = claim_once(name, ret_lock, e)) == 0)
		*ret_remnants = true;
	return rc < 0 ? rc : 0;
}

static int local_up(const struct launch_spec *s, struct launch_cluster **ret, struct err *e)
{
	AUTO(launch_cluster) c = NULL;
	AUTO(oci_image) image = NULL;
	AUTO_FD lock = -1;
	bool remnants = false;
	int rc = need_root(e);
	if (rc < 0)
		return rc;
	rc = cluster_new(s->name, s->nodes, &c, e);
	if (rc == 0)
		rc = launch_find_image(s->image, &c->image, e);
	if (rc == 0)
		rc = oci_open(c->image, &image, e);
	if (rc == 0)
		rc = claim(s->name, &lock, &remnants, e);
	if (rc < 0)
		return rc;
	c->remnants = remnants;
	c->created_wall_ns = clock_wall_ns();
	rc = local_build(c, s, image, e);
	if (rc < 0) {
		struct launch_removed removed = { 0 };
		struct err again;
		if (remove_all(s->name, &removed, &again) < 0)
			err_hint(e, "and its remains could not be removed (%s): run 'kiln launch down %s'", again.msg,
				 s->name);
		return rc;
	}
	*ret = steal(c);
	return 0;
}

static int look_at(struct launch_node *n, struct err *e)
{
	__attribute__((cleanup(own_free))) struct process *list = NULL;
	size_t count = 0;
	AUTO_FD fd = netns_open(n->place, e);
	n->pid = 0;
	n->uptime_ns = 0;
	n->state = LAUNCH_DOWN;
	if (fd == -ENOENT)
		return 0;
	int rc = fd < 0 ? fd : process_list("ns/net", fd, &list, &count, e);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!list[i].is_init || list[i].uptime_ns < n->uptime_ns)
			continue; /* the oldest, should the node run containers of its own */
		n->pid = list[i].pid;
		n->uptime_ns = list[i].uptime_ns;
		n->state = LAUNCH_SILENT;
	}
	return rc;
}

static int local_look(struct launch_cluster *c, struct err *e)
{
	char switch_name[64];
	bool answered[LAUNCH_NODES_MAX];
	int rc = need_root(e);
	for (unsigned i = 0; rc == 0 && i < c->node_count; i++) {
		rc = look_at(&c->nodes[i], e);
		answered[i] = c->nodes[i].state == LAUNCH_DOWN; /* not to be asked */
	}
	if (rc < 0)
		return rc;
	snprintf(switch_name, sizeof(switch_name), "kiln-%s", c->name);
	AUTO_FD fd = netns_open(switch_name, e);
	if (fd == -ENOENT)
		return 0;
	rc = fd < 0 ? fd : ssh_await(c, fd, STATUS_WAIT_MS, answered, e);
	for (unsigned i = 0; rc >= 0 && i < c->node_count; i++)
		if (c->nodes[i].state == LAUNCH_SILENT && answered[i])
			c->nodes[i].state = LAUNCH_UP;
	return rc < 0 ? rc : 0;
}

static int local_ssh(const struct launch_cluster *c, unsigned node, char *const *command, struct err *e)
{
	AUTO_STR folder = NULL;
	char switch_name[64];
	snprintf(switch_name, sizeof(switch_name), "kiln-%s", c->name);
	int rc = need_root(e);
	if (rc == 0)
		rc = cluster_path(c->name, &folder, e);
	if (rc < 0)
		return rc;
	struct launch_node now = c->nodes[node];
	rc = look_at(&now, e);
	if (rc < 0)
		return rc;
	AUTO_FD fd = netns_open(switch_name, e);
	if (fd == -ENOENT || now.state == LAUNCH_DOWN)
		return err_set(e, -ESRCH, "cluster '%s' does not run: 'kiln launch up %s' starts it again", c->name,
			       c->name);
	return fd < 0 ? fd : ssh_become(c, folder, fd, node, command, e);
}

const struct launch_ops launch_local = {
	.name = "local",
	.help = "namespaces on this machine",
	.up = local_up,
	.list = cluster_list,
	.load = cluster_load,
	.look = local_look,
	.ssh = local_ssh,
	.down = local_down,
};
