/* SPDX-License-Identifier: MIT */
/* kiln launch: clusters of baked nodes. */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "kiln.h"
#include "launch/launch.h"

#define SLOTS_MAX 4096

static volatile sig_atomic_t stop;

static void on_stop(int signal)
{
	stop = signal;
}

static const char *state_text(enum launch_state s)
{
	return s == LAUNCH_UP ? "up" : s == LAUNCH_SILENT ? "silent" : "down";
}

static double seconds_since(int64_t start_ns)
{
	return (double)(clock_mono_ns() - start_ns) / 1e9;
}

static int print_json(const char *verb, json_t *body)
{
	AUTO_JSON owned = body;
	AUTO_JSON j = json_pack("{s:s, s:i}", "kiln", verb, "version", 1);
	if (!owned || !j || json_object_update(j, owned) < 0 || json_print(j, stdout) < 0)
		return EXIT_FINDING;
	return EXIT_GOOD;
}

static json_t *cluster_json(const struct launch_cluster *c)
{
	AUTO_JSON nodes = json_array();
	for (unsigned i = 0; i < c->node_count; i++) {
		const struct launch_node *n = &c->nodes[i];
		json_array_append_new(nodes, json_pack("{s:s, s:s, s:i, s:i, s:s}", "name", n->name, "address",
						       n->address, "slots", (int)n->slots, "pid", (int)n->pid, "state",
						       state_text(n->state)));
	}
	return json_pack("{s:s, s:{s:s?, s:s}, s:O}", "cluster", c->name, "image", "path", c->image, "digest",
			 c->digest, "nodes", nodes);
}

/* up */

struct up_args {
	const char *on;
	int64_t nodes;
	int64_t slots;
	const char *image;
	bool json;
};

static const struct opt up_opts[] = {
	{ "on", 0, OPT_CHOICE, offsetof(struct up_args, on), "PLACE", "local",
	  "where: local = namespaces on this machine", "local" },
	{ "nodes", 'n', OPT_INT, offsetof(struct up_args, nodes), "N", "2", "how many nodes, 1 to 64", NULL },
	{ "slots", 0, OPT_INT, offsetof(struct up_args, slots), "N", NULL,
	  "ranks per node (default: its GPUs, or 1 when it has none)", NULL },
	{ "image", 0, OPT_STR, offsetof(struct up_args, image), "IMAGE", NULL,
	  "OCI layout folder, or the name of a baked image (default: the only one)", "<dir>" },
	{ "json", 0, OPT_FLAG, offsetof(struct up_args, json), NULL, NULL, "print one JSON object", NULL },
	{ 0 },
};

static int up_spec(const struct up_args *a, const char *name, struct launch_spec *s, struct err *e)
{
	int rc = launch_check_name(name, e);
	if (rc < 0)
		return rc;
	if (a->nodes < 1 || a->nodes > LAUNCH_NODES_MAX)
		return err_input(e, "--nodes %lld: give 1 to %d", (long long)a->nodes, LAUNCH_NODES_MAX);
	if (a->slots < 0 || a->slots > SLOTS_MAX)
		return err_input(e, "--slots %lld: give 1 to %d", (long long)a->slots, SLOTS_MAX);
	*s = (struct launch_spec){
		.name = name, .image = a->image, .nodes = (unsigned)a->nodes, .slots = (unsigned)a->slots, .stop = &stop
	};
	return 0;
}

static int up_print(const struct launch_cluster *c, double seconds, bool as_json)
{
	if (as_json) {
		json_t *body = cluster_json(c);
		if (body)
			json_object_set_new(body, "seconds", json_real(seconds));
		return print_json("launch up", body);
	}
	printf("cluster '%s' is up: %u node%s in %.1fs\n", c->name, c->node_count, c->node_count == 1 ? "" : "s",
	       seconds);
	for (unsigned i = 0; i < c->node_count; i++)
		printf("  %s  %s  slots=%u\n", c->nodes[i].name, c->nodes[i].address, c->nodes[i].slots);
	printf("next: kiln launch ssh %s 1\n", c->name);
	return EXIT_GOOD;
}

static int up_run(const void *args, char *const *operands)
{
	const struct up_args *a = args;
	struct err e = { 0 };
	struct launch_spec s;
	AUTO(launch_cluster) c = NULL;
	int64_t start = clock_mono_ns();
	if (up_spec(a, operands[0], &s, &e) < 0)
		return opt_fail("launch up", &e);
	struct sigaction act = { .sa_handler = on_stop };
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN); /* whoever reads our progress may leave; half a cluster must not stay */
	AUTO(progress) p = progress_new(stderr, 4);
	s.progress = p;
	const struct launch_ops *const *place = launch_places;
	while (place[1] && strcmp((*place)->name, a->on) != 0)
		place++;
	int rc = (*place)->up(&s, &c, &e);
	progress_free(steal(p));
	signal(SIGPIPE, SIG_DFL);
	if (rc < 0)
		return opt_fail("launch up", &e);
	if (c->remnants)
		fprintf(stderr, "kiln launch up: what was left of an earlier cluster '%s' was removed first\n",
			c->name);
	return up_print(c, seconds_since(start), a->json);
}

