/* SPDX-License-Identifier: MIT */
/*
 * A private apt world per operating system, STATE/apt/<os>/: its own sources, lists, status and cache, so that Debian 12
 * can be planned on any machine that has apt, and the machine's own apt is never touched. What is taken over from the
 * machine's apt configuration is how to reach the network (proxies, retries) and its date and sandbox policy.
 *
 *	lock        shared while lists are read, exclusive while they are replaced
 *	now/        the world: apt.conf, kiln.sources, lists/, cache/, status-<digest>
 *	.new/       the next one while it is fetched; renamed over now/ when it is whole
 *
 * Every list is verified by apt against its Release file, and that against the keyring of the OS's row; nothing here
 * ever allows unauthenticated data.
 */
#ifndef KILN_STACK_APT_H
#define KILN_STACK_APT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/child.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "base/progress.h"
#include "stack/os.h"
#include "stack/resolution.h"

struct apt {
	const struct os *os;             /* borrowed */
	const char *architecture;        /* borrowed: "amd64" */
	struct progress *progress;       /* borrowed; may be NULL */
	struct progress_step *step;      /* "resolving packages", once something had to be asked; NULL before */
	char *dir;                       /* STATE/apt/<os>/now, absolute */
	int lock_fd;                     /* holds the lock, shared */
	char snapshot[DIGEST_HEX_BYTES]; /* of the Release files */
	int64_t newest_date_s;           /* of the Release files: seconds since 1970 */
	int64_t base_date_s;             /* of the first suite's */
};

/* Opens the world; fetches the lists when there are none, when the row's mirrors have changed, or when `update`.
 * -ENOSYS: apt or the keyring is missing, with what to install. ERR_REMOTE: a mirror could not be reached or its
 * signature is not good; lists that were there stay as they were. */
int apt_open(const struct os *os, const char *architecture, bool update, struct progress *progress, struct apt **ret,
	     struct err *e);
void apt_free(struct apt *a);
AUTO_DEFINE(apt)

/* Runs an apt program in the world at `dir` with the configuration file dir/conf: argv as for it (NULL-ended). Standard
 * output goes to ret->output, standard error to *ret_errors; free() both, also on failure. -ENOSYS: not installed. */
int apt_call(const char *dir, const char *conf, const char *const *argv, struct progress_step *step,
	     struct child_result *ret, char **ret_errors, struct err *e);
/* Reads the Release files of the world at dir: digest and dates. -ENOENT: there are none. -EBADMSG. */
int apt_read_releases(const char *dir, const char *base_suite, char snapshot[DIGEST_HEX_BYTES], int64_t *ret_newest_s,
		      int64_t *ret_base_s, struct err *e);

/* Fetches the lists into ROOT/.new and makes them ROOT/now. The caller holds the lock. Errors as apt_open. */
int apt_update(const char *root, const struct os *os, const char *sources, struct progress *progress, struct err *e);

/* The versions of a package that the snapshot has, best first: gives a list, empty when there is no such package. */
int apt_ask_versions(struct apt *a, const char *package, char ***ret, struct err *e);
/* What apt would download to install `requests` ("name", "name=version", patterns) over the packages of `have`, without
 * recommended ones. Memoised. ERR_INPUT: they cannot be installed, with apt's reason. */
int apt_ask_packages(struct apt *a, char *const *requests, const struct resolution *const *have, size_t have_count,
		     const char *what, struct resolution **ret, struct err *e);

#endif
