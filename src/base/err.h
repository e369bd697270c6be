/* SPDX-License-Identifier: MIT */
/*
 * Errors are values with context. A fallible function returns 0 (or a count) or a negative errno and fills the
 * caller's struct err with one sentence: what failed, on what, why, and, where it helps, what to do. Libraries never
 * print and never exit. Branch on code and space; show msg; never parse msg.
 *
 * Thread rule: a struct err belongs to one thread. Every function here takes e == NULL.
 */
#ifndef KILN_BASE_ERR_H
#define KILN_BASE_ERR_H

#include <stddef.h>

/* Where err.native comes from, and so how it reads. ERR_INPUT and ERR_REMOTE also choose the exit code. */
enum err_space {
	ERR_NONE,
	ERR_SYS,    /* native: errno */
	ERR_INPUT,  /* what the user wrote is wrong: a flag, a file, a name; native unused */
	ERR_REMOTE, /* another machine or service failed; native: HTTP status, or 0 */
	ERR_CHILD,  /* a program that we started failed; native: its exit status, or -signal */
	ERR_FABRIC, /* native: libfabric's positive error number */
	ERR_NVML,   /* native: nvmlReturn_t */
	ERR_PMIX,   /* native: pmix_status_t */
	ERR_SQLITE, /* native: SQLite's extended result code */
};

#define ERR_MSG_BYTES 512

struct err {
	int code;             /* 0, or a negative errno */
	enum err_space space; /* whose number native is */
	long native;
	char msg[ERR_MSG_BYTES]; /* one line, no newline; what did not fit is cut and ends in "..." */
};

/* The process's exit status: the same for every verb. */
enum exit_code {
	EXIT_GOOD = 0,
	EXIT_FINDING = 1,     /* a check failed, or the work could not be done */
	EXIT_USAGE = 2,       /* the command line or a file the user wrote is wrong */
	EXIT_CANNOT_TELL = 3, /* no device, no permission, a program or library is missing */
	EXIT_REMOTE = 4,      /* something remote failed */
};

/* All setters format msg, set code and return code. code is negative. A message that holds newlines has them turned
 * into spaces, so that what is shown stays one line. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* -EINVAL in ERR_INPUT: exit code 2. */
int err_input(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* -errno in ERR_SYS; ": " and the error's text are appended. Reads errno on entry; a zero errno becomes EIO. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A foreign number: code is the negative errno nearest to it. */
int err_native(struct err *e, int code, enum err_space space, long native, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Puts "where: " in front of what is there, and returns e->code (or -EIO when e is NULL). */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds "; hint" to what is there: what the reader should do. Returns e->code. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Which exit status a failed verb ends in. ERR_INPUT: 2. ERR_REMOTE: 4. -EPERM, -EACCES, -ENODEV, -ENXIO, -ENOSYS,
 * -EOPNOTSUPP, -ELIBACC: 3. Everything else: 1. */
enum exit_code err_exit_code(const struct err *e);

#if defined(__clang_analyzer__) && !defined(ERR_PLAIN) /* ERR_PLAIN: where they are defined */
/* Static analysis sees one file at a time: tell it that a setter returns the failure that it was given. */
#define err_set(e, code, ...) (err_set(e, code, __VA_ARGS__), (code))
#define err_input(e, ...) (err_input(e, __VA_ARGS__), -22)
#define err_native(e, code, ...) (err_native(e, code, __VA_ARGS__), (code))
#define err_sys(e, ...) (err_sys(e, __VA_ARGS__), -5)
#define err_wrap(e, ...) (err_wrap(e, __VA_ARGS__), -5)
#define err_hint(e, ...) (err_hint(e, __VA_ARGS__), -5)
#endif

#endif
