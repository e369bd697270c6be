/* SPDX-License-Identifier: MIT */
/* The table of checks, and what their files share. */
#include "prove/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "prove/check_rows.h"

const struct check *const checks[] = {
	&check_efa_driver,
	&check_efa_verbs,
	&check_libfabric,
	&check_fabric_providers,
	&check_libfabric_copies,
	&check_nccl_plugin,
	&check_nccl_copies,
	&check_nvidia_driver,
	&check_gpus,
	&check_fabric_manager,
	&check_xids,
	&check_memlock,
	&check_shm_size,
	&check_open_files,
	&check_hugepages,
	&check_ptrace,
	&check_environment,
	&check_interface,
	&check_ssh_server,
	&check_ssh_client,
	&check_mpi,
	&check_clock,
	&check_cpu_governor,
	NULL,
};

const struct check *check_find(const char *id)
{
	for (const struct check *const *c = checks; *c; c++)
		if (strcmp((*c)->id, id) == 0)
			return *c;
	return NULL;
}

const char *check_outcome_text(enum check_outcome o)
{
	static const char *const text[CHECK_OUTCOMES] = { "pass", "warn", "fail", "skip" };
	return text[o];
}

void check_scrub(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c;) {
		size_t n = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
		for (size_t i = 1; i < n; i++)
			if ((c[i] & 0xc0) != 0x80)
				n = 0;
		/* Surrogates and overlong forms are no characters either. */
		if ((*c == 0xe0 && n && c[1] < 0xa0) || (*c == 0xed && n && c[1] > 0x9f) ||
		    (*c == 0xf0 && n && c[1] < 0x90) || (*c == 0xf4 && n && c[1] > 0x8f))
			n = 0;
		if (!n)
			*c = '?';
		else if (*c < ' ' || *c == 0x7f)
			*c = ' ';
		c += n ? n : 1;
	}
}

/* A line that does not fit is cut and says so by "..."; newlines would break the table and become spaces. */
__attribute__((format(printf, 4, 0))) static void put(char *to, size_t size, size_t at, const char *fmt, va_list ap)
{
	int n = vsnprintf(to + at, size - at, fmt, ap);
	if (n >= 0 && (size_t)n >= size - at)
		memcpy(to + size - 4, "...", 4);
	check_scrub(to);
}

#define SETTER(name, o)                                                \
	int name(struct check_result *ret, const char *fmt, ...)       \
	{                                                              \
		va_list ap;                                            \
		va_start(ap, fmt);                                     \
		ret->outcome = (o);                                    \
		put(ret->evidence, sizeof(ret->evidence), 0, fmt, ap); \
		va_end(ap);                                            \
		return 0;                                              \
	}
SETTER(check_pass, CHECK_PASS)
SETTER(check_warn, CHECK_WARN)
SETTER(check_fail, CHECK_FAIL)
SETTER(check_skip, CHECK_SKIP)

void check_mend(struct check_result *ret, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put(ret->mend, sizeof(ret->mend), 0, fmt, ap);
	va_end(ap);
}

void check_add(struct check_result *ret, const char *fmt, ...)
{
	size_t at = strlen(ret->evidence);
	if (at && at + 3 < sizeof(ret->evidence)) {
		memcpy(ret->evidence + at, "; ", 3);
		at += 2;
	}
	va_list ap;
	va_start(ap, fmt);
	put(ret->evidence, sizeof(ret->evidence), at, fmt, ap);
	va_end(ap);
}

void check_worsen(struct check_result *ret, enum check_outcome o)
{
	static const int badness[CHECK_OUTCOMES] = {
		[CHECK_SKIP] = 0, [CHECK_PASS] = 1, [CHECK_WARN] = 2, [CHECK_FAIL] = 3
	};
	if (badness[o] > badness[ret->outcome])
		ret->outcome = o;
}
