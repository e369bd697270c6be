/* SPDX-License-Identifier: MIT */
#include "watch/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/fdio.h"

#define VERSION 1
/* What stays for the history when every sink has had it, and what a sink that is down may let pile up. Events that a sink
 * still lacks are never trimmed. */
#define KEEP_EVENTS 100000
#define KEEP_METRICS 20000
#define PILE_METRICS 500000
#define TRIM_EVERY 256 /* appends */

struct spool {
	sqlite3 *db;
	int lock_fd;
	pthread_mutex_t db_turn;
	unsigned appends;
	/* What sleepers look at. */
	pthread_mutex_t lock;
	pthread_cond_t news;
	int64_t end[2]; /* by record_kind */
	bool ending;
};

static const char *const tables[2] = { "events", "metrics" };

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS events (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
	" wall_ns INTEGER NOT NULL, json TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS metrics (n INTEGER PRIMARY KEY AUTOINCREMENT, wall_ns INTEGER NOT NULL,"
	" json TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS source_cursor (source TEXT NOT NULL, boot_id TEXT NOT NULL, seq INTEGER NOT NULL,"
	" PRIMARY KEY (source, boot_id)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS sink_cursor (sink TEXT PRIMARY KEY, events_n INTEGER NOT NULL DEFAULT 0,"
	" metrics_n INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL DEFAULT '') WITHOUT ROWID;";

static int errno_of(int status)
{
	switch (status & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return -EACCES;
	default:
		return -EIO;
	}
}

static int db_error(const struct spool *s, struct err *e, const char *doing)
{
	int status = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
	return err_native(e, errno_of(status), ERR_SQLITE, status, "spool: %s: %s", doing,
			  s->db ? sqlite3_errmsg(s->db) : "no memory");
}

static int run(struct spool *s, const char *sql, struct err *e)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(s, e, "write");
}

static void statement_free(sqlite3_stmt **at)
{
	sqlite3_finalize(*at);
}
#define AUTO_STATEMENT __attribute__((cleanup(statement_free))) sqlite3_stmt *

static int prepare(struct spool *s, const char *sql, sqlite3_stmt **ret, struct err *e)
{
	return sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : db_error(s, e, "prepare");
}

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

/* One number from a query without parameters. */
static int query_number(struct spool *s, const char *sql, int64_t *ret, struct err *e)
{
	AUTO_STATEMENT st = NULL;
	int rc = prepare(s, sql, &st, e);
	if (rc < 0)
		return rc;
	if (sqlite3_step(st) != SQLITE_ROW)
		return db_error(s, e, "read");
	*ret = sqlite3_column_int64(st, 0);
	return 0;
}

/* The lock is the kernel's: it ends with the process, however that ends. The pid inside is only for the message. */
static int take_lock(struct spool *s, const char *dir, struct err *e)
{
	AUTO_STR path = fdio_join(dir, "lock");
	if (!path)
		return err_set(e, -ENOMEM, "spool '%s': no memory", dir);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (s->lock_fd < 0)
		return err_sys(e, "spool: cannot make '%s'", path);
	char pid[16] = "";
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		ssize_t n = pread(s->lock_fd, pid, sizeof(pid) - 1, 0);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
		return err_set(e, -EBUSY,
			       "another agent (pid %s) uses the spool '%s'; stop it, or name another with --spool",
			       *pid ? pid : "unknown", dir);
	}
	int n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(s->lock_fd, 0) < 0 || pwrite(s->lock_fd, pid, (size_t)n, 0) != n)
		return err_sys(e, "spool: cannot write '%s'", path);
	return 0;
}

