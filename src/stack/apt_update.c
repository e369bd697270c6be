/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "stack/apt.h"
#include "stack/memo.h"
#include "stack/words.h"

/* Everything lies under Dir, which is given on the command line, so that the world can be renamed. Nothing is read from
 * /etc/apt. A stable release that becomes oldstable changes its Suite; its Codename, by which it is asked for, stays. */
static const char apt_conf[] = "Dir::Etc \"\";\n"
			       "Dir::Etc::main \"/dev/null\";\n"
			       "Dir::Etc::parts \"/dev/null\";\n"
			       "Dir::Etc::sourcelist \"kiln.sources\";\n"
			       "Dir::Etc::sourceparts \"/dev/null\";\n"
			       "Dir::Etc::preferences \"/dev/null\";\n"
			       "Dir::Etc::preferencesparts \"/dev/null\";\n"
			       "Dir::Etc::trusted \"/dev/null\";\n"
			       "Dir::Etc::trustedparts \"/dev/null\";\n"
			       "Dir::State \"\";\n"
			       "Dir::State::lists \"lists\";\n"
			       "Dir::State::status \"status\";\n"
			       "Dir::State::extended_states \"extended_states\";\n"
			       "Dir::Cache \"cache\";\n"
			       "Dir::Cache::pkgcache \"\";\n"
			       "Dir::Log \"cache\";\n"
			       "Acquire::Languages \"none\";\n"
			       "Acquire::ForceHash \"sha256\";\n"
			       "Acquire::AllowReleaseInfoChange \"true\";\n"
			       "APT::Update::Error-Mode \"any\";\n";

/* How this machine reaches the network, and what it has decided about dates and the download sandbox. */
static int add_host_settings(struct buf *conf, struct err *e)
{
	static const char *const argv[] = {
		"apt-config",
		"dump",
		"Acquire::http",
		"Acquire::https",
		"Acquire::Retries",
		"Acquire::ForceIPv4",
		"Acquire::ForceIPv6",
		"Acquire::Check-Date",
		"Acquire::Check-Valid-Until",
		"APT::Sandbox::User",
		NULL,
	};
	AUTO_STR text = NULL;
	const struct child_spec spec = { .argv = argv, .timeout_ms = 30000 };
	int rc = child_output(&spec, &text, e);
	if (rc < 0)
		return err_wrap(e, "read this machine's apt settings");
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "Acquire::", 9) == 0 || strncmp(line, "APT::Sandbox::User ", 19) == 0)
			buf_printf(conf, "%.*s\n", (int)strcspn(line, "\n"), line);
	return 0;
}

static int write_text(const char *dir, const char *name, const char *text, mode_t mode, struct err *e)
{
	AUTO_STR path = fdio_join(dir, name);
	if (!path)
		return err_set(e, -ENOMEM, "out of memory");
	return fdio_write_file(AT_FDCWD, path, text, strlen(text), mode, e);
}

static int make_world(const char *dir, const char *sources, struct err *e)
{
	static const char *const folders[] = { "lists/partial", "cache/archives/partial" };
	int rc = fdio_remove_tree(dir, e); /* what a killed update left */
	for (size_t i = 0; rc == 0 && i < COUNT_OF(folders); i++) {
		AUTO_STR path = fdio_join(dir, folders[i]);
		rc = path ? fdio_mkdir_p(path, 0755, e) : err_set(e, -ENOMEM, "out of memory");
	}
	AUTO_BUF conf;
	buf_init(&conf, 1u << 20);
	buf_str(&conf, apt_conf);
	if (rc < 0 || (rc = write_text(dir, "apt.conf", apt_conf, 0644, e)) < 0 ||
	    (rc = write_text(dir, "kiln.sources", sources, 0644, e)) < 0 ||
	    (rc = write_text(dir, "status", "", 0644, e)) < 0 || (rc = add_host_settings(&conf, e)) < 0)
		return rc;
	if (conf.failed)
		return err_set(e, conf.failed, "this machine's apt settings do not fit");
	/* A proxy's address may hold a password: for our eyes only, and gone when the fetch is over. */
	return write_text(dir, "update.conf", conf.data, 0600, e);
}

/* Lets apt ask "changed since?" about the lists that are there. apt replaces files and never writes into them, so links
 * do. What cannot be linked is fetched. */
static void link_lists(const char *from, const char *to)
{
	AUTO_STR source = fdio_join(from, "lists");
	AUTO_STR target = fdio_join(to, "lists");
	AUTO_DIR d = source ? opendir(source) : NULL;
	if (!d || !target)
		return;
	for (const struct dirent *entry; (entry = readdir(d));)
		if (strstr(entry->d_name, "_dists_")) {
			AUTO_STR path = str_printf("%s/%s", target, entry->d_name);
			if (path)
				(void)linkat(dirfd(d), entry->d_name, AT_FDCWD, path, 0);
		}
}

