/* SPDX-License-Identifier: MIT */
#include "bake/fetch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fdio.h"
#include "base/state.h"
#include "cloud/http.h"

#define FETCH_PARALLEL 8u
#define FETCH_ATTEMPTS 4u
#define FETCH_BACKOFF_MS 1000u
#define FETCH_PART_SUFFIX ".part"
#define FETCH_TICK_MS 100u
/* Of a file whose size nobody told: more than any source that a component may name. */
#define FETCH_UNKNOWN_MAX ((int64_t)64 << 30)

enum fetch_state { FETCH_WAITING, FETCH_RUNNING, FETCH_DONE };

struct fetch_file {
	const struct plan_source *source;
	enum fetch_state state;
	char *path;
	char *part;
	int fd;
	struct digest *digest; /* of what is in the part so far */
	int64_t have;          /* bytes in the part */
	unsigned attempts;
	int64_t not_before_ns; /* monotonic */
	bool too_long;
	struct err error; /* of writing the part */
};

struct fetch {
	const struct fetch_options *o;
	struct fetch_file *files;
	size_t count;
	size_t done;
	uint64_t total_bytes;
	struct http *http;
};

int fetch_path(const char *sha256, char **ret, struct err *e)
{
	AUTO_STR dir = NULL;
	int rc = state_dir("downloads", &dir, e);
	if (rc < 0)
		return rc;
	*ret = fdio_join(dir, sha256);
	return *ret ? 0 : err_set(e, -ENOMEM, "out of memory for a path");
}

int fetch_present(const struct plan_source *s, bool *ret, struct err *e)
{
	AUTO_STR path = NULL;
	char got[DIGEST_HEX_BYTES];
	struct stat st;
	int rc = fetch_path(s->sha256, &path, e);
	if (rc < 0)
		return rc;

	*ret = stat(path, &st) == 0 && S_ISREG(st.st_mode);
	if (*ret && s->bytes >= 0)
		*ret = st.st_size == s->bytes;
	else if (*ret)
		*ret = digest_of_file(AT_FDCWD, path, got, NULL) == 0 && strcmp(got, s->sha256) == 0;
	return 0;
}

static void file_close(struct fetch_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	digest_free(f->digest);
	f->digest = NULL;
}

static void fetch_fini(struct fetch *f)
{
	http_free(f->http);
	for (size_t i = 0; i < f->count; i++) {
		file_close(&f->files[i]);
		free(f->files[i].path);
		free(f->files[i].part);
	}
	free(f->files);
}

/* Adds the bytes that an earlier run left to the digest; a part that cannot be of use is emptied. */
static int file_read_part(struct fetch_file *f, struct err *e)
{
	char block[65536];
	struct stat st;
	ssize_t n;

	f->have = 0;
	if (fstat(f->fd, &st) < 0)
		return err_sys(e, "look at %s", f->part);
	if (f->source->bytes >= 0 && st.st_size > f->source->bytes && ftruncate(f->fd, 0) < 0)
		return err_sys(e, "empty %s", f->part);
	while ((n = pread(f->fd, block, sizeof(block), f->have)) > 0) {
		digest_add(f->digest, block, (size_t)n);
		f->have += n;
	}
	return n < 0 ? err_sys(e, "read %s", f->part) : 0;
}

static int file_open(struct fetch_file *f, bool from_start, struct err *e)
{
	file_close(f);
	f->fd = open(f->part, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND | (from_start ? O_TRUNC : 0), 0644);
	if (f->fd < 0)
		return err_sys(e, "create %s", f->part);
	f->digest = digest_new();
	if (!f->digest)
		return err_set(e, -ENOMEM, "out of memory for a digest");
	return file_read_part(f, e);
}

static int file_body(void *arg, const void *data, size_t n)
{
	struct fetch_file *f = arg;
	int64_t most = f->source->bytes >= 0 ? f->source->bytes : FETCH_UNKNOWN_MAX;

	if (f->have + (int64_t)n > most) {
		f->too_long = true;
		return -1;
	}
	if (fdio_write_all(f->fd, data, n, f->part, &f->error) < 0)
		return -1;
	digest_add(f->digest, data, n);
	f->have += (int64_t)n;
	return 0;
}

static int file_refuse(struct fetch_file *f, const char *got, struct err *e)
{
	char size[64] = "";

	file_close(f);
	unlink(f->part);
	if (f->too_long || (f->source->bytes >= 0 && f->have != f->source->bytes))
		snprintf(size, sizeof(size), " (%s than the %lld bytes promised)", f->too_long ? "longer" : "shorter",
			 (long long)f->source->bytes);
	return err_native(e, -EBADMSG, ERR_REMOTE, 0,
			  "download %s: not the file that was asked for%s: sha256 wanted %s, got %s; nothing of it was "
			  "kept: run `kiln plan --update` if the mirror has changed, else see what stands between here "
			  "and the mirror",
			  f->source->url, size, f->source->sha256, got);
}

/* Everything came: verified, then named. */
static int file_finish(struct fetch *f, struct fetch_file *file, struct err *e)
{
	char got[DIGEST_HEX_BYTES];

	digest_hex(file->digest, got);
	if (strcmp(got, file->source->sha256) != 0)
		return file_refuse(file, got, e);
	file_close(file);
	if (rename(file->part, file->path) < 0)
		return err_sys(e, "rename %s", file->part);
	file->state = FETCH_DONE;
	f->done++;
	return 0;
}

static int file_start(struct fetch *f, struct fetch_file *file, bool from_start, struct err *e)
{
	int rc = file_open(file, from_start, e);
	if (rc < 0)
		return rc;
	if (file->source->bytes >= 0 && file->have == file->source->bytes)
		return file_finish(f, file, e);
	struct http_get get = {
		.url = file->source->url,
		.offset = file->have,
		.stall_ms = f->o->stall_ms,
		.body = file_body,
		.arg = file,
	};
	file->attempts++;
	file->state = FETCH_RUNNING;
	return http_start(f->http, &get, e);
}

