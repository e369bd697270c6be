/* SPDX-License-Identifier: MIT */
#include "cmd_prove_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fdio.h"
#include "base/own.h"
#include "prove/mpirun.h"

#define MAX_WORDS_BYTES (1 << 20)
#define RANKS_ALONE 2
#define RANKS_MOST 65536
#define MPIRUN_GRACE_MS 10000 /* for mpirun to end after a rank has failed */

extern char **environ;

char **cmd_prove_ranks_words(void)
{
	AUTO_STR text = NULL;
	size_t n, count = 0;

	if (fdio_read_file(AT_FDCWD, "/proc/self/cmdline", MAX_WORDS_BYTES, &text, &n, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		count += text[i] == '\0';
	char **words = calloc(count + 2, sizeof(*words));
	count = 0;
	for (size_t i = 0; words && i < n; i += strlen(text + i) + 1)
		words[count++] = strdup(text + i);
	return words;
}

int cmd_prove_ranks_report(const json_t *json, const char *output, bool print, struct err *e)
{
	AUTO_STR text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

	if (!text)
		return err_set(e, -ENOMEM, "the report");
	if (print)
		json_print(json, stdout);
	return output ? fdio_write_file(AT_FDCWD, output, text, strlen(text), 0644, e) : 0;
}

/* What each rank shall run: this program, the same words, without those that are only for the launcher. */
static int program_of_ranks(const char *verb, char ***ret, struct err *e)
{
	static const char *const ours[] = { "--hosts", "--ranks" };
	AUTO_STRINGS words = cmd_prove_ranks_words();
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	AUTO_STRINGS out = NULL;
	size_t count = 0, total = 0;
	bool called_by_verb;

	if (!words || !words[0] || n < 0)
		return err_set(e, -EIO, "cannot read this program's own command line from /proc");
	exe[n] = '\0';
	while (words[total])
		total++;
	out = calloc(total + 4, sizeof(*out));
	if (!out)
		return err_set(e, -ENOMEM, "arguments");
	called_by_verb = words[1] && strcmp(words[1], "prove") == 0;
	out[count++] = strdup(exe);
	if (!called_by_verb) { /* as all_reduce_perf or nccl_message_transfer */
		out[count++] = strdup("prove");
		out[count++] = strdup(verb + strlen("prove "));
	}
	for (size_t i = 1; i < total; i++) {
		bool skip = false;
		for (size_t j = 0; j < COUNT_OF(ours) && !skip; j++) {
			size_t length = strlen(ours[j]);
			skip = strncmp(words[i], ours[j], length) == 0 &&
			       (!words[i][length] || words[i][length] == '=');
			if (skip && !words[i][length])
				i++;
		}
		if (!skip)
			out[count++] = steal(words[i]);
	}
	/* Stealing left holes, and a list ends at its first NULL. */
	for (size_t i = 0; i < total; i++)
		if (!words[i])
			words[i] = strdup("");
	*ret = steal(out);
	return 0;
}

static int launch(const struct ranks_work *work, const struct ranks_args *ranks, int *ret_status, struct err *e)
{
	AUTO(hosts) hosts = NULL;
	AUTO_STRINGS program = NULL;
	AUTO_STRINGS argv = NULL;
	AUTO_STR subnet = NULL;
	AUTO_STR text = NULL;
	struct mpirun_options o = { .hosts_path = ranks->hosts, .is_root = geteuid() == 0, .environment = environ };
	int rc = hosts_read(ranks->hosts, &hosts, e);

	if (rc == 0)
		rc = program_of_ranks(work->verb, &program, e);
	if (rc < 0)
		return rc;
	o.hosts = hosts;
	o.program = program;
	subnet = mpirun_subnet(hosts);
	o.subnet = subnet;
	o.one_per_host = work->one_per_host && hosts->count > 1 && !ranks->ranks;
	o.ranks = ranks->ranks ? (uint32_t)ranks->ranks : o.one_per_host ? (uint32_t)hosts->count : hosts->slots;
	if (o.ranks > hosts->slots)
		return err_input(e, "%u ranks, but %s has %u slots", o.ranks, ranks->hosts, hosts->slots);
	if (work->needs_pairs && o.ranks % 2)
		return err_input(e, "%s: %u ranks cannot be paired; give an even number of hosts, or --ranks",
				 ranks->hosts, o.ranks);
	rc = mpirun_arguments(&o, &argv, e);
	if (rc < 0)
		return rc;
	text = mpirun_text(argv);
	fprintf(stderr, "+ %s\n", text ? text : "mpirun");
	return mpirun_run(argv, MPIRUN_GRACE_MS, ret_status, e);
}

/* Joins the ranks and does the work. Gives set also on failure, when it was opened. */
static int join(const struct ranks_work *work, const struct ranks_args *ranks, const void *args, struct rank_set **set,
		int *ret_status, struct err *e)
{
	const struct rank_options how = { .local_ranks = ranks->ranks ? (uint32_t)ranks->ranks : RANKS_ALONE,
					  .timeout_ms = ranks->timeout_ms };
	const struct team_options options = { .provider = ranks->provider,
					      .interface = ranks->interface,
					      .timeout_ms = ranks->timeout_ms,
					      .is_unpinned = ranks->no_pin };
	AUTO(team) team = NULL;
	struct err good = { 0 };
	int rc = rank_open(NULL, &how, set, e);

	if (rc < 0)
		return rc;
	if (work->needs_pairs && (*set)->size % 2) {
		(*set)->is_agreed = true; /* all see the same number */
		return err_input(e, "%u rank%s cannot be paired; start an even number", (*set)->size,
				 (*set)->size == 1 ? "" : "s");
	}
	rc = team_open(*set, &options, &team, e);
	if (rc < 0)
		return rc;
	if ((*set)->rank == 0 && team->provider->warning)
		fprintf(stderr, "kiln %s: warning: %s\n", work->verb, team->provider->warning);
	rc = work->run(team, args, ret_status, e);
	/* Nobody leaves while another still needs it. */
	return rc < 0 ? rc : rank_agree(*set, &good, e);
}

int cmd_prove_ranks_run(const struct ranks_work *work, const struct ranks_args *ranks, const void *args)
{
	AUTO(rank_set) set = NULL;
	struct err e = { 0 };
	int status = EXIT_GOOD;
	int rc;

	if (ranks->ranks < 0 || ranks->ranks > RANKS_MOST)
		rc = err_input(&e, "--ranks %lld: expected 1 to %d", (long long)ranks->ranks, RANKS_MOST);
	else if (ranks->timeout_ms == 0)
		rc = err_input(&e, "--timeout 0: a wait without end is never right; give a time");
	else if (ranks->hosts)
		rc = launch(work, ranks, &status, &e);
	else
		rc = join(work, ranks, args, &set, &status, &e);
	if (rc == 0)
		return status;
	if (set ? rank_abandon(set, &e) : true)
		return opt_fail(work->verb, &e);
	return (int)err_exit_code(&e);
}
