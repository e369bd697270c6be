/* SPDX-License-Identifier: MIT */
/*
 * Plain-text tables for people: columns as wide as their widest cell, numbers to the right, no boxes. UTF-8 cells are
 * counted in characters. The same data goes out as JSON by the verb's --json; a verb never prints both.
 */
#ifndef KILN_BASE_TABLE_H
#define KILN_BASE_TABLE_H

#include <stdio.h>

#include "base/own.h"

struct table;

/* columns: "NAME|>BYTES|WHAT": '>' puts a column's cells to the right. NULL when out of memory. */
struct table *table_new(const char *columns);
void table_free(struct table *t);
AUTO_DEFINE(table)
/* Adds one cell; rows fill up from the left. Out of memory is kept and told by table_print. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0, or -ENOMEM. Trailing blanks are cut. */
int table_print(const struct table *t, FILE *to);

#define TABLE_BYTES_TEXT 16
/* 1536 -> "1.5K", 17 -> "17", powers of 1024. */
void table_bytes_text(unsigned long long bytes, char ret[TABLE_BYTES_TEXT]);

#endif
