/* SPDX-License-Identifier: MIT */
#include "launch/cluster.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "base/json.h"
#include "base/state.h"

#define LOCK_WAIT_MS 15000
#define LOCK_PAUSE_MS 20

int cluster_path(const char *name, char **ret, struct err *e)
{
	AUTO_STR clusters = NULL;
	int rc = state_dir("clusters", &clusters, e);
	if (rc < 0)
		return rc;
	char *path = fdio_join(clusters, name);
	if (!path) {
		err_set(e, -ENOMEM, "cluster '%s'", name);
		return -ENOMEM;
	}
	*ret = path;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes name. Grows by one; the list always ends in NULL. */
static int list_add(char ***list, size_t n, char *name)
{
	char **more = name ? realloc(*list, (n + 2) * sizeof(char *)) : NULL;
	if (!more) {
		free(name);
		return -ENOMEM;
	}
	more[n] = name;
	more[n + 1] = NULL;
	*list = more;
	return 0;
}

int cluster_list(char ***ret, struct err *e)
{
	AUTO_STR clusters = NULL;
	int rc = state_dir("clusters", &clusters, e);
	if (rc < 0)
		return rc;
	AUTO_DIR dir = opendir(clusters);
	if (!dir)
		return err_sys(e, "read '%s'", clusters);
	AUTO_STRINGS names = calloc(1, sizeof(char *));
	if (!names)
		return err_set(e, -ENOMEM, "list clusters");
	size_t n = 0;
	for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
		if (launch_check_name(d->d_name, NULL) < 0)
			continue;
		if (list_add(&names, n++, strdup(d->d_name)) < 0)
			return err_set(e, -ENOMEM, "list clusters");
	}
	qsort(names, n, sizeof(char *), by_name);
	*ret = steal(names);
	return 0;
}

