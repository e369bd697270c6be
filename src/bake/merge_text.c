/* SPDX-License-Identifier: MIT */
#include "bake/merge_text.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define MERGE_TEXT_MAX ((size_t)64 << 20)

void merge_text_free(struct merge_text *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++) {
		free(t->records[i].key);
		free(t->records[i].text);
	}
	free(t->records);
	free(t);
}

/* The field'th part of a line: its start, and its length in *ret_len. */
static const char *line_field(const char *line, char separator, int field, size_t *ret_len)
{
	size_t len = strcspn(line, "\n");
	const char *at = line, *end = line + len;

	if (field < 0) {
		for (const char *c = line; c < end; c++)
			if (*c == separator)
				at = c + 1;
		*ret_len = (size_t)(end - at);
		return at;
	}
	for (int i = 0; i < field; i++) {
		const char *next = memchr(at, separator, (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	const char *stop = memchr(at, separator, (size_t)(end - at));
	*ret_len = (size_t)((stop ? stop : end) - at);
	return at;
}

/* The value of "Name: value" in a stanza, its first line; NULL when it is not there. */
static const char *stanza_field(const char *text, const char *name, size_t name_len, size_t *ret_len)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		if (len > name_len && strncmp(line, name, name_len) == 0 && line[name_len] == ':') {
			const char *value = line + name_len + 1;
			value += strspn(value, " \t");
			*ret_len = value < line + len ? (size_t)(line + len - value) : 0;
			return value;
		}
		line += len + (line[len] == '\n');
	}
	return NULL;
}

static char *record_key(const struct merge_rule *rule, const char *text)
{
	size_t len = strcspn(text, "\n");
	AUTO_BUF key;

	buf_init(&key, 4096);
	if (rule->lines > 0) {
		const char *at = rule->separator ? line_field(text, rule->separator, rule->key_field, &len) : text;
		return strndup(at, len);
	}
	for (const char *name = rule->key_fields; *name;) {
		size_t name_len = strcspn(name, " ");
		const char *value = stanza_field(text, name, name_len, &len);
		buf_add(&key, value ? value : "", value ? len : 0);
		buf_add(&key, " ", 1);
		name += name_len + (name[name_len] == ' ');
	}
	while (key.failed == 0 && key.len > 0 && key.data[key.len - 1] == ' ')
		key.data[--key.len] = '\0';
	return buf_steal(&key);
}

static struct merge_record *text_find(const struct merge_text *t, const char *key)
{
	for (size_t i = 0; t && i < t->count; i++)
		if (strcmp(t->records[i].key, key) == 0)
			return &t->records[i];
	return NULL;
}

/* Takes key and text. */
static int text_add(struct merge_text *t, char *key, char *text, size_t side, struct err *e)
{
	struct merge_record *more = NULL;
	/* Room doubles: asked for when the count is a power of two. */
	if (key && text && (t->count & (t->count - 1)) == 0)
		more = realloc(t->records, (t->count ? t->count * 2 : 1) * sizeof(*more));
	else if (key && text)
		more = t->records;
	if (!more) {
		free(key);
		free(text);
		return err_set(e, -ENOMEM, "out of memory for joining files");
	}
	t->records = more;
	more[t->count++] = (struct merge_record){ key, text, side };
	return 0;
}

/* The length of the record that begins at text. */
static size_t record_length(const struct merge_rule *rule, const char *text)
{
	const char *at = text;

	for (unsigned line = 0; *at && (rule->lines == 0 || line < rule->lines); line++) {
		size_t len = strcspn(at, "\n");
		if (rule->lines == 0 && len == 0)
			break;
		at += len + (at[len] == '\n');
	}
	return (size_t)(at - text);
}

int merge_text_new(const struct merge_rule *rule, const char *text, size_t side, struct merge_text **ret, struct err *e)
{
	AUTO(merge_text) t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, -ENOMEM, "out of memory for joining files");
	t->rule = rule;
	for (const char *at = text; at && *at;) {
		if (*at == '\n') {
			at++;
			continue;
		}
		size_t len = record_length(rule, at);
		int rc = text_add(t, record_key(rule, at), strndup(at, len), side, e);
		if (rc < 0)
			return rc;
		at += len;
	}
	*ret = steal(t);
	return 0;
}

/* Where the list of a record begins: "a,b" of the last field of a line, "a, b" of a stanza's field. */
static const char *record_list(const struct merge_rule *rule, const char *text, size_t *ret_len)
{
	if (rule->lines > 0)
		return line_field(text, rule->separator, -1, ret_len);
	return stanza_field(text, rule->list_field, strlen(rule->list_field), ret_len);
}

