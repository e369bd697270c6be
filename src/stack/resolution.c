/* SPDX-License-Identifier: MIT */
#include "stack/resolution.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "stack/words.h"

#define INDEX_MAX_BYTES (64u << 20)

/* One stanza of a Packages file: pointers into its text. */
struct stanza {
	const char *text;
	size_t len; /* without the empty line behind */
};

/* Takes the next stanza off *at; false at the end. */
static bool next_stanza(const char **at, struct stanza *ret)
{
	const char *from = *at + strspn(*at, "\n");
	if (!*from)
		return false;
	const char *end = strstr(from, "\n\n");
	ret->text = from;
	ret->len = end ? (size_t)(end - from) : strlen(from);
	while (ret->len > 0 && from[ret->len - 1] == '\n')
		ret->len--;
	*at = from + ret->len;
	return true;
}

/* Gives a field's one-line value, or NULL when the stanza lacks it (or memory is short). */
static char *field_of(const struct stanza *s, const char *name)
{
	size_t n = strlen(name);
	const char *end = s->text + s->len;
	for (const char *line = s->text; line && line < end; line = memchr(line, '\n', (size_t)(end - line))) {
		if (*line == '\n')
			line++;
		if ((size_t)(end - line) <= n || strncmp(line, name, n) != 0 || line[n] != ':')
			continue;
		const char *value = line + n + 1;
		while (value < end && *value == ' ')
			value++;
		const char *stop = memchr(value, '\n', (size_t)(end - value));
		return strndup(value, (size_t)((stop ? stop : end) - value));
	}
	return NULL;
}

