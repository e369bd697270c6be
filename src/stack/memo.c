/* SPDX-License-Identifier: MIT */
#include "stack/memo.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"
#include "base/state.h"

#define MEMO_MAX_BYTES (64u << 20)

/* Gives STATE/locks/SNAPSHOT, or NULL. */
static char *folder_of(const char *snapshot)
{
	AUTO_STR locks = NULL;
	if (state_dir("locks", &locks, NULL) < 0)
		return NULL;
	return fdio_join(locks, snapshot);
}

json_t *memo_get(const char *snapshot, const char *key)
{
	AUTO_STR folder = folder_of(snapshot);
	AUTO_STR path = folder ? str_printf("%s/%s.json", folder, key) : NULL;
	AUTO_STR text = NULL;
	if (!path || fdio_read_file(AT_FDCWD, path, MEMO_MAX_BYTES, &text, NULL, NULL) < 0)
		return NULL;
	return json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

void memo_put(const char *snapshot, const char *key, const json_t *value)
{
	AUTO_STR folder = folder_of(snapshot);
	AUTO_STR path = folder ? str_printf("%s/%s.json", folder, key) : NULL;
	AUTO_STR text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (path && text && fdio_mkdir_p(folder, 0755, NULL) == 0)
		(void)fdio_write_file(AT_FDCWD, path, text, strlen(text), 0644, NULL);
}

void memo_forget(const char *snapshot)
{
	AUTO_STR folder = folder_of(snapshot);
	if (folder)
		(void)fdio_remove_tree(folder, NULL);
}
