/* SPDX-License-Identifier: MIT */
#include "stack/apt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/state.h"
#include "stack/words.h"

#define RELEASE_MAX_BYTES (4u << 20)
#define CALL_TIMEOUT_MS (20u * 60 * 1000)

extern char **environ;

/* Our environment, but for what would change apt's words or its configuration. */
static int make_env(const char *conf, char ***ret, struct err *e)
{
	static const char *const dropped[] = { "LC_", "LANG=", "LANGUAGE=", "APT_CONFIG=" };
	AUTO_STRINGS env = NULL;
	for (char **v = environ; *v; v++) {
		bool keep = true;
		for (size_t i = 0; i < COUNT_OF(dropped); i++)
			keep = keep && strncmp(*v, dropped[i], strlen(dropped[i])) != 0;
		int rc = keep ? words_add(&env, strdup(*v), e) : 0;
		if (rc < 0)
			return rc;
	}
	int rc = words_add(&env, strdup("LC_ALL=C"), e);
	if (rc == 0)
		rc = words_add(&env, str_printf("APT_CONFIG=%s", conf), e);
	if (rc == 0)
		*ret = steal(env);
	return rc;
}

static void show_line(void *step, const char *line)
{
	progress_note(step, line);
}

/* Gives all that was written to an anonymous file. */
static char *read_back(int fd)
{
	AUTO_BUF b;
	char block[4096];
	ssize_t n;
	buf_init(&b, 1u << 20);
	buf_str(&b, "");
	for (off_t at = 0; (n = pread(fd, block, sizeof(block), at)) > 0; at += n)
		buf_add(&b, block, (size_t)n);
	return buf_steal(&b);
}

int apt_call(const char *dir, const char *conf, const char *const *argv, struct progress_step *step,
	     struct child_result *ret, char **ret_errors, struct err *e)
{
	AUTO_STR program = child_which(argv[0]);
	if (!program)
		return err_set(e, -ENOSYS,
			       "%s is not installed; packages are resolved with it: install the package 'apt'",
			       argv[0]);
	AUTO_STR conf_path = fdio_join(dir, conf);
	AUTO_STR dir_option = str_printf("Dir=%s/", dir);
	AUTO_STRINGS env = NULL;
	AUTO_STRINGS full = NULL;
	if (!conf_path || !dir_option)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = make_env(conf_path, &env, e);
	for (size_t i = 0; rc == 0 && argv[i]; i++) {
		rc = words_add(&full, strdup(argv[i]), e);
		if (rc == 0 && i == 0 && (rc = words_add(&full, strdup("-o"), e)) == 0)
			rc = words_add(&full, strdup(dir_option), e);
	}
	AUTO_FD log = memfd_create("apt-errors", MFD_CLOEXEC);
	if (rc < 0)
		return rc;
	if (log < 0)
		return err_sys(e, "memory for %s's messages", argv[0]);
	const struct child_spec spec = {
		.argv = (const char *const *)full,
		.env = (const char *const *)env,
		.stdout_only = true,
		.log_fd = log,
		.timeout_ms = CALL_TIMEOUT_MS,
		.tick = step ? show_line : NULL,
		.tick_arg = step,
	};
	rc = child_run(&spec, ret, e);
	*ret_errors = read_back(log);
	return rc;
}

/* Gives a field of a Release file's head, such as "Date"; NULL when it lacks it. */
static char *release_field(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, name, n) != 0 || line[n] != ':')
			continue;
		const char *value = line + n + 1 + strspn(line + n + 1, " ");
		return strndup(value, strcspn(value, "\n"));
	}
	return NULL;
}

static int read_release(const char *path, const char *base_suite, struct digest *d, int64_t *newest_s, int64_t *base_s,
			struct err *e)
{
	AUTO_STR text = NULL;
	char sum[DIGEST_HEX_BYTES];
	size_t len;
	int rc = fdio_read_file(AT_FDCWD, path, RELEASE_MAX_BYTES, &text, &len, e);
	if (rc < 0)
		return rc;
	digest_of(text, len, sum);
	digest_add_field(d, strrchr(path, '/') + 1);
	digest_add_field(d, sum);
	AUTO_STR date = release_field(text, "Date");
	AUTO_STR suite = release_field(text, "Suite");
	AUTO_STR codename = release_field(text, "Codename");
	struct tm tm = { 0 };
	if (!date || !strptime(date, "%a, %d %b %Y %H:%M:%S", &tm))
		return err_set(e, -EBADMSG, "'%s' has no Date that can be read", path);
	int64_t seconds = timegm(&tm);
	if (seconds > *newest_s)
		*newest_s = seconds;
	if ((codename && strcmp(codename, base_suite) == 0) || (suite && strcmp(suite, base_suite) == 0))
		*base_s = seconds;
	return 0;
}

static bool is_release(const char *name)
{
	static const char *const ends[] = { "_InRelease", "_Release" };
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		size_t n = strlen(ends[i]);
		if (strlen(name) > n && strcmp(name + strlen(name) - n, ends[i]) == 0)
			return true;
	}
	return false;
}