static int file_give_up(struct fetch_file *f, const struct http_end *end, struct err *e)
{
	int rc = err_native(e, -EIO, ERR_REMOTE, end->status, "download %s: %s", f->source->url, end->why);
	if (end->outcome == HTTP_TRY_AGAIN)
		return err_hint(e, "tried %u times; what came is kept and the next run goes on from there",
				f->attempts);
	if (end->status == 404)
		return err_hint(e, "the mirror no longer has this version: run it again with --update");
	return rc;
}

static int file_ended(struct fetch *f, const struct http_end *end, struct err *e)
{
	struct fetch_file *file = end->arg;
	unsigned attempts = f->o->attempts ? f->o->attempts : FETCH_ATTEMPTS;
	uint32_t backoff_ms = f->o->backoff_ms ? f->o->backoff_ms : FETCH_BACKOFF_MS;

	switch (end->outcome) {
	case HTTP_DONE:
		return file_finish(f, file, e);
	case HTTP_ABORTED:
		if (file->too_long)
			return file_refuse(file, "something longer", e);
		file_close(file);
		unlink(file->part); /* the disk is full or broken: a part would only be in the way */
		if (e)
			*e = file->error;
		return file->error.code;
	case HTTP_NO_RESUME:
		return file_start(f, file, true, e);
	case HTTP_TRY_AGAIN:
		if (file->attempts >= attempts)
			return file_give_up(file, end, e);
		file_close(file);
		file->state = FETCH_WAITING;
		file->not_before_ns = clock_mono_ns() + ((int64_t)backoff_ms * 1000000 << (file->attempts - 1));
		return 0;
	case HTTP_REFUSED:
		break;
	}
	if (file->have == 0)
		unlink(file->part);
	return file_give_up(file, end, e);
}

static int fetch_add(struct fetch *f, const struct plan_source *s, struct err *e)
{
	bool present = false;
	int rc;

	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->files[i].source->sha256, s->sha256) == 0)
			return 0;
	rc = fetch_present(s, &present, e);
	if (rc < 0 || present)
		return rc;

	struct fetch_file *file = &f->files[f->count++];
	*file = (struct fetch_file){ .source = s, .fd = -1 };
	rc = fetch_path(s->sha256, &file->path, e);
	if (rc < 0)
		return rc;
	file->part = str_printf("%s" FETCH_PART_SUFFIX, file->path);
	if (!file->part)
		return err_set(e, -ENOMEM, "out of memory for a path");
	if (s->bytes > 0)
		f->total_bytes += (uint64_t)s->bytes;
	return 0;
}

/* Starts waiting files while connections are free. */
static int fetch_start_more(struct fetch *f, struct err *e)
{
	unsigned running = 0, parallel = f->o->parallel ? f->o->parallel : FETCH_PARALLEL;
	int64_t now = clock_mono_ns();

	for (size_t i = 0; i < f->count; i++)
		running += f->files[i].state == FETCH_RUNNING;
	for (size_t i = 0; i < f->count && running < parallel; i++) {
		struct fetch_file *file = &f->files[i];
		if (file->state != FETCH_WAITING || file->not_before_ns > now)
			continue;
		int rc = file_start(f, file, false, e);
		if (rc < 0)
			return rc;
		running += file->state == FETCH_RUNNING;
	}
	return 0;
}

static void fetch_show(const struct fetch *f)
{
	uint64_t have = 0;

	for (size_t i = 0; i < f->count; i++)
		have += (uint64_t)f->files[i].have;
	if (f->o->step)
		progress_update(f->o->step, have, f->total_bytes, "B");
}

static int fetch_run(struct fetch *f, struct err *e)
{
	int rc = http_new(f->o->parallel ? f->o->parallel : FETCH_PARALLEL, &f->http, e);

	while (rc >= 0 && f->done < f->count) {
		struct http_end end;
		if ((f->o->stop && *f->o->stop) || (f->o->cancel && *f->o->cancel))
			return err_set(e, -EINTR, "interrupted; what was downloaded is kept: run it again to go on");
		rc = fetch_start_more(f, e);
		if (rc < 0 || f->done == f->count)
			break;
		rc = http_wait(f->http, FETCH_TICK_MS, &end, e);
		if (rc == 1)
			rc = file_ended(f, &end, e);
		fetch_show(f);
	}
	return rc < 0 ? rc : 0;
}

int fetch_all(const struct plan_source *const *sources, size_t count, const struct fetch_options *o, struct err *e)
{
	__attribute__((cleanup(fetch_fini))) struct fetch f = { .o = o };
	int rc = 0;

	f.files = calloc(count ? count : 1, sizeof(*f.files));
	if (!f.files)
		return err_set(e, -ENOMEM, "out of memory for %zu downloads", count);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = fetch_add(&f, sources[i], e);
	if (rc == 0 && f.count > 0)
		rc = fetch_run(&f, e);
	return rc;
}

void fetch_remove_parts(void)
{
	AUTO_STR path = NULL;
	AUTO_DIR dir = state_dir("downloads", &path, NULL) == 0 ? opendir(path) : NULL;

	for (struct dirent *d; dir && (d = readdir(dir));) {
		size_t len = strlen(d->d_name), suffix = strlen(FETCH_PART_SUFFIX);
		if (len > suffix && strcmp(d->d_name + len - suffix, FETCH_PART_SUFFIX) == 0)
			unlinkat(dirfd(dir), d->d_name, 0);
	}
}
