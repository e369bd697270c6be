/* SPDX-License-Identifier: MIT */
#include "device/xid.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char gpu_head[] = "NVRM: Xid (";
static const char switch_head[] = "nvidia-nvswitch";
static const char fell_head[] = "NVRM: The NVIDIA GPU ";
static const struct xid nothing_told = {
	.pid = -1, .gi = -1, .ci = -1, .link = -1, .cause = -1, .recovery = -1, .fatal = -1
};

/* Moves *at behind word; false and unmoved when it does not stand there. */
static bool take(const char **at, const char *word)
{
	size_t n = strlen(word);
	if (strncmp(*at, word, n) != 0)
		return false;
	*at += n;
	return true;
}

/* Decimal digits that fit an int. */
static bool take_int(const char **at, int *ret)
{
	if (!isdigit((unsigned char)**at))
		return false;
	char *end;
	errno = 0;
	long v = strtol(*at, &end, 10);
	if (errno || v > INT_MAX)
		return false;
	*at = end;
	*ret = (int)v;
	return true;
}

static void copy(char *to, size_t size, const char *from, size_t n)
{
	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

static size_t hex_run(const char *s)
{
	size_t n = 0;
	while (isxdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* "0000:73:1c" or "0000:73:1c.0" (a domain may have more than four digits) -> "0000:73:1c.0". */
static bool take_bdf(const char **at, char ret[XID_BDF_BYTES])
{
	const char *s = *at;
	size_t domain = hex_run(s);
	if (domain < 4 || domain > 8 || s[domain] != ':')
		return false;
	const char *bus = s + domain + 1;
	if (hex_run(bus) != 2 || bus[2] != ':' || hex_run(bus + 3) != 2)
		return false;
	const char *end = bus + 5;
	char function = '0';
	if (end[0] == '.' && end[1] >= '0' && end[1] <= '7') {
		function = end[1];
		end += 2;
	}
	snprintf(ret, XID_BDF_BYTES, "%.*s:%.2s:%.2s.%c", (int)domain, s, bus, bus + 3, function);
	for (char *c = ret; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	*at = end;
	return true;
}

/* " GPU-I:05 GPU-CI:02" inside the parentheses. */
static void take_mig(const char **at, struct xid *x)
{
	if (take(at, " GPU-I:") && take_int(at, &x->gi))
		if (take(at, " GPU-CI:"))
			take_int(at, &x->ci);
}

/* "pid=123, name=python3, " in the forms of the driver's generations: numbers, '<unknown>' with or without quotes, no
 * name, more than one blank. The name ends at the first ", "; one that holds ", " itself loses its end to the detail. */
static void take_process(const char **at, struct xid *x)
{
	const char *s = *at;
	if (!take(&s, "pid="))
		return;
	if (isdigit((unsigned char)*s)) {
		char *end;
		x->pid = strtol(s, &end, 10);
		s = end;
	} else {
		s += strcspn(s, ",");
	}
	if (take(&s, ","))
		s += strspn(s, " ");
	if (take(&s, "name=")) {
		const char *end = strstr(s, ", ");
		size_t n = end ? (size_t)(end - s) : strcspn(s, "\n");
		if (n && s[n - 1] == ',' && !end)
			n--;
		if (strncmp(s, "<unknown>", n) != 0 && strncmp(s, "'<unknown>'", n) != 0)
			copy(x->name, sizeof(x->name), s, n);
		s = end ? end + 2 : s + n;
	}
	*at = s;
}

static int number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	int v;
	if (!at)
		return -1;
	at += strlen(word);
	return take_int(&at, &v) ? v : -1;
}

static int said_fatal(const char *detail)
{
	if (strstr(detail, "Nonfatal") || strstr(detail, "Non-fatal"))
		return 0;
	/* As a word of its own: "NVLink: fatal error" is prose, not the driver's severity column. */
	const char *at = strstr(detail, "Fatal");
	return at && (at == detail || at[-1] == ' ') ? 1 : -1;
}

static void read_detail(const char *at, struct xid *x)
{
	copy(x->detail, sizeof(x->detail), at, strcspn(at, "\n"));
	size_t n = strlen(x->detail);
	while (n && isspace((unsigned char)x->detail[n - 1]))
		x->detail[--n] = '\0';
	x->cause = number_after(x->detail, "caused by previous Xid ");
	x->link = number_after(x->detail, "Link ");
	if (x->link < 0)
		x->link = number_after(x->detail, "on link ");
	/* Only SXids and NVLink 5's Xids have that column; elsewhere the word may come out of a process's name. */
	if (x->kind == XID_NVSWITCH || (x->code >= 144 && x->code <= 150))
		x->fatal = said_fatal(x->detail);
	if (x->kind != XID_GPU || x->code != XID_CODE_RECOVERY_ACTION)
		return;
	const char *to = strstr(x->detail, " to 0x");
	if (to && isxdigit((unsigned char)to[6])) {
		unsigned long v = strtoul(to + 6, NULL, 16);
		x->recovery = v <= INT_MAX ? (int)v : -1;
	}
}

/* "(PCI:…): CODE" and what follows, from behind the opening parenthesis. */
static bool parse_body(const char *at, enum xid_kind kind, struct xid *ret)
{
	struct xid x = nothing_told;
	x.kind = kind;
	take(&at, "PCI:");
	if (!take_bdf(&at, x.bdf))
		return false;
	take_mig(&at, &x);
	if (!take(&at, "): ") || !take_int(&at, &x.code))
		return false;
	if (*at == ',')
		at++;
	else if (*at && !isspace((unsigned char)*at))
		return false;
	at += strspn(at, " ");
	if (kind == XID_GPU)
		take_process(&at, &x);
	read_detail(at, &x);
	*ret = x;
	return true;
}

/* One printk of three lines (osapi.c): the GPU's address, its PCI id, "fallen off the bus". A log reader may have kept
 * the newline as it is or as the four characters "\x0a". */
static bool parse_fell_off(const char *at, struct xid *ret)
{
	struct xid x = nothing_told;
	x.kind = XID_FELL_OFF;
	x.code = XID_CODE_FELL_OFF_BUS;
	if (!take_bdf(&at, x.bdf) || !strstr(at, "fallen off the bus"))
		return false;
	snprintf(x.detail, sizeof(x.detail), "GPU has fallen off the bus and is not responding to commands");
	*ret = x;
	return true;
}

bool xid_parse(const char *text, struct xid *ret)
{
	const char *at = text;
	if (take(&at, gpu_head))
		return parse_body(at, XID_GPU, ret);
	if (take(&at, fell_head))
		return parse_fell_off(at, ret);
	int instance;
	if (take(&at, switch_head) && take_int(&at, &instance) && take(&at, ": SXid ("))
		return parse_body(at, XID_NVSWITCH, ret);
	return false;
}

bool xid_parse_line(const char *line, struct xid *ret)
{
	static const char *const heads[] = { gpu_head, switch_head, fell_head };
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		const char *at = strstr(line, heads[i]);
		if (at && xid_parse(at, ret))
			return true;
	}
	return false;
}
