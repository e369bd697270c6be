/* SPDX-License-Identifier: MIT */
/* The package files that one step takes beyond what it stands on: what apt answered, in the form that plans and memos
 * hold. */
#ifndef KILN_STACK_RESOLUTION_H
#define KILN_STACK_RESOLUTION_H

#include <jansson.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "stack/plan.h"

struct resolution {
	char **names;             /* "name=version" of each deb, in the order of debs; NULL-ended */
	struct plan_source *debs; /* sorted by file name */
	size_t count;
	char *index;                   /* their stanzas, Filename: ./<file>, each with an empty line behind */
	char digest[DIGEST_HEX_BYTES]; /* of all the above: a memo of what stands on it is known by it */
};

/* Reads what `apt-get --print-uris` and `apt-cache show` printed. Files without a stanza of the same SHA-256, and lines
 * that are not understood, are errors (-EBADMSG). */
int resolution_parse(const char *uris, const char *stanzas, struct resolution **ret, struct err *e);
/* Gives the "name=version" words that the lines of `apt-get --print-uris` stand for (an empty list for none).
 * -EBADMSG. */
int resolution_parse_names(const char *uris, char ***ret, struct err *e);
void resolution_free(struct resolution *r);
AUTO_DEFINE(resolution)

/* The version that `package` gets; NULL when it is not among the debs. Borrowed. */
const char *resolution_version(const struct resolution *r, const char *package);

/* For the memo: gives a new reference, or NULL when out of memory; and back: -EBADMSG when it is not what
 * resolution_json made (the digest tells). */
json_t *resolution_json(const struct resolution *r);
int resolution_from_json(const json_t *j, struct resolution **ret, struct err *e);

#endif