static bool list_has(const char *list, size_t len, const char *item, size_t item_len)
{
	for (size_t at = 0; at < len;) {
		size_t n = 0;
		while (at + n < len && list[at + n] != ',')
			n++;
		const char *one = list + at;
		size_t skip = strspn(one, " ");
		if (n >= skip && n - skip == item_len && memcmp(one + skip, item, item_len) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* a's record with the members of b's list that it lacks; NULL when they differ in more than the list. */
static char *record_join(const struct merge_rule *rule, const char *a, const char *b)
{
	size_t a_len = 0, b_len = 0;
	AUTO_BUF out;
	buf_init(&out, MERGE_TEXT_MAX);
	if (!rule->list_field)
		return NULL;
	const char *a_list = record_list(rule, a, &a_len), *b_list = record_list(rule, b, &b_len);
	if (!a_list || !b_list || a_list - a != b_list - b || memcmp(a, b, (size_t)(a_list - a)) != 0 ||
	    strcmp(a_list + a_len, b_list + b_len) != 0)
		return NULL;

	buf_add(&out, a, (size_t)(a_list - a) + a_len);
	bool empty = a_len == 0;
	for (size_t at = 0; at < b_len;) {
		size_t n = 0;
		while (at + n < b_len && b_list[at + n] != ',')
			n++;
		size_t skip = strspn(b_list + at, " ");
		if (n > skip && !list_has(a_list, a_len, b_list + at + skip, n - skip)) {
			buf_str(&out, empty ? "" : rule->lines > 0 ? "," : ", ");
			buf_add(&out, b_list + at + skip, n - skip);
			empty = false;
		}
		at += n + 1;
	}
	buf_str(&out, a_list + a_len);
	return buf_steal(&out);
}

static bool record_equal(const struct merge_record *a, const struct merge_record *b)
{
	return a == b || (a && b && strcmp(a->text, b->text) == 0);
}

static int text_set(struct merge_text *t, struct merge_record *old, const struct merge_record *fresh, struct err *e)
{
	if (!old)
		return text_add(t, strdup(fresh->key), strdup(fresh->text), fresh->side, e);
	char *text = strdup(fresh->text);
	if (!text)
		return err_set(e, -ENOMEM, "out of memory for joining files");
	free(old->text);
	old->text = text;
	old->side = fresh->side;
	return 0;
}

static void text_remove(struct merge_text *t, struct merge_record *r)
{
	free(r->key);
	free(r->text);
	memmove(r, r + 1, (size_t)(t->records + t->count - (r + 1)) * sizeof(*r));
	t->count--;
}

static int text_apply_one(struct merge_text *t, const struct merge_record *before, const struct merge_record *after,
			  struct merge_clash *clash, struct err *e)
{
	struct merge_record *now = text_find(t, after->key);

	if (record_equal(before, after) || record_equal(now, after))
		return 0;
	if (record_equal(now, before))
		return text_set(t, now, after, e);
	char *joined = now ? record_join(t->rule, now->text, after->text) : NULL;
	if (joined) {
		free(now->text);
		now->text = joined;
		now->side = after->side;
		return 0;
	}
	*clash = (struct merge_clash){ after->key, now ? now->side : 0 };
	return -EEXIST;
}

int merge_text_apply(struct merge_text *t, const struct merge_text *before, const struct merge_text *after,
		     struct merge_clash *ret_clash, struct err *e)
{
	for (size_t i = 0; i < after->count; i++) {
		const struct merge_record *r = &after->records[i];
		int rc = text_apply_one(t, text_find(before, r->key), r, ret_clash, e);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < before->count; i++) {
		const struct merge_record *r = &before->records[i];
		struct merge_record *now = text_find(t, r->key);
		if (!now || text_find(after, r->key))
			continue;
		if (!record_equal(now, r)) {
			*ret_clash = (struct merge_clash){ r->key, now->side };
			return -EEXIST;
		}
		text_remove(t, now);
	}
	return 0;
}

bool merge_text_same_number(const struct merge_text *t, const struct merge_record **ret_a,
			    const struct merge_record **ret_b)
{
	for (size_t i = 0; t->rule->number_field > 0 && i < t->count; i++) {
		for (size_t j = 0; j < i; j++) {
			size_t a_len = 0, b_len = 0;
			const struct merge_record *a = &t->records[j], *b = &t->records[i];
			const char *x = line_field(a->text, t->rule->separator, t->rule->number_field, &a_len);
			const char *y = line_field(b->text, t->rule->separator, t->rule->number_field, &b_len);
			if (a->side == b->side || a_len == 0 || a_len != b_len || memcmp(x, y, a_len) != 0)
				continue;
			*ret_a = a;
			*ret_b = b;
			return true;
		}
	}
	return false;
}

char *merge_text_join(const struct merge_text *t)
{
	AUTO_BUF out;

	buf_init(&out, MERGE_TEXT_MAX);
	for (size_t i = 0; i < t->count; i++) {
		const char *text = t->records[i].text;
		size_t len = strlen(text);
		buf_add(&out, text, len);
		if (len && text[len - 1] != '\n')
			buf_str(&out, "\n");
		if (t->rule->lines == 0)
			buf_str(&out, "\n");
	}
	buf_str(&out, "");
	return buf_steal(&out);
}
