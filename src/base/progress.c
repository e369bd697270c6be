/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/table.h"

#define REDRAW_MS 200
#define PLAIN_FIRST_NS (2LL * 1000000000)  /* a step that is over sooner is told only at its end */
#define PLAIN_AGAIN_NS (10LL * 1000000000) /* then a sign of life */
#define TITLE_MIN 12
#define SCREEN_MAX_BYTES (1u << 20)

struct progress_step {
	struct progress *p; /* borrowed */
	struct progress_step *next;
	unsigned number;
	int64_t start_ns, plain_ns; /* plain_ns: when the next plain line is due */
	uint64_t done, total;
	char unit[16];
	char title[96];
	char note[160];
};

struct progress {
	FILE *to; /* borrowed; NULL: silent */
	bool terminal, color, utf8;
	unsigned total, started;
	size_t title_width;
	pthread_mutex_t lock; /* everything below, the steps, and writing to `to` */
	pthread_cond_t wake;
	pthread_t ticker;
	bool ticking, stop;
	struct progress_step *steps; /* running, oldest first */
	unsigned shown;              /* lines on the screen that the next redraw replaces */
};

/* ---- text ---- */

static size_t characters(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* Cuts to at most `width` characters. */
static void cut(char *s, size_t width)
{
	size_t n = 0;
	for (; *s; s++)
		if (((unsigned char)*s & 0xc0) != 0x80 && n++ == width) {
			*s = '\0';
			return;
		}
}

/* Copies one line of anybody's text: control characters (colours, cursor jumps) would break the screen. */
static void copy_plain(char *to, size_t room, const char *text)
{
	size_t n = 0;
	for (const char *c = text; *c && n + 1 < room; c++) {
		if (*c == '\033' && c[1] == '[') { /* a whole CSI sequence goes, not only its first byte */
			for (c += 2; *c && ((unsigned char)*c < 0x40 || (unsigned char)*c > 0x7e); c++)
				;
			if (!*c)
				break;
			continue;
		}
		to[n++] = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
	}
	while (n > 0 && ((unsigned char)to[n - 1] & 0xc0) == 0x80 && text[n] && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	to[n] = '\0';
}

static void amount(char ret[32], uint64_t n, const char *unit)
{
	if (strcmp(unit, "B") == 0)
		table_bytes_text(n, ret);
	else
		snprintf(ret, 32, "%llu", (unsigned long long)n);
}

/* "45% 21M/47M  4s left", "21M", or "". */
static void add_amounts(struct buf *b, const struct progress_step *s, int64_t elapsed_ns)
{
	char done[32], total[32], left[CLOCK_TEXT_BYTES];
	const char *unit = strcmp(s->unit, "B") == 0 ? "" : s->unit;
	amount(done, s->done, s->unit);
	if (s->total == 0) {
		if (s->done)
			buf_printf(b, "  %s%s%s", done, *unit ? " " : "", unit);
		return;
	}
	amount(total, s->total, s->unit);
	double share = s->done >= s->total ? 1 : (double)s->done / (double)s->total;
	buf_printf(b, "  %3d%% %s/%s%s%s", (int)(share * 100), done, total, *unit ? " " : "", unit);
	if (share > 0 && share < 1 && elapsed_ns > 1000000000) {
		clock_duration_text((int64_t)((double)elapsed_ns * (1 - share) / share), left);
		buf_printf(b, "  %s left", left);
	}
}

/* " 3/7  openmpi       " */
static void add_head(struct buf *b, const struct progress *p, const struct progress_step *s)
{
	if (p->total)
		buf_printf(b, "%2u/%u  ", s->number, p->total);
	else
		buf_printf(b, "%2u  ", s->number);
	size_t n = characters(s->title);
	buf_printf(b, "%s%*s", s->title, (int)(n < p->title_width ? p->title_width - n : 0), "");
}

static void add_running(struct buf *b, const struct progress *p, const struct progress_step *s, int64_t now)
{
	char elapsed[CLOCK_TEXT_BYTES];
	clock_duration_text(now - s->start_ns, elapsed);
	add_head(b, p, s);
	buf_printf(b, "  %6s", elapsed);
	add_amounts(b, s, now - s->start_ns);
	if (s->note[0])
		buf_printf(b, "  %s", s->note);
}

/* ---- the terminal ---- */

static void screen_size(const struct progress *p, size_t *columns, size_t *rows)
{
	struct winsize w = { 0 };
	const char *text = getenv("COLUMNS");
	ioctl(fileno(p->to), TIOCGWINSZ, &w);
	long asked = text ? strtol(text, NULL, 10) : 0;
	*columns = w.ws_col ? w.ws_col : asked > 0 && asked < 10000 ? (size_t)asked : 80;
	*rows = w.ws_row ? w.ws_row : 24;
}

/* Takes the running lines off; what is added next stands where they were. */
static void add_erase(struct buf *b, const struct progress *p)
{
	if (p->shown)
		buf_printf(b, "\r\033[%uA\033[J", p->shown);
}

static void add_screen(struct buf *b, struct progress *p, int64_t now)
{
	size_t columns, rows;
	unsigned lines = 0;
	screen_size(p, &columns, &rows);
	for (const struct progress_step *s = p->steps; s && lines + 2 < rows; s = s->next, lines++) {
		AUTO_BUF line;
		buf_init(&line, 4096);
		add_running(&line, p, s, now);
		if (line.data)
			cut(line.data, columns > 1 ? columns - 1 : 1); /* the last column would wrap */
		buf_printf(b, "%s\n", buf_text(&line));
	}
	p->shown = lines;
}

/* One write for a whole frame: no flicker, no mixing. */
static void put(const struct progress *p, const struct buf *b)
{
	if (!b->len || b->failed)
		return;
	fwrite(b->data, 1, b->len, p->to);
	fflush(p->to);
}

static void redraw(struct progress *p)
{
	AUTO_BUF b;
	buf_init(&b, SCREEN_MAX_BYTES);
	add_erase(&b, p);
	add_screen(&b, p, clock_mono_ns());
	put(p, &b);
}

/* ---- not a terminal ---- */

static void plain_signs_of_life(struct progress *p)
{
	int64_t now = clock_mono_ns();
	for (struct progress_step *s = p->steps; s; s = s->next) {
		if (now < s->plain_ns)
			continue;
		AUTO_BUF b;
		buf_init(&b, 4096);
		buf_printf(&b, "%s ...", s->title);
		if (now - s->start_ns >= PLAIN_AGAIN_NS) {
			char elapsed[CLOCK_TEXT_BYTES];
			clock_duration_text(now - s->start_ns, elapsed);
			buf_printf(&b, " %s", elapsed);
			add_amounts(&b, s, now - s->start_ns);
			if (s->note[0])
				buf_printf(&b, "  %s", s->note);
		}
		buf_str(&b, "\n");
		put(p, &b);
		s->plain_ns = now + PLAIN_AGAIN_NS;
	}
}

/* ---- the ticker ---- */

static void *tick(void *arg)
{
	struct progress *p = arg;
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += REDRAW_MS * 1000000L;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&p->wake, &p->lock, &until);
		if (p->stop || !p->steps)
			continue;
		if (p->terminal)
			redraw(p);
		else
			plain_signs_of_life(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Signals stay with the caller's threads. Without a ticker the lines are only drawn when something happens. */
static void start_ticker(struct progress *p)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	p->ticking = pthread_create(&p->ticker, NULL, tick, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- public ---- */

static bool speaks_utf8(void)
{
	const char *value = NULL;
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	for (size_t i = 0; i < COUNT_OF(names) && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

static void pthread_cond_init_monotonic(pthread_cond_t *c)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

struct progress *progress_new(FILE *to, unsigned total_steps)
{
	struct progress *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	p->to = to;
	p->total = total_steps;
	p->title_width = TITLE_MIN;
	p->terminal = to && isatty(fileno(to)) && !(term && strcmp(term, "dumb") == 0);
	p->color = p->terminal && !(no_color && *no_color);
	p->utf8 = speaks_utf8();
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init_monotonic(&p->wake);
	if (to)
		start_ticker(p);
	return p;
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	if (p->ticking) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->ticker, NULL);
	}
	if (p->to && p->shown) {
		AUTO_BUF b;
		buf_init(&b, 64);
		add_erase(&b, p);
		put(p, &b);
	}
	while (p->steps) {
		struct progress_step *s = p->steps;
		p->steps = s->next;
		free(s);
	}
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct progress_step *progress_start(struct progress *p, const char *fmt, ...)
{
	struct progress_step *s = p ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	char title[sizeof(s->title)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(title, sizeof(title), fmt, ap);
	va_end(ap);
	copy_plain(s->title, sizeof(s->title), title);
	s->p = p;
	s->start_ns = clock_mono_ns();
	s->plain_ns = s->start_ns + PLAIN_FIRST_NS;
	pthread_mutex_lock(&p->lock);
	s->number = ++p->started;
	size_t width = characters(s->title);
	if (width > p->title_width)
		p->title_width = width;
	struct progress_step **end = &p->steps;
	while (*end)
		end = &(*end)->next;
	*end = s;
	if (p->terminal)
		redraw(p);
	pthread_mutex_unlock(&p->lock);
	return s;
}

void progress_update(struct progress_step *s, uint64_t done, uint64_t total, const char *unit)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->p->lock);
	s->done = done;
	s->total = total;
	copy_plain(s->unit, sizeof(s->unit), unit ? unit : "");
	pthread_mutex_unlock(&s->p->lock);
}

void progress_note(struct progress_step *s, const char *text)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->p->lock);
	copy_plain(s->note, sizeof(s->note), text ? text : "");
	pthread_mutex_unlock(&s->p->lock);
}

struct mark {
	const char *utf8, *plain, *color, *word;
};

static const struct mark marks[] = {
	[PROGRESS_DONE] = { "\xe2\x9c\x93", "ok  ", "\033[32m", "done" },
	[PROGRESS_CACHED] = { "\xe2\x9c\x93", "ok  ", "\033[32m", "cached" },
	[PROGRESS_FAILED] = { "\xe2\x9c\x97", "FAIL", "\033[31m", "failed" },
	[PROGRESS_WARN] = { "!", "warn", "\033[33m", "warning" },
};

/* The line that stays: the mark, the step, how long it took, the note. */
static void add_end(struct buf *b, const struct progress *p, const struct progress_step *s, enum progress_end how,
		    const char *note)
{
	const struct mark *m = &marks[how];
	char elapsed[CLOCK_TEXT_BYTES];
	clock_duration_text(clock_mono_ns() - s->start_ns, elapsed);
	const char *shown = how == PROGRESS_CACHED ? "cached" : elapsed;
	if (!p->terminal) {
		if (p->total)
			buf_printf(b, "%u/%u ", s->number, p->total);
		buf_printf(b, "%s: %s", s->title, m->word);
		if (how != PROGRESS_CACHED)
			buf_printf(b, ", %s", elapsed);
		if (note && *note)
			buf_printf(b, ", %s", note);
		buf_str(b, "\n");
		return;
	}
	buf_printf(b, "%s%s%s ", p->color ? m->color : "", p->utf8 ? m->utf8 : m->plain, p->color ? "\033[0m" : "");
	add_head(b, p, s);
	buf_printf(b, "  %6s", shown);
	if (note && *note)
		buf_printf(b, "  %s", note);
	buf_str(b, "\n");
}

void progress_end(struct progress_step *s, enum progress_end how, const char *note)
{
	if (!s)
		return;
	struct progress *p = s->p;
	char clean[512];
	copy_plain(clean, sizeof(clean), note ? note : "");
	pthread_mutex_lock(&p->lock);
	struct progress_step **at = &p->steps;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (p->to) {
		AUTO_BUF b;
		buf_init(&b, SCREEN_MAX_BYTES);
		if (p->terminal)
			add_erase(&b, p);
		add_end(&b, p, s, how, clean);
		if (p->terminal)
			add_screen(&b, p, clock_mono_ns());
		put(p, &b);
	}
	pthread_mutex_unlock(&p->lock);
	free(s);
}
