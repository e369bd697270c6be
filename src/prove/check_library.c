/* SPDX-License-Identifier: MIT */
/* Order of the loader: LD_LIBRARY_PATH, /etc/ld.so.cache, the default folders (ld.so(8)). */
#include "prove/check_library.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const default_dirs[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL };
/* Where installers put their own copies: the EFA installer (efa, openmpi, ofi-nccl), NVIDIA's and people's own builds. */
static const char *const known_dirs[] = {
	"/opt/amazon/efa/lib",
	"/opt/amazon/efa/lib64",
	"/opt/amazon/ofi-nccl/lib",
	"/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
	"/opt/amazon/ofi-nccl/lib64",
	"/opt/aws-ofi-nccl/lib",
	"/opt/nccl/build/lib",
	"/opt/libfabric/lib",
	"/usr/local/lib",
	"/usr/local/lib64",
	"/usr/local/cuda/lib64",
	NULL,
};

/* The name behind a descriptor, without the root in front. */
static void real_name(const struct world *w, int fd, char *ret, size_t size, const char *fallback)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, ret, size - 1);
	if (n <= 0) {
		snprintf(ret, size, "%s", fallback);
		return;
	}
	ret[n] = '\0';
	size_t root = strlen(w->root);
	while (root && w->root[root - 1] == '/')
		root--;
	if (root && strncmp(ret, w->root, root) == 0 && ret[root] == '/')
		memmove(ret, ret + root, (size_t)n - root + 1);
}

static void add(const struct world *w, const char *path, const char *from, bool on_path, struct check_library *l)
{
	struct stat st;
	AUTO_FD fd = world_open(w, path, O_PATH, NULL);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || l->count == CHECK_LIBRARY_COPIES)
		return;
	for (size_t i = 0; i < l->count; i++)
		if (l->at[i].dev == st.st_dev && l->at[i].ino == st.st_ino)
			return;
	struct check_library_copy *copy = &l->at[l->count++];
	snprintf(copy->path, sizeof(copy->path), "%s", path);
	real_name(w, fd, copy->real, sizeof(copy->real), path);
	copy->from = from;
	copy->on_path = on_path;
	copy->dev = st.st_dev;
	copy->ino = st.st_ino;
	l->on_path += on_path;
}

static void add_in(const struct world *w, const char *dir, size_t len, const char *soname, const char *from,
		   bool on_path, struct check_library *l)
{
	char path[512];
	if (len && (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, soname) < sizeof(path))
		add(w, path, from, on_path, l);
}

/* glibc's cache, new format: sysdeps/generic/dl-cache.h. A cache in the old format holds the new one behind it. */
struct cache_file {
	char magic[20]; /* "glibc-ld.so.cache1.1" */
	uint32_t nlibs, len_strings;
	uint8_t flags, padding[3];
	uint32_t extension_offset, unused[3];
};
struct cache_entry {
	int32_t flags;       /* 0x0003: 32-bit x86; else the machine in bits 8 to 15 */
	uint32_t key, value; /* offsets from the start of the file */
	uint32_t osversion;
	uint64_t hwcap;
};

static void add_cached(const struct world *w, const char *soname, struct check_library *l)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	struct stat st;
	AUTO_FD fd = world_open(w, "/etc/ld.so.cache", O_RDONLY, NULL);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct cache_file) || st.st_size > 64 << 20)
		return;
	size_t size = (size_t)st.st_size;
	AUTO_STR all = malloc(size + 1);
	if (!all || pread(fd, all, size, 0) != (ssize_t)size)
		return;
	all[size] = '\0';
	const char *at = memmem(all, size, magic, sizeof(magic) - 1);
	struct cache_file head;
	if (!at || size - (size_t)(at - all) < sizeof(head))
		return;
	memcpy(&head, at, sizeof(head));
	size -= (size_t)(at - all);
	for (size_t i = 0; i < head.nlibs && sizeof(head) + (i + 1) * sizeof(struct cache_entry) <= size; i++) {
		struct cache_entry entry;
		memcpy(&entry, at + sizeof(head) + i * sizeof(entry), sizeof(entry));
		bool foreign = sizeof(void *) == 8 && entry.flags == 0x0003;
		if (!foreign && entry.key < size && entry.value < size && strcmp(at + entry.key, soname) == 0)
			add(w, at + entry.value, "ld.so.cache", true, l);
	}
}

void check_library_find(const struct check_context *c, const char *soname, struct check_library *ret)
{
	const struct world *w = c->world;
	const char *path = w->env ? w->env("LD_LIBRARY_PATH") : NULL;
	memset(ret, 0, sizeof(*ret));
	while (path && *path) {
		size_t len = strcspn(path, ":;");
		add_in(w, path, len, soname, "LD_LIBRARY_PATH", true, ret);
		path += len + (path[len] != '\0');
	}
	add_cached(w, soname, ret);
	for (const char *const *d = default_dirs; *d; d++)
		add_in(w, *d, strlen(*d), soname, "the default path", true, ret);
	for (const char *const *d = known_dirs; *d; d++)
		add_in(w, *d, strlen(*d), soname, "not on the path", false, ret);
}

void check_library_add(const struct check_library *l, struct check_result *ret)
{
	for (size_t i = 0; i < l->count; i++)
		check_add(ret, "%s (%s)", l->at[i].real, l->at[i].from);
}