static int from_hex(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* "1%3a9.2" -> "1:9.2", in place. */
static void unquote(char *s)
{
	char *to = s;
	for (; *s; s++) {
		int high = *s == '%' ? from_hex(s[1]) : -1;
		int low = high >= 0 ? from_hex(s[2]) : -1;
		if (low >= 0) {
			*to++ = (char)(high * 16 + low);
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* A line of --print-uris: 'URL' NAME_VERSION_ARCH.deb SIZE SHA256:HEX. */
struct uri_line {
	char *url;
	char *name; /* "name=version" */
	int64_t bytes;
	char sha256[DIGEST_HEX_BYTES];
};

static void uri_line_fini(struct uri_line *u)
{
	free(u->url);
	free(u->name);
}

static bool parse_line(const char *line, size_t len, struct uri_line *ret)
{
	AUTO_STR text = strndup(line, len);
	char *save = NULL;
	char *url = text ? strtok_r(text, " ", &save) : NULL;
	char *file = url ? strtok_r(NULL, " ", &save) : NULL;
	char *size = file ? strtok_r(NULL, " ", &save) : NULL;
	char *sum = size ? strtok_r(NULL, " ", &save) : NULL;
	if (!sum || strncmp(sum, "SHA256:", 7) != 0 || strlen(sum + 7) != DIGEST_HEX_BYTES - 1)
		return false;
	size_t n = strlen(url);
	char *version = strchr(file, '_');
	char *arch = strrchr(file, '_');
	if (n < 3 || url[0] != '\'' || url[n - 1] != '\'' || !version || arch == version)
		return false;
	char *end;
	errno = 0;
	ret->bytes = strtoll(size, &end, 10);
	if (errno || *end || end == size || ret->bytes < 0)
		return false;
	*version++ = '\0';
	*arch = '\0';
	unquote(version);
	memcpy(ret->sha256, sum + 7, DIGEST_HEX_BYTES);
	url[n - 1] = '\0';
	url++;
	/* the private world reads file: mirrors by copy:, and apt writes one slash where others want three */
	ret->url = strncmp(url, "copy:", 5) == 0 ? str_printf("file://%s", url + 5) : strdup(url);
	ret->name = str_printf("%s=%s", file, version);
	return ret->url && ret->name;
}

/* Takes the next line that names a file off *at. 1: got one; 0: the end; -EBADMSG. */
static int next_line(const char **at, struct uri_line *ret, struct err *e)
{
	while (**at) {
		const char *line = *at;
		size_t len = strcspn(line, "\n");
		*at = line + len + (line[len] == '\n');
		if (line[0] != '\'')
			continue; /* a warning */
		if (parse_line(line, len, ret))
			return 1;
		uri_line_fini(ret);
		return err_set(e, -EBADMSG, "apt-get printed a line that is not understood: %.*s", (int)len, line);
	}
	return 0;
}

int resolution_parse_names(const char *uris, char ***ret, struct err *e)
{
	AUTO_STRINGS names = calloc(1, sizeof(*names));
	for (;;) {
		struct uri_line u = { 0 };
		int rc = next_line(&uris, &u, e);
		if (rc <= 0) {
			if (rc == 0)
				*ret = steal(names);
			return rc;
		}
		rc = words_add(&names, steal(u.name), e);
		uri_line_fini(&u);
		if (rc < 0)
			return rc;
	}
}

/* The stanza whose SHA256 is the line's. */
static bool find_stanza(const char *stanzas, const struct uri_line *u, struct stanza *ret)
{
	const char *at = stanzas;
	while (next_stanza(&at, ret)) {
		AUTO_STR sum = field_of(ret, "SHA256");
		if (sum && strcmp(sum, u->sha256) == 0)
			return true;
	}
	return false;
}

/* The stanza, with its Filename replaced, so that it describes a file beside the index. */
static void add_stanza(struct buf *b, const struct stanza *s, const char *file)
{
	const char *end = s->text + s->len;
	for (const char *line = s->text; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((stop ? stop : end) - line);
		if (n > 9 && strncmp(line, "Filename:", 9) == 0)
			buf_printf(b, "Filename: ./%s\n", file);
		else
			buf_printf(b, "%.*s\n", (int)n, line);
		line += n + 1;
	}
	buf_str(b, "\n");
}

struct entry {
	char *name, *stanza;
	struct plan_source deb;
};

static int by_file(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->deb.file, ((const struct entry *)b)->deb.file);
}

static int make_entry(const struct uri_line *u, const char *stanzas, struct entry *ret, struct err *e)
{
	struct stanza s;
	if (!find_stanza(stanzas, u, &s))
		return err_set(e, -EBADMSG, "apt-cache shows no package '%s' with SHA-256 %s", u->name, u->sha256);
	AUTO_STR path = field_of(&s, "Filename");
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *file = slash ? slash + 1 : path;
	if (!file || !file[0])
		return err_set(e, -EBADMSG, "the stanza of '%s' names no file", u->name);
	AUTO_BUF b;
	buf_init(&b, INDEX_MAX_BYTES);
	add_stanza(&b, &s, file);
	ret->name = strdup(u->name);
	ret->deb.url = strdup(u->url);
	ret->deb.file = strdup(file);
	ret->deb.bytes = u->bytes;
	memcpy(ret->deb.sha256, u->sha256, DIGEST_HEX_BYTES);
	ret->stanza = buf_steal(&b);
	return ret->name && ret->deb.url && ret->deb.file && ret->stanza ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void entries_free(struct entry *entries, size_t count)
{
	for (size_t i = 0; entries && i < count; i++) {
		free(entries[i].name);
		free(entries[i].stanza);
		free(entries[i].deb.url);
		free(entries[i].deb.file);
	}
	free(entries);
}

static int parse_entries(const char *uris, const char *stanzas, struct entry **entries, size_t *count, struct err *e)
{
	for (;;) {
		struct uri_line u = { 0 };
		int rc = next_line(&uris, &u, e);
		if (rc <= 0)
			return rc;
		struct entry *grown = realloc(*entries, (*count + 1) * sizeof(*grown));
		if (grown) {
			*entries = grown;
			memset(&grown[*count], 0, sizeof(*grown));
			rc = make_entry(&u, stanzas, &grown[(*count)++], e);
		} else {
			rc = err_set(e, -ENOMEM, "out of memory");
		}
		uri_line_fini(&u);
		if (rc < 0)
			return rc;
	}
}

static int digest_resolution(const struct resolution *r, char ret[DIGEST_HEX_BYTES])
{
	AUTO(digest) d = digest_new();
	if (!d)
		return -ENOMEM;
	digest_add_field(d, "resolution 1");
	for (size_t i = 0; i < r->count; i++) {
		char bytes[24];
		snprintf(bytes, sizeof(bytes), "%" PRId64, r->debs[i].bytes);
		digest_add_field(d, r->names[i]);
		digest_add_field(d, r->debs[i].url);
		digest_add_field(d, r->debs[i].file);
		digest_add_field(d, r->debs[i].sha256);
		digest_add_field(d, bytes);
	}
	digest_add_field(d, r->index);
	digest_hex(d, ret);
	return 0;
}

/* Takes the entries' strings. */
static int from_entries(struct entry *entries, size_t count, struct resolution **ret, struct err *e)
{
	AUTO(resolution) r = calloc(1, sizeof(*r));
	AUTO_BUF b;
	buf_init(&b, INDEX_MAX_BYTES);
	buf_str(&b, "");
	if (!r || !(r->names = calloc(count + 1, sizeof(*r->names))) ||
	    !(r->debs = calloc(count + 1, sizeof(*r->debs))))
		return err_set(e, -ENOMEM, "out of memory");
	if (count > 0)
		qsort(entries, count, sizeof(*entries), by_file);
	for (; r->count < count; r->count++) {
		struct entry *entry = &entries[r->count];
		r->names[r->count] = steal(entry->name);
		r->debs[r->count] = entry->deb;
		memset(&entry->deb, 0, sizeof(entry->deb));
		buf_str(&b, entry->stanza);
	}
	if (!(r->index = buf_steal(&b)) || digest_resolution(r, r->digest) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = steal(r);
	return 0;
}

int resolution_parse(const char *uris, const char *stanzas, struct resolution **ret, struct err *e)
{
	struct entry *entries = NULL;
	size_t count = 0;
	int rc = parse_entries(uris, stanzas, &entries, &count, e);
	if (rc == 0)
		rc = from_entries(entries, count, ret, e);
	entries_free(entries, count);
	return rc;
}

void resolution_free(struct resolution *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->debs && i < r->count; i++) {
		free(r->debs[i].url);
		free(r->debs[i].file);
	}
	own_free_strings(&r->names);
	free(r->debs);
	free(r->index);
	free(r);
}

const char *resolution_version(const struct resolution *r, const char *package)
{
	size_t n = strlen(package);
	for (size_t i = 0; i < r->count; i++)
		if (strncmp(r->names[i], package, n) == 0 && r->names[i][n] == '=')
			return r->names[i] + n + 1;
	return NULL;
}

json_t *resolution_json(const struct resolution *r)
{
	AUTO_JSON debs = json_array();
	for (size_t i = 0; debs && i < r->count; i++) {
		json_t *row =
			json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", r->names[i], "url", r->debs[i].url, "file",
				  r->debs[i].file, "sha256", r->debs[i].sha256, "bytes", (json_int_t)r->debs[i].bytes);
		if (!row || json_array_append_new(debs, row) < 0)
			return NULL;
	}
	if (!debs)
		return NULL;
	return json_pack("{s:s, s:O, s:s}", "digest", r->digest, "debs", debs, "index", r->index);
}

int resolution_from_json(const json_t *j, struct resolution **ret, struct err *e)
{
	AUTO(resolution) r = calloc(1, sizeof(*r));
	const char *digest, *index;
	json_t *debs;
	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	if (json_unpack((json_t *)j, "{s:s, s:o, s:s}", "digest", &digest, "debs", &debs, "index", &index) < 0)
		return err_set(e, -EBADMSG, "this is not a resolution");
	size_t count = json_array_size(debs);
	r->names = calloc(count + 1, sizeof(*r->names));
	r->debs = calloc(count + 1, sizeof(*r->debs));
	r->index = strdup(index);
	if (!r->names || !r->debs || !r->index)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const char *name, *url, *file, *sum;
		json_int_t bytes;
		struct plan_source *deb = &r->debs[i];
		if (json_unpack(json_array_get(debs, i), "{s:s, s:s, s:s, s:s, s:I}", "name", &name, "url", &url,
				"file", &file, "sha256", &sum, "bytes", &bytes) < 0 ||
		    strlen(sum) != DIGEST_HEX_BYTES - 1)
			return err_set(e, -EBADMSG, "entry %zu of this resolution is damaged", i);
		r->names[i] = strdup(name);
		r->count = i + 1;
		deb->url = strdup(url);
		deb->file = strdup(file);
		deb->bytes = bytes;
		memcpy(deb->sha256, sum, DIGEST_HEX_BYTES);
		if (!r->names[i] || !deb->url || !deb->file)
			return err_set(e, -ENOMEM, "out of memory");
	}
	if (digest_resolution(r, r->digest) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	if (strcmp(r->digest, digest) != 0)
		return err_set(e, -EBADMSG, "this resolution is damaged: its digest differs");
	*ret = steal(r);
	return 0;
}