static const struct verb launch_up = {
	.name = "up",
	.operands = "NAME",
	.help = "make a cluster of nodes from a baked image",
	.opts = up_opts,
	.args_size = sizeof(struct up_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = up_run,
	.details = "A local node has its own network, mounts, processes and sshd. All nodes know each other's keys. "
		   "Stopping\n"
		   "this command removes what it has made; after a crash, 'kiln launch down NAME' does.",
};

/* status */

struct json_args {
	bool json;
};

static const struct opt json_opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct json_args, json), NULL, NULL, "print one JSON object", NULL },
	{ 0 },
};

static void status_rows(struct table *t, const struct launch_cluster *c)
{
	for (unsigned i = 0; i < c->node_count; i++) {
		const struct launch_node *n = &c->nodes[i];
		char uptime[CLOCK_TEXT_BYTES] = "-";
		if (n->state != LAUNCH_DOWN)
			clock_duration_text(n->uptime_ns, uptime);
		table_cell(t, "%s", n->name);
		table_cell(t, "%s", n->address);
		table_cell(t, "%u", n->slots);
		table_cell(t, "%s", n->place);
		table_cell(t, n->pid ? "%d" : "-", (int)n->pid);
		table_cell(t, "%s",
			   n->state == LAUNCH_UP       ? "answers"
			   : n->state == LAUNCH_SILENT ? "silent"
						       : "not running");
		table_cell(t, "%s", uptime);
		table_cell(t, "%.12s", c->digest);
	}
}

static bool is_well(const struct launch_cluster *c)
{
	bool well = c->node_count > 0 && c->complete;
	for (unsigned i = 0; i < c->node_count; i++)
		well = well && c->nodes[i].state == LAUNCH_UP;
	return well;
}

struct cluster_set {
	struct launch_cluster **list;
	size_t count;
};

static void cluster_set_fini(struct cluster_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		launch_cluster_free(s->list[i]);
	free(s->list);
}

