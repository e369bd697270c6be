/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

void buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf){ .max_bytes = max_bytes };
}

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max_bytes = b->max_bytes };
}

/* Makes room for n more bytes and the NUL. */
static int grow(struct buf *b, size_t n)
{
	if (b->failed)
		return b->failed;
	if (n > b->max_bytes || b->len > b->max_bytes - n)
		return b->failed = -E2BIG;
	size_t need = b->len + n + 1;
	if (need <= b->cap)
		return 0;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	char *data = realloc(b->data, cap);
	if (!data)
		return b->failed = -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t n)
{
	int rc = grow(b, n);
	if (rc < 0)
		return rc;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int buf_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	int rc = n < 0 ? (b->failed ? b->failed : (b->failed = -ENOMEM)) : grow(b, (size_t)n);
	if (rc == 0) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
	return rc;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int rc = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return rc;
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_steal(struct buf *b)
{
	if (b->failed || buf_add(b, "", 0) < 0)
		return NULL;
	char *text = steal(b->data);
	buf_fini(b);
	return text;
}

char *str_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

#define WORD_MAX 48

/* Edits that make b from a: insert, delete, replace, swap two neighbours. Both are at most WORD_MAX long. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		size_t *freed = before;
		before = last;
		last = now;
		now = freed;
	}
	return last[nb];
}

const char *str_nearest(const char *word, const char *const *words)
{
	size_t n = strlen(word), best = SIZE_MAX;
	const char *found = NULL;
	if (n == 0 || n > WORD_MAX)
		return NULL;
	/* One slip in a short word, up to three in a long one: more is another word. */
	size_t near = n <= 3 ? 1 : n <= 7 ? 2 : 3;
	for (; *words; words++) {
		size_t len = strlen(*words);
		if (len == 0 || len > WORD_MAX)
			continue;
		size_t d = distance(word, n, *words, len);
		/* A whole-word start ("comp" for "completion") is meant, too; anything typed nearly wins over it. */
		if (n >= 2 && len > n && strncmp(word, *words, n) == 0 && d > near)
			d = near;
		if (d <= near && d < len && d < best) {
			best = d;
			found = *words;
		}
	}
	return found;
}
