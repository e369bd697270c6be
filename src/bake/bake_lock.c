/* SPDX-License-Identifier: MIT */
#include "bake/bake_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "base/own.h"
#include "base/state.h"

#define LOCK_LOOK_MS 100u

/* The process number that the holder wrote into the file; 0: unknown. */
static long lock_holder(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	return n > 0 ? strtol(text, NULL, 10) : 0;
}

static void lock_sign(int fd)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	/* Only for people: the lock itself is what counts. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) < 0)
		return;
}

int bake_lock_take(struct progress *progress, const volatile sig_atomic_t *stop, int *ret_fd, struct err *e)
{
	AUTO_STR dir = NULL;
	struct progress_step *waiting = NULL;
	int rc = state_dir("layers", &dir, e);
	if (rc < 0)
		return rc;
	AUTO_STR path = fdio_join(dir, ".lock");
	AUTO_FD fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
	if (fd < 0)
		return err_sys(e, "open %s", path ? path : dir);

	while ((rc = flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK && !(stop && *stop)) {
		if (!waiting)
			waiting = progress_start(progress, "wait for another bake (process %ld)", lock_holder(fd));
		clock_sleep_ms(LOCK_LOOK_MS);
	}
	int why = errno;
	if (waiting)
		progress_end(waiting, rc < 0 ? PROGRESS_FAILED : PROGRESS_DONE, NULL);
	if (stop && *stop)
		return err_set(e, -EINTR, "interrupted while another bake was waited for");
	errno = why;
	if (rc < 0)
		return err_sys(e, "lock %s", path);
	lock_sign(fd);
	*ret_fd = steal_fd(&fd);
	return 0;
}
