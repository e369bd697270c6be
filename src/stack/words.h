/* SPDX-License-Identifier: MIT */
/* Lists of words, NULL-ended, for names, packages and NAME=value pairs; and the one message for a word that is not in
 * the list. */
#ifndef KILN_STACK_WORDS_H
#define KILN_STACK_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

/* Takes `word` (freed on failure too) and puts it at the end of *words (NULL is an empty list). -ENOMEM, also when word
 * is NULL, so that str_printf can be given directly. */
int words_add(char ***words, char *word, struct err *e);
/* Adds every string of a JSON array (NULL: none). -ENOMEM. */
int words_add_json(char ***words, const json_t *array, struct err *e);
/* Adds "NAME=value" for every member of a JSON object of strings (NULL: none), in the file's order. -ENOMEM. */
int words_add_env(char ***words, const json_t *object, struct err *e);
size_t words_count(char *const *words);
bool words_has(char *const *words, const char *word);
/* Sorts in byte order. */
void words_sort(char **words);
/* Gives the words with `between` between them; NULL when out of memory. */
char *words_join(char *const *words, const char *between);

/* ERR_INPUT at a line of a file: "unknown KIND 'WORD' (did you mean 'X'?); known: A, B". */
int words_unknown(const struct json_doc *d, const char *at, const char *kind, const char *word, char *const *known,
		  struct err *e);

/* True when every member of the array (NULL: none) is a string that consists of the characters allowed and begins with
 * a letter or digit, so that it can be put on a command line. ret_bad: the first that is not. */
bool words_are_plain(const json_t *array, const char *allowed, size_t *ret_bad);

#endif
