/* SPDX-License-Identifier: MIT */
/*
 * A growing run of bytes that declares its cap. Always followed by a NUL, so data can be used as a string. The first
 * failure sticks: later calls do nothing and return it, so a writer may add many times and ask once.
 * Thread rule: one thread at a time.
 */
#ifndef KILN_BASE_BUF_H
#define KILN_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* never NULL after a successful add; "" is in `empty` before */
	size_t len;
	size_t cap;
	size_t max_bytes;
	int failed; /* 0, -ENOMEM, or -E2BIG when max_bytes would be passed */
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b);
/* 0, or b->failed. */
int buf_add(struct buf *b, const void *bytes, size_t n);
int buf_str(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* The text so far: "" when nothing was added. Borrowed until the next call. */
const char *buf_text(const struct buf *b);
/* Gives the text (free() it) and empties the buffer; NULL when the buffer failed. */
char *buf_steal(struct buf *b);

#define AUTO_BUF __attribute__((cleanup(buf_fini))) struct buf

/* printf to a fresh string: gives it; NULL when out of memory. */
char *str_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Edit distance for "did you mean": the word of the NULL-ended list nearest to `word`, or NULL when none is near. */
const char *str_nearest(const char *word, const char *const *words);

#endif
