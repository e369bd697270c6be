/* SPDX-License-Identifier: MIT */
#include "watch/source.h"

#include <poll.h>

#include "watch/source_rows.h"

const struct source_ops *const sources[] = { &source_kmsg, &source_nvml, &source_efa, NULL };

bool source_wait(const struct source_env *env, int fd, int ms)
{
	struct pollfd p[2] = { { .fd = env->stop_fd, .events = POLLIN }, { .fd = fd, .events = POLLIN } };
	return poll(p, 2, ms) > 0 && (p[0].revents & POLLIN);
}
