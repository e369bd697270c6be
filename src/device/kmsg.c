/* SPDX-License-Identifier: MIT */
#include "device/kmsg.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* How often the end of a file or a FIFO is looked at again: poll(2) is of no use there. */
#define STREAM_WAIT_MS 100

struct kmsg {
	int fd;
	bool is_stream; /* a file or a FIFO of lines; else the device, which gives one record per read */
	size_t len;     /* of what is in raw and not given yet (streams) */
	char raw[2 * KMSG_RECORD_BYTES];
};

/* A decimal number and the character behind it; false when it is not there. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	uint64_t v = 0;
	const char *s = *at;
	if (s == end || !isdigit((unsigned char)*s))
		return false;
	for (; s < end && isdigit((unsigned char)*s); s++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*at = s;
	*ret = v;
	return true;
}

static bool take_char(const char **at, const char *end, char c)
{
	if (*at == end || **at != c)
		return false;
	(*at)++;
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The kernel writes bytes outside printable ASCII, and the backslash, as \xNN. */
static void unescape(const char *from, const char *end, char *to, size_t size)
{
	size_t n = 0;
	while (from < end && n + 1 < size) {
		char c = *from;
		if (c == '\\' && end - from >= 4 && from[1] == 'x' && hex_value(from[2]) >= 0 &&
		    hex_value(from[3]) >= 0) {
			c = (char)(hex_value(from[2]) * 16 + hex_value(from[3]));
			from += 4;
		} else {
			from++;
		}
		to[n++] = c ? c : '?';
	}
	to[n] = '\0';
}

/* The lines behind the message: " SUBSYSTEM=pci", " DEVICE=+pci:0000:31:00.0". */
static void read_keys(const char *at, const char *end, struct kmsg_record *ret)
{
	static const char device[] = " DEVICE=";
	const size_t n = sizeof(device) - 1;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		if (!line_end)
			line_end = end;
		if ((size_t)(line_end - at) > n && memcmp(at, device, n) == 0)
			unescape(at + n, line_end, ret->device, sizeof(ret->device));
		at = line_end + 1;
	}
}

int kmsg_parse(const char *raw, size_t len, struct kmsg_record *ret, struct err *e)
{
	const char *at = raw, *end = raw + len;
	uint64_t prio, seq, usec;
	if (!take_number(&at, end, &prio) || !take_char(&at, end, ',') || !take_number(&at, end, &seq) ||
	    !take_char(&at, end, ',') || !take_number(&at, end, &usec) || !take_char(&at, end, ',') || prio > 0xffff)
		return err_set(e, -EBADMSG, "kernel log: not a record: '%.*s'", (int)(len < 60 ? len : 60), raw);
	/* Flags, and whatever fields a newer kernel adds, up to the semicolon. */
	const char *text = memchr(at, ';', (size_t)(end - at));
	const char *first_end = memchr(at, '\n', (size_t)(end - at));
	if (!text || (first_end && first_end < text))
		return err_set(e, -EBADMSG, "kernel log: record %llu has no message", (unsigned long long)seq);
	text++;
	if (!first_end)
		first_end = end;
	ret->seq = seq;
	ret->usec = usec;
	ret->level = prio & 7;
	ret->facility = (unsigned)(prio >> 3);
	ret->device[0] = '\0';
	unescape(text, first_end, ret->text, sizeof(ret->text));
	if (first_end < end)
		read_keys(first_end + 1, end, ret);
	return 0;
}

int kmsg_open(const struct world *w, const char *path, struct kmsg **ret, struct err *e)
{
	AUTO(kmsg) k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(e, -ENOMEM, "kernel log: no memory");
	k->fd = world_open(w, path, O_RDONLY | O_NONBLOCK, e);
	if (k->fd == -ENOENT || k->fd == -ENXIO)
		return err_set(e, -ENODEV, "no kernel log at '%s'; name one with --kmsg", path);
	if (k->fd == -EPERM || k->fd == -EACCES)
		return err_hint(e, "reading the kernel log needs root or CAP_SYSLOG");
	if (k->fd < 0)
		return k->fd;
	struct stat st;
	if (fstat(k->fd, &st) < 0)
		return err_sys(e, "kernel log '%s'", path);
	/* By its number (Documentation/admin-guide/devices.txt): containers put /dev/null or a console in its place, and
	 * to poll those would not wait. */
	k->is_stream = !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 11);
	if (S_ISDIR(st.st_mode))
		return err_set(e, -ENODEV, "kernel log '%s' is a folder", path);
	*ret = steal(k);
	return 0;
}

void kmsg_free(struct kmsg *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k);
}

int kmsg_fd(const struct kmsg *k)
{
	return k->fd;
}

int kmsg_wait_ms(const struct kmsg *k)
{
	return k->is_stream ? STREAM_WAIT_MS : -1;
}

static int read_some(struct kmsg *k, struct err *e)
{
	ssize_t n;
	do
		n = read(k->fd, k->raw + k->len, sizeof(k->raw) - k->len);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (int)n;
	/* Not errors to tell about: err stays as it is. */
	if (errno == EAGAIN || errno == EPIPE)
		return -errno;
	return err_sys(e, "read the kernel log");
}

/* Length of the first record in a stream: its line and the key lines that follow. 0: not all of it is there yet. The
 * last record of a stream is complete only when the next one begins or nothing more can be read. */
static size_t stream_record(const struct kmsg *k, bool at_end)
{
	const char *end = k->raw + k->len;
	const char *nl = memchr(k->raw, '\n', k->len);
	while (nl) {
		if (nl + 1 == end)
			return at_end ? k->len : 0;
		if (nl[1] != ' ')
			return (size_t)(nl + 1 - k->raw);
		nl = memchr(nl + 1, '\n', (size_t)(end - nl - 1));
	}
	return 0;
}

static int next_of_stream(struct kmsg *k, struct kmsg_record *ret, struct err *e)
{
	size_t n = stream_record(k, false);
	while (n == 0 && k->len < sizeof(k->raw)) {
		int got = read_some(k, e);
		bool at_end = got == 0 || got == -EAGAIN;
		if (got < 0 && !at_end)
			return got;
		k->len += got > 0 ? (size_t)got : 0;
		n = stream_record(k, at_end);
		if (n == 0 && at_end)
			return -EAGAIN;
	}
	if (n == 0) { /* a line longer than any record */
		k->len = 0;
		return err_set(e, -EBADMSG, "kernel log: a record longer than %d bytes", KMSG_RECORD_BYTES);
	}
	int rc = kmsg_parse(k->raw, n, ret, e);
	k->len -= n;
	memmove(k->raw, k->raw + n, k->len);
	return rc < 0 ? rc : 1;
}

int kmsg_next(struct kmsg *k, struct kmsg_record *ret, struct err *e)
{
	if (k->is_stream)
		return next_of_stream(k, ret, e);
	int n = read_some(k, e);
	if (n == 0)
		return -EAGAIN;
	if (n < 0)
		return n;
	int rc = kmsg_parse(k->raw, (size_t)n, ret, e);
	return rc < 0 ? rc : 1;
}