/* The first line that begins so, without its beginning: gives it, or NULL. */
static char *line_after(const char *text, const char *beginning)
{
	size_t n = strlen(beginning);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, beginning, n) == 0)
			return strndup(line + n, strcspn(line + n, "\n"));
	}
	return NULL;
}

static int refuse(const struct os *os, const char *errors, int status, struct err *e)
{
	AUTO_STR bad_signature = line_after(errors, "W: GPG error: ");
	AUTO_STR why = line_after(errors, "E: ");
	if (bad_signature || (why && (strstr(why, " signed") || strstr(why, " signatures "))))
		return err_native(e, -EBADMSG, ERR_REMOTE, 0,
				  "the package lists of %s are not signed by a key in '%s', nothing was taken over: %s",
				  os->name, os->keyring, bad_signature ? bad_signature : why);
	return err_native(
		e, -EHOSTUNREACH, ERR_REMOTE, 0,
		"fetching the package lists of %s failed, nothing was taken over: %s; check the network and try again",
		os->name, why ? why : (status < 0 ? "apt-get was killed" : "apt-get gives no reason"));
}

static int fetch(const char *dir, const struct os *os, struct progress *progress, struct err *e)
{
	static const char *const argv[] = { "apt-get", "-q", "update", NULL };
	struct progress_step *step = progress_start(progress, "package lists of %s", os->name);
	struct child_result result = { 0 };
	AUTO_STR errors = NULL;
	int rc = apt_call(dir, "update.conf", argv, step, &result, &errors, e);
	if (rc == 0 && result.status != 0)
		rc = refuse(os, errors ? errors : "", result.status, e);
	if (rc == 0) /* a failure is told once, by the error: the step goes with its progress */
		progress_end(step, PROGRESS_DONE, NULL);
	free(result.output);
	AUTO_STR conf = fdio_join(dir, "update.conf");
	if (conf)
		unlink(conf);
	return rc;
}

/* Puts the new world in the old one's place in one step, where the file system can. */
static int replace(const char *fresh, const char *now, struct err *e)
{
	if (rename(fresh, now) == 0)
		return 0; /* there was none, or an empty folder */
	if (renameat2(AT_FDCWD, fresh, AT_FDCWD, now, RENAME_EXCHANGE) == 0)
		return fdio_remove_tree(fresh, e);
	int rc = fdio_remove_tree(now, e);
	if (rc < 0)
		return rc;
	return rename(fresh, now) < 0 ? err_sys(e, "rename '%s' to '%s'", fresh, now) : 0;
}

static int update(const char *fresh, const char *now, const struct os *os, const char *sources,
		  struct progress *progress, struct err *e)
{
	const json_t *suites = json_object_get(json_array_get(os->mirrors, 0), "suites");
	const char *suite = json_string_value(json_array_get(suites, 0));
	char before[DIGEST_HEX_BYTES], after[DIGEST_HEX_BYTES];
	int64_t newest_s, base_s;
	int rc = make_world(fresh, sources, e);
	if (rc < 0)
		return rc;
	bool had_some = apt_read_releases(now, suite, before, &newest_s, &base_s, NULL) == 0;
	link_lists(now, fresh);
	if ((rc = fetch(fresh, os, progress, e)) < 0 ||
	    (rc = apt_read_releases(fresh, suite, after, &newest_s, &base_s, e)) < 0 ||
	    (rc = replace(fresh, now, e)) < 0)
		return rc;
	if (had_some && strcmp(before, after) != 0)
		memo_forget(before);
	return 0;
}

int apt_update(const char *root, const struct os *os, const char *sources, struct progress *progress, struct err *e)
{
	AUTO_STR fresh = fdio_join(root, ".new");
	AUTO_STR now = fdio_join(root, "now");
	AUTO_STR apt_config = child_which("apt-config");
	if (!fresh || !now)
		return err_set(e, -ENOMEM, "out of memory");
	if (!apt_config)
		return err_set(
			e, -ENOSYS,
			"apt-get is not installed; packages of %s are resolved with it: install the package 'apt'",
			os->name);
	if (!fdio_exists(AT_FDCWD, os->keyring))
		return err_set(e, -ENOSYS, "the keyring '%s' of %s is missing: install the package '%s'", os->keyring,
			       os->name, os->keyring_package);
	int rc = update(fresh, now, os, sources, progress, e);
	if (rc < 0)
		(void)fdio_remove_tree(fresh, NULL);
	return rc;
}
