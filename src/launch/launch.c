/* SPDX-License-Identifier: MIT */
#include "launch/launch.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/state.h"
#include "launch/launch_local.h"

const struct launch_ops *const launch_places[] = { &launch_local, NULL };

void launch_cluster_free(struct launch_cluster *c)
{
	if (!c)
		return;
	free(c->image);
	free(c->nodes);
	free(c);
}

int launch_check_name(const char *name, struct err *e)
{
	size_t len = strlen(name);
	bool good = len > 0 && len < LAUNCH_NAME_BYTES && name[0] >= 'a' && name[0] <= 'z' &&
		    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
	if (!good)
		return err_input(
			e, "'%.64s' cannot be a cluster's name: use 1 to 31 of a-z, 0-9 and '-', a letter first", name);
	size_t digits = 0;
	while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
		digits++;
	if (digits > 0 && name[len - 1 - digits] == '-')
		return err_input(e,
				 "'%s' cannot be a cluster's name: one that ends in '-' and a number is a node's name; "
				 "leave out the '-'",
				 name);
	return 0;
}

int launch_find(const char *name, const struct launch_ops **ret_place, struct launch_cluster **ret, struct err *e)
{
	int rc = launch_check_name(name, e);
	if (rc < 0)
		return rc;
	for (const struct launch_ops *const *p = launch_places; *p; p++) {
		rc = (*p)->load(name, ret, e);
		if (rc == 0)
			*ret_place = *p;
		if (rc != -ENOENT)
			return rc;
	}
	for (const struct launch_ops *const *p = launch_places; *p; p++) {
		AUTO_STRINGS names = NULL;
		rc = (*p)->list(&names, e);
		if (rc < 0)
			return rc;
		const char *near = str_nearest(name, (const char *const *)names);
		if (near)
			return err_input(e, "no cluster '%s': did you mean '%s'?", name, near);
	}
	return err_input(e, "no cluster '%s': 'kiln launch status' lists the clusters, 'kiln launch up %s' makes it",
			 name, name);
}

int launch_find_node(const struct launch_cluster *c, const char *text, unsigned *ret, struct err *e)
{
	for (unsigned i = 0; i < c->node_count; i++) {
		const struct launch_node *n = &c->nodes[i];
		const char *number = strrchr(n->name, '-');
		if (!strcmp(text, n->name) || !strcmp(text, n->address) || (number && !strcmp(text, number + 1))) {
			*ret = i;
			return 0;
		}
	}
	if (c->node_count == 0)
		return err_input(e, "cluster '%s' has no nodes: its 'up' did not finish; run 'kiln launch up %s' again",
				 c->name, c->name);
	return err_input(e, "no node '%.64s' in cluster '%s': give 1 to %u; a command goes behind '--'", text, c->name,
			 c->node_count);
}

static bool is_layout(const char *path)
{
	AUTO_STR file = fdio_join(path, "oci-layout");
	return file && fdio_exists(AT_FDCWD, file);
}

/* The OCI layouts under STATE/images. */
static int only_image(const char *images, char **ret, struct err *e)
{
	AUTO_DIR dir = opendir(images);
	AUTO_STR found = NULL;
	AUTO_BUF names;
	buf_init(&names, 4096);
	unsigned count = 0;
	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		if (d->d_name[0] == '.')
			continue;
		AUTO_STR path = fdio_join(images, d->d_name);
		if (!path || !is_layout(path))
			continue;
		buf_printf(&names, "%s%s", count++ ? ", " : "", d->d_name);
		if (!found)
			found = steal(path);
	}
	if (count == 0)
		return err_input(e, "no image: run 'kiln bake oci stacks/local.json' first, or give one with --image");
	if (count > 1)
		return err_input(e, "%u images are there: choose one with --image (%.300s)", count, buf_text(&names));
	*ret = steal(found);
	return 0;
}

int launch_find_image(const char *text, char **ret, struct err *e)
{
	AUTO_STR images = NULL;
	int rc = state_dir("images", &images, e);
	if (rc < 0)
		return rc;
	if (!text)
		return only_image(images, ret, e);
	bool is_path = strchr(text, '/') != NULL;
	AUTO_STR baked = str_printf("%s/%s.oci", images, text);
	AUTO_STR named = fdio_join(images, text);
	AUTO_STR plain = realpath(text, NULL); /* absolute: it is recorded, and shown in other folders */
	if (!plain)
		plain = strdup(text);
	if (!baked || !named || !plain)
		return err_set(e, -ENOMEM, "image '%s'", text);
	if (!is_path && is_layout(baked))
		*ret = steal(baked);
	else if (!is_path && is_layout(named))
		*ret = steal(named);
	else if (is_layout(plain))
		*ret = steal(plain);
	else if (fdio_exists(AT_FDCWD, plain) || (!is_path && fdio_exists(AT_FDCWD, named)))
		return err_input(e, "'%s' is not an OCI image layout: it has no file 'oci-layout'", text);
	else
		return err_input(e, "image '%s' is not there%s: run 'kiln bake oci STACK' first", text,
				 is_path ? "" : ", neither under the state folder's images/ nor here");
	return 0;
}

char *launch_hosts_text(const struct launch_cluster *c)
{
	AUTO_BUF b;
	buf_init(&b, 64 * 1024);
	for (unsigned i = 0; i < c->node_count; i++)
		buf_printf(&b, "%s slots=%u\n", c->nodes[i].address, c->nodes[i].slots);
	return b.failed ? NULL : c->node_count ? buf_steal(&b) : strdup("");
}