static int open_database(struct spool *s, const char *dir, struct err *e)
{
	AUTO_STR path = fdio_join(dir, "spool.db");
	int64_t version = 0;
	if (!path)
		return err_set(e, -ENOMEM, "spool '%s': no memory", dir);
	/* SQLite gives its other files the mode of this one. The kernel log may be root's alone (dmesg_restrict). */
	AUTO_FD fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return err_sys(e, "spool: cannot make '%s'", path);
	close(steal_fd(&fd));
	/* One connection and turns of our own: SQLite's locks are not needed. */
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return db_error(s, e, path);
	sqlite3_extended_result_codes(s->db, 1);
	int rc = query_number(s, "PRAGMA user_version", &version, e);
	if (rc < 0)
		return err_wrap(e, "'%s' cannot be used; move it away and start again", path);
	if (version > VERSION)
		return err_native(e, -EPROTO, ERR_SQLITE, 0, "spool '%s' was written by a newer kiln (format %d)", path,
				  (int)version);
	/* A small cache: the agent should stay small, and rows are read once. */
	rc = run(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-256; PRAGMA mmap_size=0;", e);
	if (rc == 0)
		rc = run(s, schema, e);
	if (rc == 0 && version == 0)
		rc = run(s, "PRAGMA user_version=1", e);
	return rc < 0 ? err_wrap(e, "'%s'", path) : 0;
}

int spool_open(const char *dir, struct spool **ret, struct err *e)
{
	AUTO(spool) s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "spool '%s': no memory", dir);
	s->lock_fd = -1;
	pthread_mutex_init(&s->db_turn, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&s->news, &mono);
	pthread_condattr_destroy(&mono);
	int rc = fdio_mkdir_p(dir, 0755, e);
	if (rc == 0)
		rc = take_lock(s, dir, e);
	if (rc == 0)
		rc = open_database(s, dir, e);
	if (rc == 0)
		rc = query_number(s, "SELECT ifnull(max(n),0) FROM events", &s->end[RECORD_EVENT], e);
	if (rc == 0)
		rc = query_number(s, "SELECT ifnull(max(n),0) FROM metrics", &s->end[RECORD_METRICS], e);
	if (rc < 0)
		return rc;
	*ret = steal(s);
	return 0;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->db_turn);
	free(s);
}

int spool_source_seq(struct spool *s, const char *source, const char *boot_id, bool *ret_known, uint64_t *ret_seq,
		     struct err *e)
{
	AUTO_STATEMENT st = NULL;
	pthread_mutex_lock(&s->db_turn);
	int rc = prepare(s, "SELECT seq FROM source_cursor WHERE source=?1 AND boot_id=?2", &st, e);
	if (rc == 0) {
		bind_text(st, 1, source);
		bind_text(st, 2, boot_id);
		int step = sqlite3_step(st);
		*ret_known = step == SQLITE_ROW;
		if (step == SQLITE_ROW)
			*ret_seq = (uint64_t)sqlite3_column_int64(st, 0);
		else if (step != SQLITE_DONE)
			rc = db_error(s, e, "read");
	}
	pthread_mutex_unlock(&s->db_turn);
	return rc;
}

static int insert(struct spool *s, struct record *const *records, size_t count, struct err *e)
{
	AUTO_STATEMENT event = NULL;
	AUTO_STATEMENT metrics = NULL;
	int rc = prepare(s, "INSERT OR IGNORE INTO events (id, wall_ns, json) VALUES (?1, ?2, ?3)", &event, e);
	if (rc == 0)
		rc = prepare(s, "INSERT INTO metrics (wall_ns, json) VALUES (?2, ?3)", &metrics, e);
	for (size_t i = 0; i < count && rc == 0; i++) {
		bool is_event = records[i]->kind == RECORD_EVENT;
		sqlite3_stmt *st = is_event ? event : metrics;
		if (is_event)
			bind_text(st, 1, records[i]->id);
		sqlite3_bind_int64(st, 2, records[i]->wall_ns);
		bind_text(st, 3, records[i]->json);
		if (sqlite3_step(st) != SQLITE_DONE)
			rc = db_error(s, e, "keep a record");
		sqlite3_reset(st);
	}
	return rc;
}

