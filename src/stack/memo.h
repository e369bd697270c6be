/* SPDX-License-Identifier: MIT */
/*
 * What apt answered once, kept: STATE/locks/<snapshot>/<key>.json. A memo can always be thrown away: one that is missing
 * or damaged is made again, one that cannot be written is done without.
 */
#ifndef KILN_STACK_MEMO_H
#define KILN_STACK_MEMO_H

#include <jansson.h>

/* Gives a new reference, or NULL when there is none that can be read. */
json_t *memo_get(const char *snapshot, const char *key);
/* Borrows value. */
void memo_put(const char *snapshot, const char *key, const json_t *value);
/* Forgets a snapshot that is no longer held. */
void memo_forget(const char *snapshot);

#endif
