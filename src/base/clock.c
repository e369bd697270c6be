/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static int64_t now_ns(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

void clock_sleep_ms(uint32_t ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * (long)NS_PER_MS;
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_nsec -= (long)NS_PER_S;
		until.tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Seconds rounded down, also before 1970. */
static void split(int64_t wall_ns, struct tm *tm, int *ms)
{
	int64_t s = wall_ns / NS_PER_S, rest = wall_ns % NS_PER_S;
	if (rest < 0) {
		rest += NS_PER_S;
		s--;
	}
	time_t t = (time_t)s;
	gmtime_r(&t, tm); /* cannot fail: 2^63 ns is the year 2262 */
	*ms = (int)(rest / NS_PER_MS);
}

void clock_text(int64_t wall_ns, char ret[CLOCK_TEXT_BYTES])
{
	struct tm tm;
	int ms;
	split(wall_ns, &tm, &ms);
	strftime(ret, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void clock_text_ms(int64_t wall_ns, char ret[CLOCK_TEXT_BYTES])
{
	struct tm tm;
	int ms;
	split(wall_ns, &tm, &ms);
	size_t n = strftime(ret, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + n, CLOCK_TEXT_BYTES - n, ".%03dZ", ms);
}

void clock_duration_text(int64_t ns, char ret[CLOCK_TEXT_BYTES])
{
	if (ns < 0)
		ns = 0;
	int64_t tenths = ns / (NS_PER_S / 10) + (ns % (NS_PER_S / 10) >= NS_PER_S / 20);
	int64_t s = tenths / 10;
	if (s < 60)
		snprintf(ret, CLOCK_TEXT_BYTES, "%" PRId64 ".%" PRId64 "s", s, tenths % 10);
	else if (s < 3600)
		snprintf(ret, CLOCK_TEXT_BYTES, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
	else
		snprintf(ret, CLOCK_TEXT_BYTES, "%" PRId64 "h%02" PRId64 "m", s / 3600, s % 3600 / 60);
}

int clock_parse_duration(const char *text, uint32_t *ret_ms)
{
	static const struct {
		const char *suffix;
		uint64_t ms;
	} units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };

	uint64_t n = 0;
	const char *c = text;
	for (; *c >= '0' && *c <= '9'; c++) {
		n = n * 10 + (uint64_t)(*c - '0');
		if (n > UINT32_MAX)
			return -EINVAL;
	}
	if (c == text)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(c, units[i].suffix) != 0)
			continue;
		if (n * units[i].ms > UINT32_MAX)
			return -EINVAL;
		*ret_ms = (uint32_t)(n * units[i].ms);
		return 0;
	}
	return -EINVAL;
}
