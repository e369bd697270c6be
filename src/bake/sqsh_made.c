/* SPDX-License-Identifier: MIT */
#include "bake/sqsh_made.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/json.h"
#include "base/own.h"
#include "base/state.h"

#define MADE_MAX 65536
#define MADE_FORMAT 1 /* goes up when the same layers make another file */

/* STATE/images/made/<digest of the output's whole path>.json */
static char *made_path(const char *output)
{
	char digest[DIGEST_HEX_BYTES];
	AUTO_STR dir = NULL;
	AUTO_STR whole = realpath(output, NULL);

	if (!whole || state_dir("images/made", &dir, NULL) < 0)
		return NULL;
	digest_of(whole, strlen(whole), digest);
	return str_printf("%s/%s.json", dir, digest);
}

/* Everything the file depends on, as one digest. */
static int made_input(const struct target_input *in, char ret[DIGEST_HEX_BYTES])
{
	AUTO(digest) d = digest_new();
	if (!d)
		return -ENOMEM;
	digest_add_field(d, in->plan->key);
	for (size_t i = 0; i < in->layer_count; i++)
		digest_add_field(d, in->layers[i].diff_id);
	digest_hex(d, ret);
	return 0;
}

static json_int_t made_time(const struct stat *st)
{
	return (json_int_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

int sqsh_made_write(const struct target_input *in, struct target_output *ret, struct err *e)
{
	char input[DIGEST_HEX_BYTES];
	struct stat st;
	AUTO_STR path = made_path(in->output);
	if (stat(in->output, &st) < 0)
		return err_sys(e, "look at %s", in->output);
	if (!path || made_input(in, input) < 0)
		return err_set(e, -ENOMEM, "out of memory for a note on %s", in->output);

	ret->bytes = st.st_size;
	AUTO_JSON json = json_pack("{s:i s:s s:s s:I s:I}", "format", MADE_FORMAT, "input", input, "digest",
				   ret->digest, "bytes", (json_int_t)st.st_size, "time_ns", made_time(&st));
	AUTO_STR text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	if (!text)
		return err_set(e, -ENOMEM, "out of memory for a note on %s", in->output);
	return fdio_write_file(AT_FDCWD, path, text, strlen(text), 0644, e);
}

bool sqsh_made_read(const struct target_input *in, struct target_output *ret)
{
	char input[DIGEST_HEX_BYTES];
	struct stat st;
	AUTO_STR text = NULL;
	AUTO_STR path = made_path(in->output);

	if (!path || made_input(in, input) < 0 || stat(in->output, &st) < 0 ||
	    fdio_read_file(AT_FDCWD, path, MADE_MAX, &text, NULL, NULL) < 0)
		return false;
	AUTO_JSON json = json_loads(text, 0, NULL);
	const char *noted = json_string_value(json_object_get(json, "input"));
	const char *digest = json_string_value(json_object_get(json, "digest"));
	if (!noted || !digest || strcmp(noted, input) != 0 || strlen(digest) >= sizeof(ret->digest) ||
	    json_integer_value(json_object_get(json, "format")) != MADE_FORMAT ||
	    json_integer_value(json_object_get(json, "bytes")) != st.st_size ||
	    json_integer_value(json_object_get(json, "time_ns")) != made_time(&st))
		return false;
	strcpy(ret->digest, digest);
	ret->bytes = st.st_size;
	return true;
}