static int move_mark(struct spool *s, const struct spool_mark *mark, struct err *e)
{
	AUTO_STATEMENT st = NULL;
	int rc = prepare(s,
			 "INSERT INTO source_cursor (source, boot_id, seq) VALUES (?1, ?2, ?3)"
			 " ON CONFLICT DO UPDATE SET seq=excluded.seq",
			 &st, e);
	if (rc < 0)
		return rc;
	bind_text(st, 1, mark->source);
	bind_text(st, 2, mark->boot_id);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)mark->seq);
	return sqlite3_step(st) == SQLITE_DONE ? 0 : db_error(s, e, "move the cursor");
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
/* A table without sinks that read it counts as delivered. Cursors of past boots go with the events. */
static int trim(struct spool *s, struct err *e)
{
	return run(
		s,
		"DELETE FROM events WHERE n <= (SELECT max(n) FROM events) - " TEXT(
			KEEP_EVENTS) " AND n <= (SELECT ifnull(min(events_n), 0) FROM sink_cursor WHERE events_n > 0);"
				     "DELETE FROM metrics WHERE n <= (SELECT max(n) FROM metrics) - " TEXT(
					     KEEP_METRICS) " AND (n <= (SELECT ifnull(min(metrics_n), 0) FROM "
							   "sink_cursor WHERE metrics_n > 0)"
							   " OR n <= (SELECT max(n) FROM metrics) - " TEXT(
								   PILE_METRICS) ");",
		e);
}

static void tell_end(struct spool *s, enum record_kind kind, int64_t n)
{
	pthread_mutex_lock(&s->lock);
	if (n > s->end[kind]) {
		s->end[kind] = n;
		pthread_cond_broadcast(&s->news);
	}
	pthread_mutex_unlock(&s->lock);
}

static int append_locked(struct spool *s, struct record *const *records, size_t count, const struct spool_mark *mark,
			 int64_t end[2], struct err *e)
{
	int rc = run(s, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = insert(s, records, count, e);
	if (rc == 0 && mark)
		rc = move_mark(s, mark, e);
	if (rc == 0 && ++s->appends % TRIM_EVERY == 0)
		rc = trim(s, e);
	if (rc == 0)
		rc = run(s, "COMMIT", e);
	if (rc < 0) {
		run(s, "ROLLBACK", NULL); /* SQLite may have done it already */
		return rc;
	}
	query_number(s, "SELECT ifnull(max(n),0) FROM events", &end[RECORD_EVENT], NULL);
	query_number(s, "SELECT ifnull(max(n),0) FROM metrics", &end[RECORD_METRICS], NULL);
	return 0;
}

int spool_append(struct spool *s, struct record *const *records, size_t count, const struct spool_mark *mark,
		 struct err *e)
{
	int64_t end[2] = { 0 };
	pthread_mutex_lock(&s->db_turn);
	int rc = append_locked(s, records, count, mark, end, e);
	pthread_mutex_unlock(&s->db_turn);
	tell_end(s, RECORD_EVENT, end[RECORD_EVENT]);
	tell_end(s, RECORD_METRICS, end[RECORD_METRICS]);
	return rc;
}

static int read_row(sqlite3_stmt *st, enum record_kind kind, struct record *ret)
{
	const char *id = (const char *)sqlite3_column_text(st, 1);
	const char *json = (const char *)sqlite3_column_text(st, 3);
	ret->kind = kind;
	ret->n = sqlite3_column_int64(st, 0);
	ret->wall_ns = sqlite3_column_int64(st, 2);
	snprintf(ret->id, sizeof(ret->id), "%s", id ? id : "");
	ret->json = json ? strdup(json) : NULL;
	return ret->json ? 0 : -ENOMEM;
}

static int read_locked(struct spool *s, enum record_kind kind, int64_t after_n, size_t limit, struct spool_list *l,
		       struct err *e)
{
	static const char *const sql[2] = {
		"SELECT n, id, wall_ns, json FROM events WHERE n > ?1 ORDER BY n LIMIT ?2",
		"SELECT n, '', wall_ns, json FROM metrics WHERE n > ?1 ORDER BY n LIMIT ?2",
	};
	AUTO_STATEMENT st = NULL;
	int step, rc = prepare(s, sql[kind], &st, e);
	if (rc < 0)
		return rc;
	sqlite3_bind_int64(st, 1, after_n);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)limit);
	while ((step = sqlite3_step(st)) == SQLITE_ROW && l->count < limit) {
		rc = read_row(st, kind, &l->at[l->count++]);
		if (rc < 0)
			return err_set(e, rc, "spool: no memory");
	}
	return step == SQLITE_DONE ? 0 : db_error(s, e, tables[kind]);
}

