/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "stack/apt.h"
#include "stack/memo.h"
#include "stack/words.h"

/* Raise when what is asked or kept changes. */
#define ASK_FORMAT "ask 1"
#define STATUS_MAX_BYTES (64u << 20)

/* Runs an apt program and gives what it printed; a failure goes through `refuse`. */
static int ask(struct apt *a, const char *const *argv, char **ret, char **ret_errors, int *ret_status, struct err *e)
{
	struct child_result result = { 0 };
	int rc = apt_call(a->dir, "apt.conf", argv, NULL, &result, ret_errors, e);
	if (rc < 0) {
		free(result.output);
		return rc;
	}
	*ret_status = result.status;
	*ret = result.output;
	return 0;
}

static void key_of(struct apt *a, const char *question, char ret[DIGEST_HEX_BYTES])
{
	AUTO_STR text = str_printf(ASK_FORMAT " %s %s %s", a->os->name, a->architecture, question);
	digest_of(text ? text : "", text ? strlen(text) : 0, ret);
}

/* "libfabric1 | 1.17.0-3 | http://...": the second column of every line. */
static int parse_versions(const char *text, char ***ret, struct err *e)
{
	AUTO_STRINGS versions = calloc(1, sizeof(*versions));
	for (const char *line = text; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *from = memchr(line, '|', strcspn(line, "\n"));
		if (!from)
			continue;
		from += 1 + strspn(from + 1, " ");
		AUTO_STR version = strndup(from, strcspn(from, " |\n"));
		if (version && words_has(versions, version))
			continue;
		int rc = words_add(&versions, steal(version), e);
		if (rc < 0)
			return rc;
	}
	*ret = steal(versions);
	return 0;
}

