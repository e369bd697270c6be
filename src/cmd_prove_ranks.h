/* SPDX-License-Identifier: MIT */
/* What the verbs that need ranks share: options, finding the ranks and the fabric, mpirun, one voice at the end. */
#ifndef KILN_CMD_PROVE_RANKS_H
#define KILN_CMD_PROVE_RANKS_H

#include "base/json.h"
#include "base/opt.h"
#include "prove/team.h"

struct ranks_args {
	const char *provider;
	const char *interface;
	const char *hosts;
	int64_t ranks;
	uint32_t timeout_ms;
	bool no_pin;
};

/* Rows for a verb's option table; `at` is where struct ranks_args lies in its args. timeout_letter: nccl-tests' -T or 0. */
#define RANKS_OPTIONS(at, timeout_letter)                                                          \
	{ "provider",                                                                              \
	  0,                                                                                       \
	  OPT_STR,                                                                                 \
	  (at) + offsetof(struct ranks_args, provider),                                            \
	  "NAME",                                                                                  \
	  NULL,                                                                                    \
	  "libfabric provider to prove (default: $FI_PROVIDER, else efa, else the best there is)", \
	  NULL },                                                                                  \
		{ "interface",                                                                     \
		  0,                                                                               \
		  OPT_STR,                                                                         \
		  (at) + offsetof(struct ranks_args, interface),                                   \
		  "NAME|ADDRESS|SUBNET",                                                           \
		  NULL,                                                                            \
		  "bind to this interface (default: the one that reaches the peers)",              \
		  NULL },                                                                          \
		{ "hosts",                                                                         \
		  0,                                                                               \
		  OPT_STR,                                                                         \
		  (at) + offsetof(struct ranks_args, hosts),                                       \
		  "FILE",                                                                          \
		  NULL,                                                                            \
		  "start the ranks with mpirun on the hosts of FILE ('address slots=N' lines)",    \
		  "<file>" },                                                                      \
		{ "ranks",                                                                         \
		  0,                                                                               \
		  OPT_INT,                                                                         \
		  (at) + offsetof(struct ranks_args, ranks),                                       \
		  "N",                                                                             \
		  "0",                                                                             \
		  "how many ranks: alone 2, with --hosts one per host (transfer) or all slots",    \
		  NULL },                                                                          \
		{ "timeout",                                                                       \
		  timeout_letter,                                                                  \
		  OPT_DURATION,                                                                    \
		  (at) + offsetof(struct ranks_args, timeout_ms),                                  \
		  "TIME",                                                                          \
		  "30s",                                                                           \
		  "give up when nothing moves for this long",                                      \
		  NULL },                                                                          \
	{                                                                                          \
		"no-pin", 0, OPT_FLAG, (at) + offsetof(struct ranks_args, no_pin), NULL, NULL,     \
			"do not pin each rank to a processor", NULL                                \
	}

/* What a verb does once all ranks are on the fabric. */
struct ranks_work {
	const char *verb; /* "prove transfer" */
	bool needs_pairs; /* an odd number of ranks is refused */
	bool one_per_host;
	/* Gives the exit status, the same on all ranks. Only rank 0 prints. Errors: this rank's, or agreed ones. */
	int (*run)(struct team *t, const void *args, int *ret_status, struct err *e);
};

/* From options to exit status: starts mpirun for --hosts, else joins the ranks, opens the fabric and runs the work. */
int cmd_prove_ranks_run(const struct ranks_work *work, const struct ranks_args *ranks, const void *args);
/* What rank 0 does with the result: JSON to standard output when `print`, and to the file `output` unless NULL. -ENOMEM (also
 * for json == NULL), or as fdio_write_file. */
int cmd_prove_ranks_report(const json_t *json, const char *output, bool print, struct err *e);
/* The words this process was started with: a NULL-ended list (AUTO_STRINGS); NULL when they cannot be read. */
char **cmd_prove_ranks_words(void);

#endif