/* One attempt: the folder's descriptor with its lock held, or -EAGAIN when another has it or it went away under us. */
static int try_lock(const char *path, bool create, bool *made, struct err *e)
{
	if (create && mkdir(path, 0700) == 0)
		*made = true;
	else if (create && errno != EEXIST)
		return errno == ENOENT ? -EAGAIN : err_sys(e, "make '%s'", path);
	AUTO_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return create && errno == ENOENT ? -EAGAIN : err_sys(e, "open '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : err_sys(e, "lock '%s'", path);
	/* A `down` that held the lock has removed the folder: what we locked is no longer what the name means. */
	struct stat held, there;
	if (fstat(fd, &held) < 0 || stat(path, &there) < 0 || held.st_ino != there.st_ino ||
	    held.st_dev != there.st_dev)
		return -EAGAIN;
	return steal_fd(&fd);
}

int cluster_lock(const char *name, bool create, int *ret_fd, bool *ret_made, struct err *e)
{
	bool made = false;
	int64_t until = clock_mono_ns() + LOCK_WAIT_MS * INT64_C(1000000);
	for (;;) {
		AUTO_STR path = NULL; /* again each time: the parent goes with the last cluster */
		int rc = cluster_path(name, &path, e);
		if (rc < 0)
			return rc;
		int fd = try_lock(path, create, &made, e);
		if (fd >= 0) {
			*ret_fd = fd;
			*ret_made = made;
			return 0;
		}
		if (fd != -EAGAIN)
			return fd;
		if (clock_mono_ns() > until)
			return err_set(e, -EBUSY,
				       "cluster '%s': another kiln is working on it; try again when it has ended",
				       name);
		clock_sleep_ms(LOCK_PAUSE_MS);
	}
}

int cluster_remove(const char *name, struct err *e)
{
	AUTO_STR path = NULL;
	AUTO_STR clusters = NULL;
	int rc = cluster_path(name, &path, e);
	if (rc == 0)
		rc = fdio_remove_tree(path, e);
	if (rc == 0 && state_dir("clusters", &clusters, NULL) == 0)
		(void)rmdir(clusters); /* stays while it holds another cluster */
	return rc;
}

int cluster_new(const char *name, unsigned nodes, struct launch_cluster **ret, struct err *e)
{
	AUTO(launch_cluster) c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(e, -ENOMEM, "cluster '%s'", name);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->node_count = nodes;
	c->nodes = calloc(nodes ? nodes : 1, sizeof(*c->nodes));
	if (!c->nodes)
		return err_set(e, -ENOMEM, "cluster '%s'", name);
	for (unsigned i = 0; i < nodes; i++) {
		struct launch_node *n = &c->nodes[i];
		snprintf(n->name, sizeof(n->name), "%s-%u", c->name, i + 1);
		snprintf(n->address, sizeof(n->address), "10.77.0.%u", 11 + i);
		snprintf(n->place, sizeof(n->place), "kiln-%s-%u", c->name, i + 1);
		n->state = LAUNCH_DOWN;
	}
	*ret = steal(c);
	return 0;
}

int cluster_save(const struct launch_cluster *c, struct err *e)
{
	AUTO_STR path = NULL;
	int rc = cluster_path(c->name, &path, e);
	if (rc < 0)
		return rc;
	AUTO_STR file = fdio_join(path, "cluster.json");
	AUTO_JSON slots = json_array();
	for (unsigned i = 0; i < c->node_count; i++)
		json_array_append_new(slots, json_integer(c->nodes[i].slots));
	AUTO_JSON j = json_pack("{s:s, s:I, s:b, s:s, s:s, s:O}", "cluster", c->name, "created_wall_ns",
				(json_int_t)c->created_wall_ns, "complete", c->complete, "image", c->image, "digest",
				c->digest, "slots", slots);
	AUTO_STR text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;
	if (!file || !text)
		return err_set(e, -ENOMEM, "record cluster '%s'", c->name);
	return fdio_write_file(AT_FDCWD, file, text, strlen(text), 0644, e);
}

/* What the record says; false when it is not whole (an `up` that was killed while it wrote, or before). */
static bool read_record(const json_t *j, const char *name, struct launch_cluster **ret)
{
	const char *image = NULL, *digest = NULL;
	json_int_t created = 0;
	int complete = 0;
	json_t *slots = NULL;
	AUTO(launch_cluster) c = NULL;
	if (json_unpack((json_t *)j, "{s:I, s:b, s:s, s:s, s:o}", "created_wall_ns", &created, "complete", &complete,
			"image", &image, "digest", &digest, "slots", &slots) < 0)
		return false;
	size_t nodes = json_array_size(slots);
	if (nodes == 0 || nodes > LAUNCH_NODES_MAX || cluster_new(name, (unsigned)nodes, &c, NULL) < 0 || !c)
		return false;
	c->created_wall_ns = created;
	c->complete = complete;
	c->image = strdup(image);
	snprintf(c->digest, sizeof(c->digest), "%s", digest);
	for (unsigned i = 0; i < nodes; i++)
		c->nodes[i].slots = (unsigned)json_integer_value(json_array_get(slots, i));
	if (!c->image)
		return false;
	*ret = steal(c);
	return true;
}

int cluster_load(const char *name, struct launch_cluster **ret, struct err *e)
{
	AUTO_STR path = NULL;
	int rc = cluster_path(name, &path, e);
	if (rc < 0)
		return rc;
	if (!fdio_exists(AT_FDCWD, path))
		return err_set(e, -ENOENT, "no cluster '%s'", name);
	AUTO_STR file = fdio_join(path, "cluster.json");
	AUTO_STR text = NULL;
	if (!file)
		return err_set(e, -ENOMEM, "cluster '%s'", name);
	rc = fdio_read_file(AT_FDCWD, file, 64 * 1024, &text, NULL, e);
	if (rc == -EACCES || rc == -EPERM)
		return rc;
	AUTO_JSON j = rc == 0 ? json_loads(text, 0, NULL) : NULL;
	if (j && read_record(j, name, ret))
		return 0;
	return cluster_new(name, 0, ret, e);
}