int apt_read_releases(const char *dir, const char *base_suite, char snapshot[DIGEST_HEX_BYTES], int64_t *ret_newest_s,
		      int64_t *ret_base_s, struct err *e)
{
	AUTO_STR lists = fdio_join(dir, "lists");
	AUTO_STRINGS names = NULL;
	AUTO(digest) d = digest_new();
	int64_t newest_s = 0, base_s = 0;
	if (!lists || !d)
		return err_set(e, -ENOMEM, "out of memory");
	AUTO_DIR folder = opendir(lists);
	if (!folder)
		return err_sys(e, "package lists '%s'", lists);
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (is_release(entry->d_name) && words_add(&names, strdup(entry->d_name), e) < 0)
			return -ENOMEM;
	words_sort(names);
	if (!names)
		return err_set(e, -ENOENT, "there are no package lists in '%s'", lists);
	for (char **name = names; *name; name++) {
		AUTO_STR path = fdio_join(lists, *name);
		int rc = path ? read_release(path, base_suite, d, &newest_s, &base_s, e)
			      : err_set(e, -ENOMEM, "out of memory");
		if (rc < 0)
			return rc;
	}
	if (base_s == 0)
		return err_set(e, -EBADMSG, "no Release file in '%s' is of suite '%s'", lists, base_suite);
	digest_hex(d, snapshot);
	*ret_newest_s = newest_s;
	*ret_base_s = base_s;
	return 0;
}

/* Waits for whoever holds the lock, and says so. */
static int take_lock(int fd, int how, struct progress *progress, struct err *e)
{
	if (flock(fd, how | LOCK_NB) == 0)
		return 0;
	struct progress_step *step = progress_start(progress, "waiting for another kiln that fetches package lists");
	int rc;
	do
		rc = flock(fd, how);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		err_sys(e, "lock package lists");
	progress_end(step, rc < 0 ? PROGRESS_FAILED : PROGRESS_DONE, NULL);
	return rc < 0 ? -EIO : 0;
}

static const char *base_suite(const struct os *os)
{
	const json_t *suites = json_object_get(json_array_get(os->mirrors, 0), "suites");
	return json_string_value(json_array_get(suites, 0));
}

/* True when the world is whole and made of these sources. */
static bool is_current(struct apt *a, const char *sources)
{
	AUTO_STR path = fdio_join(a->dir, "kiln.sources");
	AUTO_STR have = NULL;
	if (!path || fdio_read_file(AT_FDCWD, path, 1u << 20, &have, NULL, NULL) < 0 || strcmp(have, sources) != 0)
		return false;
	return apt_read_releases(a->dir, base_suite(a->os), a->snapshot, &a->newest_date_s, &a->base_date_s, NULL) == 0;
}

static int prepare(struct apt *a, const char *root, bool update, struct err *e)
{
	AUTO_STR sources = NULL;
	int rc = os_apt_sources(a->os, a->architecture, NULL, &sources, e);
	if (rc < 0 || (rc = take_lock(a->lock_fd, LOCK_SH, a->progress, e)) < 0)
		return rc;
	if (!update && is_current(a, sources))
		return 0;
	flock(a->lock_fd, LOCK_UN); /* two that upgrade their shared locks would wait for each other */
	if ((rc = take_lock(a->lock_fd, LOCK_EX, a->progress, e)) < 0)
		return rc;
	if (update || !is_current(a, sources))
		if ((rc = apt_update(root, a->os, sources, a->progress, e)) < 0)
			return rc;
	if ((rc = take_lock(a->lock_fd, LOCK_SH, a->progress, e)) < 0)
		return rc;
	return apt_read_releases(a->dir, base_suite(a->os), a->snapshot, &a->newest_date_s, &a->base_date_s, e);
}

int apt_open(const struct os *os, const char *architecture, bool update, struct progress *progress, struct apt **ret,
	     struct err *e)
{
	AUTO(apt) a = calloc(1, sizeof(*a));
	AUTO_STR sub = str_printf("apt/%s", os->name);
	AUTO_STR made = NULL;
	if (!a || !sub)
		return err_set(e, -ENOMEM, "out of memory");
	a->lock_fd = -1;
	a->os = os;
	a->architecture = architecture;
	a->progress = progress;
	int rc = state_dir(sub, &made, e);
	if (rc < 0)
		return rc;
	AUTO_STR root = realpath(made, NULL); /* apt wants absolute folders */
	AUTO_STR lock = root ? fdio_join(root, "lock") : NULL;
	if (!lock || !(a->dir = fdio_join(root, "now")))
		return err_set(e, -ENOMEM, "out of memory");
	a->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (a->lock_fd < 0)
		return err_sys(e, "lock '%s'", lock);
	if ((rc = prepare(a, root, update, e)) < 0)
		return rc;
	*ret = steal(a);
	return 0;
}

void apt_free(struct apt *a)
{
	if (!a)
		return;
	if (a->step)
		progress_end(a->step, PROGRESS_DONE, NULL);
	own_close(&a->lock_fd);
	free(a->dir);
	free(a);
}
