/* SPDX-License-Identifier: MIT */
/*
 * Files that are lists of records, changed on several sides: a record is a stanza between blank lines or a fixed number
 * of lines, with a key. Each side's change, against what it was built on, is applied to the common result.
 */
#ifndef KILN_BAKE_MERGE_TEXT_H
#define KILN_BAKE_MERGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/own.h"

/* How a file is cut into records, and what is a record's key. */
struct merge_rule {
	const char *path;       /* glob, as in tidy */
	unsigned lines;         /* of a record; 0: stanzas between blank lines */
	const char *key_fields; /* stanzas: the fields whose values are the key, "Package Architecture" */
	char separator;         /* lines: between fields; 0: the whole first line is the key */
	int key_field;          /* lines: which field is the key; -1: the last */
	/* Records that both sides changed can still be joined when they differ only in a list: that of the last field
	 * (lines), or of this field (stanzas); NULL: they cannot. */
	const char *list_field;
	int number_field; /* lines: a number that no two keys may share (uid, gid); 0: none */
};

struct merge_record {
	char *key;
	char *text;
	size_t side; /* who set it last */
};

struct merge_text {
	const struct merge_rule *rule;
	struct merge_record *records;
	size_t count;
};

void merge_text_free(struct merge_text *t);
AUTO_DEFINE(merge_text)
/* Cuts a text; side names whose it is. text NULL: no records. -ENOMEM. */
int merge_text_new(const struct merge_rule *rule, const char *text, size_t side, struct merge_text **ret,
		   struct err *e);

/* What could not be joined. */
struct merge_clash {
	const char *key; /* borrowed from the records */
	size_t side;     /* the other side */
};

/* Applies what changed from `before` to `after` onto t. -EEXIST with *ret_clash: another side changed the same record
 * differently (e is untouched); -ENOMEM. */
int merge_text_apply(struct merge_text *t, const struct merge_text *before, const struct merge_text *after,
		     struct merge_clash *ret_clash, struct err *e);
/* Two keys of different sides that have the same number (rule->number_field): true, with both records. */
bool merge_text_same_number(const struct merge_text *t, const struct merge_record **ret_a,
			    const struct merge_record **ret_b);
/* Gives the text; NULL when out of memory. */
char *merge_text_join(const struct merge_text *t);

#endif
