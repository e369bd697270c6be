/* SPDX-License-Identifier: MIT */
#include "prove/check_package.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <fcntl.h>

#include "base/own.h"

bool check_package_version(const struct world *w, const char *prefix, char ret[CHECK_PACKAGE_VERSION_BYTES])
{
	char line[1024];
	bool wanted = false, installed = false;
	int fd = world_open(w, "/var/lib/dpkg/status", O_RDONLY, NULL);
	AUTO_FILE f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "Package: ", 9) == 0) {
			wanted = strncmp(line + 9, prefix, strlen(prefix)) == 0;
			installed = false;
		} else if (strncmp(line, "Status: ", 8) == 0) {
			installed = strstr(line, " ok installed") != NULL;
		} else if (wanted && installed && strncmp(line, "Version: ", 9) == 0) {
			snprintf(ret, CHECK_PACKAGE_VERSION_BYTES, "%.*s", CHECK_PACKAGE_VERSION_BYTES - 1, line + 9);
			return true;
		}
	}
	return false;
}

bool check_package_runs(const struct world *w, const char *comm)
{
	AUTO_STRINGS pids = NULL;
	if (world_list(w, "/proc", &pids, NULL) < 0)
		return false;
	for (char **p = pids; *p; p++) {
		char path[64];
		AUTO_STR name = NULL;
		if (!isdigit((unsigned char)**p))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", *p);
		if (world_read(w, path, &name, NULL) == 0 && strcmp(name, comm) == 0)
			return true;
	}
	return false;
}
