/* SPDX-License-Identifier: MIT */
#define ERR_PLAIN
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Moves text into e->msg: control characters become spaces; what does not fit is cut between characters. */
static void keep(struct err *e, const char *text, bool cut)
{
	size_t n = strlen(text);
	if (n >= sizeof(e->msg)) {
		n = sizeof(e->msg) - 1;
		cut = true;
	}
	memmove(e->msg, text, n);
	if (cut) {
		if (n > sizeof(e->msg) - 4)
			n = sizeof(e->msg) - 4;
		while (n > 0 && ((unsigned char)e->msg[n] & 0xc0) == 0x80)
			n--;
		memcpy(e->msg + n, "...", 3);
		n += 3;
	}
	e->msg[n] = '\0';
	for (char *c = e->msg; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	while (n > 0 && e->msg[n - 1] == ' ')
		e->msg[--n] = '\0';
}

/* Room for two whole messages: a wrap never loses what still fits. */
#define WORK_BYTES (2 * ERR_MSG_BYTES + 8)

__attribute__((format(printf, 3, 0))) static int set(struct err *e, int code, const char *fmt, va_list ap)
{
	char text[WORK_BYTES]; /* not e->msg: an argument may be e->msg itself */
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	keep(e, n < 0 ? fmt : text, n >= (int)sizeof(text));
	e->code = code;
	e->space = ERR_NONE;
	e->native = 0;
	return code;
}

/* A setter that is handed a number that is no error must not report success. */
static int negative(int code)
{
	return code < 0 ? code : -EIO;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	code = negative(code);
	if (!e)
		return code;
	va_list ap;
	va_start(ap, fmt);
	set(e, code, fmt, ap);
	va_end(ap);
	return code;
}

int err_input(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -EINVAL;
	va_list ap;
	va_start(ap, fmt);
	set(e, -EINVAL, fmt, ap);
	va_end(ap);
	e->space = ERR_INPUT;
	return -EINVAL;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int number = errno > 0 ? errno : EIO;
	if (!e)
		return -number;
	char text[ERR_MSG_BYTES], why[128], whole[WORK_BYTES];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(whole, sizeof(whole), "%s%s: %s", text, n >= (int)sizeof(text) ? "..." : "",
		 strerror_r(number, why, sizeof(why)));
	keep(e, whole, false);
	e->code = -number;
	e->space = ERR_SYS;
	e->native = number;
	errno = number;
	return -number;
}

int err_native(struct err *e, int code, enum err_space space, long native, const char *fmt, ...)
{
	code = negative(code);
	if (!e)
		return code;
	va_list ap;
	va_start(ap, fmt);
	set(e, code, fmt, ap);
	va_end(ap);
	e->space = space;
	e->native = native;
	return code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -EIO;
	char where[ERR_MSG_BYTES], whole[WORK_BYTES];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(where, sizeof(where), fmt, ap);
	va_end(ap);
	snprintf(whole, sizeof(whole), "%s: %s", where, e->msg);
	keep(e, whole, false);
	e->code = negative(e->code);
	return e->code;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -EIO;
	char hint[ERR_MSG_BYTES], whole[WORK_BYTES];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(hint, sizeof(hint), fmt, ap);
	va_end(ap);
	snprintf(whole, sizeof(whole), "%s; %s", e->msg, hint);
	keep(e, whole, false);
	e->code = negative(e->code);
	return e->code;
}

enum exit_code err_exit_code(const struct err *e)
{
	if (!e)
		return EXIT_FINDING;
	if (e->space == ERR_INPUT)
		return EXIT_USAGE;
	if (e->space == ERR_REMOTE)
		return EXIT_REMOTE;
	switch (e->code) {
	case -EPERM:
	case -EACCES:
	case -ENODEV:
	case -ENXIO:
	case -ENOSYS:
	case -EOPNOTSUPP:
	case -ELIBACC:
		return EXIT_CANNOT_TELL;
	default:
		return EXIT_FINDING;
	}
}