int spool_read(struct spool *s, enum record_kind kind, int64_t after_n, size_t limit, struct spool_list *ret,
	       struct err *e)
{
	struct spool_list l = { .at = calloc(limit ? limit : 1, sizeof(*l.at)) };
	if (!l.at)
		return err_set(e, -ENOMEM, "spool: no memory");
	pthread_mutex_lock(&s->db_turn);
	int rc = read_locked(s, kind, after_n, limit, &l, e);
	pthread_mutex_unlock(&s->db_turn);
	if (rc < 0)
		spool_list_fini(&l);
	else
		*ret = l;
	return rc;
}

void spool_list_fini(struct spool_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->at[i].json);
	free(l->at);
	*l = (struct spool_list){ 0 };
}

int spool_sink_load(struct spool *s, const char *sink, enum record_kind kind, int64_t *ret_n, char **ret_state,
		    struct err *e)
{
	AUTO_STATEMENT st = NULL;
	AUTO_STR state = NULL;
	int64_t n = 0;
	pthread_mutex_lock(&s->db_turn);
	int rc = prepare(s, "SELECT events_n, metrics_n, state FROM sink_cursor WHERE sink=?1", &st, e);
	if (rc == 0) {
		bind_text(st, 1, sink);
		int step = sqlite3_step(st);
		if (step == SQLITE_ROW) {
			n = sqlite3_column_int64(st, (int)kind);
			state = strdup((const char *)sqlite3_column_text(st, 2));
		} else if (step == SQLITE_DONE) {
			state = strdup("");
		} else {
			rc = db_error(s, e, "read");
		}
	}
	pthread_mutex_unlock(&s->db_turn);
	if (rc == 0 && !state)
		rc = err_set(e, -ENOMEM, "spool: no memory");
	if (rc < 0)
		return rc;
	*ret_n = n;
	*ret_state = steal(state);
	return 0;
}

int spool_sink_save(struct spool *s, const char *sink, enum record_kind kind, int64_t n, const char *state,
		    struct err *e)
{
	static const char *const sql[2] = {
		"INSERT INTO sink_cursor (sink, events_n, state) VALUES (?1, ?2, ?3)"
		" ON CONFLICT DO UPDATE SET events_n=excluded.events_n, state=excluded.state",
		"INSERT INTO sink_cursor (sink, metrics_n, state) VALUES (?1, ?2, ?3)"
		" ON CONFLICT DO UPDATE SET metrics_n=excluded.metrics_n, state=excluded.state",
	};
	AUTO_STATEMENT st = NULL;
	pthread_mutex_lock(&s->db_turn);
	int rc = prepare(s, sql[kind], &st, e);
	if (rc == 0) {
		bind_text(st, 1, sink);
		sqlite3_bind_int64(st, 2, n);
		bind_text(st, 3, state);
		if (sqlite3_step(st) != SQLITE_DONE)
			rc = db_error(s, e, "move a sink's cursor");
	}
	pthread_mutex_unlock(&s->db_turn);
	return rc;
}

int64_t spool_end(struct spool *s, enum record_kind kind)
{
	pthread_mutex_lock(&s->lock);
	int64_t n = s->end[kind];
	pthread_mutex_unlock(&s->lock);
	return n;
}

bool spool_wait(struct spool *s, enum record_kind kind, int64_t after_n)
{
	pthread_mutex_lock(&s->lock);
	while (s->end[kind] <= after_n && !s->ending)
		pthread_cond_wait(&s->news, &s->lock);
	bool there = s->end[kind] > after_n;
	pthread_mutex_unlock(&s->lock);
	return there;
}

bool spool_sleep(struct spool *s, uint32_t ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&s->lock);
	int rc = 0;
	while (!s->ending && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&s->news, &s->lock, &until);
	bool slept = !s->ending;
	pthread_mutex_unlock(&s->lock);
	return slept;
}

void spool_wake_all(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
}