int apt_ask_versions(struct apt *a, const char *package, char ***ret, struct err *e)
{
	char key[DIGEST_HEX_BYTES];
	AUTO_STR question = str_printf("versions %s", package);
	AUTO_STRINGS versions = NULL;
	if (!question)
		return err_set(e, -ENOMEM, "out of memory");
	key_of(a, question, key);
	AUTO_JSON memo = memo_get(a->snapshot, key);
	size_t bad;
	if (json_array_size(memo) > 0 &&
	    words_are_plain(memo, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-:~", &bad)) {
		int rc = words_add_json(&versions, memo, e);
		if (rc == 0)
			*ret = steal(versions);
		return rc;
	}
	const char *const argv[] = { "apt-cache", "madison", package, NULL };
	AUTO_STR text = NULL;
	AUTO_STR errors = NULL;
	int status;
	int rc = ask(a, argv, &text, &errors, &status, e);
	if (rc < 0)
		return rc;
	if (status != 0)
		return err_native(e, -EIO, ERR_CHILD, status, "apt-cache madison %s: %s", package,
				  errors ? errors : "failed");
	if ((rc = parse_versions(text, &versions, e)) < 0)
		return rc;
	AUTO_JSON list = json_array();
	for (char **v = versions; list && *v; v++)
		json_array_append_new(list, json_string(*v));
	if (list)
		memo_put(a->snapshot, key, list);
	*ret = steal(versions);
	return 0;
}

/* A dpkg status file in which the packages of `have` are installed; named by its content, so that it is written once
 * and nothing has to be cleared away. Gives its path. */
static int write_status(struct apt *a, const struct resolution *const *have, size_t count, char **ret, struct err *e)
{
	AUTO_BUF text;
	char sum[DIGEST_HEX_BYTES];
	buf_init(&text, STATUS_MAX_BYTES);
	buf_str(&text, "");
	for (size_t i = 0; i < count; i++)
		for (const char *stanza = have[i]->index; *stanza;) {
			const char *end = strstr(stanza, "\n\n");
			size_t n = end ? (size_t)(end - stanza) + 2 : strlen(stanza);
			buf_str(&text, "Status: install ok installed\n");
			buf_add(&text, stanza, n);
			stanza += n;
		}
	if (text.failed)
		return err_set(e, text.failed, "the list of installed packages does not fit");
	digest_of(text.data, text.len, sum);
	AUTO_STR path = str_printf("%s/status-%s", a->dir, sum);
	if (!path)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = fdio_exists(AT_FDCWD, path) ? 0 : fdio_write_file(AT_FDCWD, path, text.data, text.len, 0644, e);
	if (rc == 0)
		*ret = steal(path);
	return rc;
}

/* apt's reason, on one line: what is unmet if it says so, else its first error. Gives the text. */
static char *reason_of(const char *output, const char *errors)
{
	const char *unmet = strstr(output, "unmet dependencies:");
	AUTO_BUF b;
	buf_init(&b, 4096);
	if (unmet) { /* each on a line that begins with a blank */
		const char *line = unmet + strcspn(unmet, "\n");
		for (int shown = 0; shown < 3 && line[0] == '\n' && line[1] == ' '; shown++) {
			line += 1 + strspn(line + 1, " ");
			size_t n = strcspn(line, "\n");
			buf_str(&b, shown ? ", " : "");
			buf_add(&b, line, n);
			line += n;
		}
		return buf_steal(&b);
	}
	const char *error = strstr(errors, "E: ");
	const char *from = error ? error + 3 : errors;
	return strndup(from, strcspn(from, "\n"));
}

/* Words by which apt says that what was asked for cannot be, rather than that it could not find out. */
static bool is_refusal(const char *output, const char *errors)
{
	static const char *const signs[] = { "Unable to locate package",  "was not found",
					     "no installation candidate", "held broken packages",
					     "unmet dependencies",        "need to be removed" };
	for (size_t i = 0; i < COUNT_OF(signs); i++)
		if (strstr(output, signs[i]) || strstr(errors, signs[i]))
			return true;
	return false;
}

static int ask_uris(struct apt *a, char *const *requests, const char *status_path, const char *what, char **ret,
		    struct err *e)
{
	static const char *const fixed[] = { "apt-get",    "-q", "--print-uris", "-y", "--no-install-recommends",
					     "--no-remove" };
	AUTO_STRINGS argv = NULL;
	AUTO_STR text = NULL;
	AUTO_STR errors = NULL;
	int rc = 0, status;
	for (size_t i = 0; rc == 0 && i < COUNT_OF(fixed); i++)
		rc = words_add(&argv, strdup(fixed[i]), e);
	if (rc == 0 && (rc = words_add(&argv, strdup("-o"), e)) == 0)
		rc = words_add(&argv, str_printf("Dir::State::status=%s", status_path), e);
	if (rc == 0)
		rc = words_add(&argv, strdup("install"), e);
	for (char *const *r = requests; rc == 0 && *r; r++)
		rc = words_add(&argv, strdup(*r), e);
	if (rc < 0 || (rc = ask(a, (const char *const *)argv, &text, &errors, &status, e)) < 0)
		return rc;
	if (status == 0) {
		*ret = steal(text);
		return 0;
	}
	AUTO_STR why = reason_of(text ? text : "", errors ? errors : "");
	if (is_refusal(text ? text : "", errors ? errors : ""))
		return err_input(e, "the packages of %s cannot be installed: %s", what, why ? why : "");
	return err_native(e, -EIO, ERR_CHILD, status, "apt-get could not resolve the packages of %s: %s", what,
			  why ? why : "");
}

static int ask_stanzas(struct apt *a, const char *uris, char **ret, struct err *e)
{
	AUTO_STRINGS names = NULL;
	AUTO_STRINGS argv = NULL;
	AUTO_STR errors = NULL;
	int status;
	int rc = resolution_parse_names(uris, &names, e);
	if (rc < 0)
		return rc;
	if (words_count(names) == 0) {
		*ret = strdup("");
		return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
	}
	if ((rc = words_add(&argv, strdup("apt-cache"), e)) < 0 || (rc = words_add(&argv, strdup("show"), e)) < 0)
		return rc;
	for (char **n = names; *n; n++)
		if ((rc = words_add(&argv, strdup(*n), e)) < 0)
			return rc;
	AUTO_STR text = NULL;
	if ((rc = ask(a, (const char *const *)argv, &text, &errors, &status, e)) < 0)
		return rc;
	if (status != 0)
		return err_native(e, -EIO, ERR_CHILD, status, "apt-cache show: %s", errors ? errors : "failed");
	*ret = steal(text);
	return 0;
}

static int resolve(struct apt *a, char *const *requests, const struct resolution *const *have, size_t have_count,
		   const char *what, struct resolution **ret, struct err *e)
{
	AUTO_STR status_path = NULL;
	AUTO_STR uris = NULL;
	AUTO_STR stanzas = NULL;
	int rc = write_status(a, have, have_count, &status_path, e);
	if (rc < 0 || (rc = ask_uris(a, requests, status_path, what, &uris, e)) < 0 ||
	    (rc = ask_stanzas(a, uris, &stanzas, e)) < 0)
		return rc;
	rc = resolution_parse(uris, stanzas, ret, e);
	return rc < 0 ? err_wrap(e, "packages of %s", what) : 0;
}

static int question_of(char *const *requests, const struct resolution *const *have, size_t have_count, char **ret,
		       struct err *e)
{
	AUTO_BUF b;
	buf_init(&b, 1u << 20);
	buf_str(&b, "packages");
	for (char *const *r = requests; *r; r++)
		buf_printf(&b, " %s", *r);
	for (size_t i = 0; i < have_count; i++)
		buf_printf(&b, " over %s", have[i]->digest);
	*ret = buf_steal(&b);
	return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int apt_ask_packages(struct apt *a, char *const *requests, const struct resolution *const *have, size_t have_count,
		     const char *what, struct resolution **ret, struct err *e)
{
	char key[DIGEST_HEX_BYTES];
	AUTO_STR question = NULL;
	int rc = question_of(requests, have, have_count, &question, e);
	if (rc < 0)
		return rc;
	key_of(a, question, key);
	AUTO_JSON memo = memo_get(a->snapshot, key);
	if (memo && resolution_from_json(memo, ret, NULL) == 0)
		return 0;
	if (!a->step) /* one line for all that has to be asked */
		a->step = progress_start(a->progress, "resolving packages");
	progress_note(a->step, what);
	rc = resolve(a, requests, have, have_count, what, ret, e);
	if (rc < 0) {
		a->step = NULL; /* told once, by the error: the step goes with its progress */
		return rc;
	}
	AUTO_JSON kept = resolution_json(*ret);
	if (kept)
		memo_put(a->snapshot, key, kept);
	return 0;
}