/* Adds the clusters of one place, looked at. */
static int add_clusters(const struct launch_ops *place, struct cluster_set *set, struct err *e)
{
	AUTO_STRINGS names = NULL;
	int rc = place->list(&names, e);
	for (char **name = names; rc == 0 && *name; name++) {
		AUTO(launch_cluster) c = NULL;
		rc = place->load(*name, &c, e);
		if (rc == -ENOENT) { /* went down just now */
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = place->look(c, e);
		if (rc < 0)
			return rc;
		void *more = reallocarray(set->list, set->count + 1, sizeof(void *));
		if (!more)
			return err_set(e, -ENOMEM, "list clusters");
		set->list = more;
		set->list[set->count++] = steal(c);
	}
	return rc;
}

static int status_print(struct launch_cluster *const *list, size_t count, bool one, bool as_json)
{
	bool well = true;
	AUTO_JSON all = json_array();
	AUTO(table) t = table_new("NODE|ADDRESS|>SLOTS|NAMESPACE|>PID|SSHD|>UPTIME|IMAGE");
	for (size_t i = 0; i < count; i++) {
		well = well && is_well(list[i]);
		json_array_append_new(all, cluster_json(list[i]));
		if (t)
			status_rows(t, list[i]);
	}
	if (as_json) {
		json_t *body = one ? json_incref(json_array_get(all, 0)) : json_pack("{s:O}", "clusters", all);
		int rc = print_json("launch status", body);
		return rc ? rc : well ? EXIT_GOOD : EXIT_FINDING;
	}
	if (count == 0)
		puts("no clusters");
	else if (!t || table_print(t, stdout) < 0)
		return EXIT_FINDING;
	for (size_t i = 0; i < count; i++)
		if (!list[i]->complete)
			printf("cluster '%s' is unfinished: 'kiln launch down %s' removes it\n", list[i]->name,
			       list[i]->name);
	return well ? EXIT_GOOD : EXIT_FINDING;
}

static int status_run(const void *args, char *const *operands)
{
	const struct json_args *a = args;
	struct err e = { 0 };
	if (operands[0]) {
		const struct launch_ops *place = NULL;
		AUTO(launch_cluster) c = NULL;
		int rc = launch_find(operands[0], &place, &c, &e);
		if (rc == 0)
			rc = place->look(c, &e);
		return rc < 0 ? opt_fail("launch status", &e) : status_print(&c, 1, true, a->json);
	}
	__attribute__((cleanup(cluster_set_fini))) struct cluster_set set = { 0 };
	for (const struct launch_ops *const *p = launch_places; *p; p++)
		if (add_clusters(*p, &set, &e) < 0)
			return opt_fail("launch status", &e);
	return status_print(set.list, set.count, false, a->json);
}

static const struct verb launch_status = {
	.name = "status",
	.operands = "[NAME]",
	.help = "show a cluster's nodes, or all clusters'",
	.opts = json_opts,
	.args_size = sizeof(struct json_args),
	.min_operands = 0,
	.max_operands = 1,
	.run = status_run,
	.details = "Exit status 1 when a node does not run or its sshd does not answer.",
};

/* hosts */

static int hosts_run(const void *args, char *const *operands)
{
	const struct json_args *a = args;
	struct err e = { 0 };
	const struct launch_ops *place = NULL;
	AUTO(launch_cluster) c = NULL;
	if (launch_find(operands[0], &place, &c, &e) < 0)
		return opt_fail("launch hosts", &e);
	if (c->node_count == 0) {
		err_set(&e, -ENODATA, "cluster '%s' is unfinished: run 'kiln launch up %s' again", c->name, c->name);
		return opt_fail("launch hosts", &e);
	}
	if (a->json) {
		AUTO_JSON hosts = json_array();
		for (unsigned i = 0; i < c->node_count; i++)
			json_array_append_new(hosts, json_pack("{s:s, s:s, s:i}", "name", c->nodes[i].name, "address",
							       c->nodes[i].address, "slots", (int)c->nodes[i].slots));
		return print_json("launch hosts", json_pack("{s:s, s:O}", "cluster", c->name, "hosts", hosts));
	}
	AUTO_STR text = launch_hosts_text(c);
	if (!text || fputs(text, stdout) == EOF)
		return EXIT_FINDING;
	return EXIT_GOOD;
}

static const struct verb launch_hosts = {
	.name = "hosts",
	.operands = "NAME",
	.help = "print a cluster's hosts file: 'address slots=N' lines, as mpirun --hostfile reads",
	.opts = json_opts,
	.args_size = sizeof(struct json_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = hosts_run,
};

/* ssh */

static int ssh_run(const void *args, char *const *operands)
{
	(void)args;
	struct err e = { 0 };
	const struct launch_ops *place = NULL;
	AUTO(launch_cluster) c = NULL;
	unsigned node = 0;
	char *const *rest = operands + 1;
	bool named = *rest && strcmp(*rest, "--") != 0;
	if (launch_find(operands[0], &place, &c, &e) < 0 || launch_find_node(c, named ? *rest : "1", &node, &e) < 0)
		return opt_fail("launch ssh", &e);
	rest += named;
	if (*rest && strcmp(*rest, "--") == 0)
		rest++;
	(void)place->ssh(c, node, rest, &e);
	return opt_fail("launch ssh", &e);
}

static const struct verb launch_ssh = {
	.name = "ssh",
	.operands = "NAME [NODE] [-- COMMAND...]",
	.help = "log in to a node, or run a command on it",
	.min_operands = 1,
	.max_operands = -1,
	.run = ssh_run,
	.details = "NODE is 1, 2, ..., NAME-1, or an address; 1 when not given. The exit status is the command's own; "
		   "255 when\n"
		   "the connection fails.",
	.stop_at_operand = true,
};

/* down */

static int down_print(const char *name, const struct launch_removed *r, double seconds, bool as_json)
{
	if (as_json)
		return print_json("launch down",
				  json_pack("{s:s, s:{s:i, s:i, s:i}, s:f}", "cluster", name, "removed", "processes",
					    (int)r->processes, "namespaces", (int)r->namespaces, "folders",
					    (int)r->folders, "seconds", seconds));
	if (r->namespaces + r->folders + r->processes == 0)
		printf("cluster '%s': nothing to remove\n", name);
	else
		printf("cluster '%s' is gone: %u processes, %u namespaces and %s removed in %.1fs\n", name,
		       r->processes, r->namespaces, r->folders ? "its folder" : "no folder", seconds);
	return EXIT_GOOD;
}

static int down_run(const void *args, char *const *operands)
{
	const struct json_args *a = args;
	struct err e = { 0 };
	struct launch_removed removed = { 0 };
	int64_t start = clock_mono_ns();
	int rc = launch_check_name(operands[0], &e);
	for (const struct launch_ops *const *p = launch_places; rc == 0 && *p; p++) {
		struct launch_removed here = { 0 };
		rc = (*p)->down(operands[0], &here, &e);
		removed.processes += here.processes;
		removed.namespaces += here.namespaces;
		removed.folders += here.folders;
	}
	return rc < 0 ? opt_fail("launch down", &e) : down_print(operands[0], &removed, seconds_since(start), a->json);
}

static const struct verb launch_down = {
	.name = "down",
	.operands = "NAME",
	.help = "remove a cluster and everything in it",
	.opts = json_opts,
	.args_size = sizeof(struct json_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = down_run,
	.details = "Works on whatever is there, in any state, any number of times.",
};

const struct verb cmd_launch = {
	.name = "launch",
	.help = "place baked nodes as a cluster: up, status, hosts, ssh, down",
	.subs = (const struct verb *const[]){ &launch_up, &launch_status, &launch_hosts, &launch_ssh, &launch_down,
					      NULL },
};
