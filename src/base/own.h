/* SPDX-License-Identifier: MIT */
/*
 * One owner. x_new/x_free for the heap, x_init/x_fini for embedded, x_open/x_close for what the OS holds. Free takes
 * NULL and the half-built. AUTO(x) frees at scope end; steal() hands over. Comments say borrows, takes, gives.
 *
 *	AUTO(spool) s = calloc(1, sizeof(*s));     // struct spool *s, spool_free(s) at scope end
 *	*ret = steal(s);                           // the caller owns it now
 *
 * A header that declares x_free writes AUTO_DEFINE(x) under it.
 */
#ifndef KILN_BASE_OWN_H
#define KILN_BASE_OWN_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO_DEFINE(x)                                 \
	static inline void x##_autofree(struct x **at) \
	{                                              \
		x##_free(*at);                         \
	}

#define AUTO(x) __attribute__((cleanup(x##_autofree))) struct x *

/* Hands over a pointer: its value, and NULL is left behind. */
#define steal(p)                            \
	__extension__({                     \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

static inline void own_free(void *at)
{
	free(*(void **)at);
}

/* Frees a list of strings that ends in NULL, and the list. */
static inline void own_free_strings(char ***at)
{
	for (char **s = *at; s && *s; s++)
		free(*s);
	free(*at);
}

static inline void own_close(const int *fd)
{
	int kept = errno;
	if (*fd >= 0)
		close(*fd);
	errno = kept;
}

static inline void own_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void own_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Hands over a file descriptor: its value, and -1 is left behind. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

#define AUTO_STR __attribute__((cleanup(own_free))) char *
#define AUTO_STRINGS __attribute__((cleanup(own_free_strings))) char **
#define AUTO_FD __attribute__((cleanup(own_close))) int
#define AUTO_FILE __attribute__((cleanup(own_fclose))) FILE *
#define AUTO_DIR __attribute__((cleanup(own_closedir))) DIR *

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#endif
