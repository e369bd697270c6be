/* SPDX-License-Identifier: MIT */
/* The operating systems that an image can be made of: rows of catalog/os.json. */
#ifndef KILN_STACK_OS_H
#define KILN_STACK_OS_H

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

struct os {
	struct json_doc *doc; /* owned */
	const char *name;     /* borrowed from doc, as all below: "debian12" */
	const char *title;
	const char *suite;
	const char *keyring;         /* file of the keys that the mirrors' Release files are signed with */
	const char *keyring_package; /* what to install when that file is missing */
	const json_t *mirrors; /* array of {"uri","suites":[],"components":[]}; the first suite dates the release */
};

/* Gives the names of all rows, sorted (AUTO_STRINGS). Errors: the file is missing or damaged. */
int os_names(char ***ret, struct err *e);
/* -ENOENT: no such row; else as os_names. */
int os_load(const char *name, struct os **ret, struct err *e);
void os_free(struct os *os);
AUTO_DEFINE(os)

/* The mirrors as apt reads them (deb822): gives the text. For an image's own /etc/apt/sources.list.d when architecture is
 * NULL; else for the private world of that architecture, where a file: mirror is read by copy:, since apt only links to
 * the lists of a file: mirror and what they say could change after it was verified. ret_mirrors (may be NULL): one
 * "URI SUITE..." each, AUTO_STRINGS. -ENOMEM. */
int os_apt_sources(const struct os *os, const char *architecture, char ***ret_mirrors, char **ret, struct err *e);

#endif
