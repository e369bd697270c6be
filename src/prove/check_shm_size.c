/* SPDX-License-Identifier: MIT */
/* /dev/shm is a tmpfs with room for NCCL's and Open MPI's shared segments. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/own.h"
#include "base/table.h"
#include "prove/check_rows.h"

#define ENOUGH_BYTES (UINT64_C(1) << 30) /* what NVIDIA's guide gives a container: --shm-size=1g */

/* The last mount on /dev/shm in /proc/self/mounts: its kind, and its size= in bytes (0: not limited by itself). */
static bool find_mount(const char *mounts, char kind[32], uint64_t *ret_bytes)
{
	bool found = false;
	for (const char *line = mounts; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char where[256], options[1024], type[32];
		if (sscanf(line, "%*s %255s %31s %1023s", where, type, options) != 3 || strcmp(where, "/dev/shm") != 0)
			continue;
		found = true;
		snprintf(kind, 32, "%s", type);
		const char *size = strncmp(options, "size=", 5) == 0 ? options : strstr(options, ",size=");
		*ret_bytes = 0;
		if (!size)
			continue;
		char *unit;
		*ret_bytes = strtoull(strchr(size, '=') + 1, &unit, 10);
		*ret_bytes <<= *unit == 'k' ? 10 : *unit == 'm' ? 20 : *unit == 'g' ? 30 : 0;
	}
	return found;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO_STR mounts = NULL;
	char kind[32], text[TABLE_BYTES_TEXT], free_text[TABLE_BYTES_TEXT];
	uint64_t bytes = 0;
	struct statvfs fs;
	int r = world_read(c->world, "/proc/self/mounts", &mounts, e);
	if (r < 0)
		return r;
	bool mounted = find_mount(mounts, kind, &bytes);
	AUTO_FD fd = c->world->recorded ? -1 : world_open(c->world, "/dev/shm", O_RDONLY | O_DIRECTORY, NULL);
	if (!mounted && (c->world->recorded || fd < 0))
		return check_fail(ret, "nothing is mounted on /dev/shm (/proc/self/mounts)");
	if (fd >= 0 && fstatvfs(fd, &fs) == 0) {
		uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
		bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
		table_bytes_text(left, free_text);
		table_bytes_text(bytes, text);
		check_pass(ret, "%s, %s free%s%s", text, free_text, mounted ? ", " : " (no mount of its own)",
			   mounted ? kind : "");
		bytes = left < bytes ? left : bytes;
	} else if (bytes) {
		table_bytes_text(bytes, text);
		check_pass(ret, "%s, %s", text, kind);
	} else {
		return check_pass(ret, "%s without a size of its own: half of the memory", kind);
	}
	if (bytes < ENOUGH_BYTES)
		check_worsen(ret, CHECK_WARN);
	return 0;
}

const struct check check_shm_size = {
	.id = "shm-size",
	.what = "/dev/shm has at least 1 GiB free",
	.severity = CHECK_FAIL,
	.why = "ranks on one node share memory there: NCCL stops with \"unhandled system error\", or a bus error ends "
	       "the job (docker gives 64 MiB)",
	.mend = "docker --shm-size=1g or --ipc=host; an emptyDir with medium: Memory on Kubernetes; on a host: size= "
		"in /etc/fstab, and remove left-overs of dead jobs",
	.source = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
	.run = run,
};
