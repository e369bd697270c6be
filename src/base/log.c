/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define LINE_MAX_BYTES 8192

static const char *level_name(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return "error";
	case LOG_WARN:
		return "warn";
	case LOG_INFO:
		return "info";
	case LOG_DEBUG_:
		break;
	}
	return "debug";
}

/* One write per line, so that lines of several threads and processes do not mix. */
static void emit(char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = ' ';
	line[n++] = '\n';
	int kept = errno;
	while (write(STDERR_FILENO, line, n) < 0 && errno == EINTR)
		;
	errno = kept;
}

void log_line(enum log_level level, const char *event, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	size_t room = sizeof(line) - 1, n;
	if (getenv("JOURNAL_STREAM")) {
		n = (size_t)snprintf(line, room, "<%d>%s", (int)level, event);
	} else {
		char when[CLOCK_TEXT_BYTES];
		clock_text_ms(clock_wall_ns(), when);
		n = (size_t)snprintf(line, room, "%s %-5s %s", when, level_name(level), event);
	}
	if (n >= room)
		n = room - 1;
	if (fmt[0] && n + 2 < room) {
		line[n++] = ' ';
		va_list ap;
		va_start(ap, fmt);
		int more = vsnprintf(line + n, room - n, fmt, ap);
		va_end(ap);
		if (more > 0)
			n = (size_t)more < room - n ? n + (size_t)more : room - 1;
	}
	emit(line, n);
}
