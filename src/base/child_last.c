/* SPDX-License-Identifier: MIT */
/* child_last_lines and child_last_lines_of. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/child.h"
#include "base/own.h"

#define LOOK_BACK_BYTES (64 * 1024)

char *child_last_lines_of(const char *text, unsigned n)
{
	size_t end = strlen(text);
	while (end > 0 && strchr(" \t\r\n", text[end - 1]))
		end--;
	size_t start = end;
	while (start > 0 && (text[start - 1] != '\n' || --n > 0))
		start--;
	/* What a carriage return overwrote was never there to be read. */
	char *lines = strndup(text + start, end - start);
	if (!lines)
		return NULL;
	char *to = lines, *line = lines;
	for (const char *c = lines; *c; c++) {
		if (*c == '\r' && c[1] && c[1] != '\n')
			to = line;
		else if (*c != '\r')
			*to++ = *c;
		if (*c == '\n')
			line = to;
	}
	*to = '\0';
	return lines;
}

char *child_last_lines(const char *path, unsigned n)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_STR tail = calloc(1, LOOK_BACK_BYTES + 1);
	struct stat st;
	if (!tail || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return strdup("");
	off_t from = st.st_size > LOOK_BACK_BYTES ? st.st_size - LOOK_BACK_BYTES : 0;
	ssize_t got = pread(fd, tail, LOOK_BACK_BYTES, from);
	tail[got > 0 ? got : 0] = '\0';
	return child_last_lines_of(tail, n);
}
