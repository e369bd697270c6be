/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

struct table {
	size_t columns;
	bool *right;  /* by column */
	size_t *wide; /* characters, by column */
	char **cells; /* row after row; the first row is the head */
	size_t count, room;
	bool failed;
};

/* Characters in a UTF-8 text: bytes that do not continue one. */
static size_t characters(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* Takes text (NULL: out of memory). */
static void add(struct table *t, char *text)
{
	if (text && t->count == t->room) {
		size_t room = t->room ? t->room * 2 : 64;
		char **cells = reallocarray(t->cells, room, sizeof(*cells));
		if (cells) {
			t->cells = cells;
			t->room = room;
		}
	}
	if (!text || t->count == t->room) {
		free(text);
		t->failed = true;
		return;
	}
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20)
			*c = ' ';
	size_t column = t->count % t->columns, n = characters(text);
	if (n > t->wide[column])
		t->wide[column] = n;
	t->cells[t->count++] = text;
}

struct table *table_new(const char *columns)
{
	AUTO(table) t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->columns = 1;
	for (const char *c = columns; *c; c++)
		t->columns += *c == '|';
	t->right = calloc(t->columns, sizeof(*t->right));
	t->wide = calloc(t->columns, sizeof(*t->wide));
	if (!t->right || !t->wide)
		return NULL;
	for (size_t i = 0; i < t->columns; i++) {
		size_t n = strcspn(columns, "|");
		t->right[i] = columns[0] == '>';
		size_t skip = t->right[i] ? 1 : 0;
		add(t, strndup(columns + skip, n - skip));
		columns += n + (columns[n] == '|');
	}
	return t->failed ? NULL : steal(t);
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->right);
	free(t->wide);
	free(t);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	add(t, text);
}

static void pad(FILE *to, size_t n)
{
	fprintf(to, "%*s", (int)n, "");
}

int table_print(const struct table *t, FILE *to)
{
	if (t->failed)
		return -ENOMEM;
	for (size_t row = 0; row < t->count; row += t->columns) {
		size_t owed = 0; /* blanks that are only printed when something follows them */
		for (size_t i = 0; i < t->columns && row + i < t->count; i++) {
			const char *cell = t->cells[row + i];
			size_t blank = t->wide[i] - characters(cell);
			if (i > 0)
				owed += 2;
			if (t->right[i])
				owed += blank;
			if (*cell) {
				pad(to, owed);
				fputs(cell, to);
				owed = 0;
			}
			if (!t->right[i])
				owed += blank;
		}
		fputc('\n', to);
	}
	return 0;
}

void table_bytes_text(unsigned long long bytes, char ret[TABLE_BYTES_TEXT])
{
	static const char units[] = "KMGTPE";
	if (bytes < 1024) {
		snprintf(ret, TABLE_BYTES_TEXT, "%llu", bytes);
		return;
	}
	unsigned unit = 0;
	unsigned long long whole = bytes;
	double value = (double)bytes / 1024;
	for (whole /= 1024; value >= 1023.5 && unit < 5; unit++) {
		value /= 1024;
		whole /= 1024;
	}
	bool exact = whole << (10 * (unit + 1)) == bytes;
	snprintf(ret, TABLE_BYTES_TEXT, "%.*f%c", value < 9.95 && !exact ? 1 : 0, value, units[unit]);
}
