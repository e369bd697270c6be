/* SPDX-License-Identifier: MIT */
/* Host keys are checked when one node dials another. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "prove/check_env.h"
#include "prove/check_rows.h"
#include "prove/check_ssh.h"

static void note(void *arg, const struct check_ssh_line *l)
{
	struct check_result *ret = arg;
	bool unchecked = strcasecmp(l->keyword, "StrictHostKeyChecking") == 0 &&
			 (strcasecmp(l->value, "no") == 0 || strcasecmp(l->value, "off") == 0);
	bool forgotten = strcasecmp(l->keyword, "UserKnownHostsFile") == 0 && strcmp(l->value, "/dev/null") == 0;
	if (!unchecked && !forgotten)
		return;
	check_worsen(ret, CHECK_WARN);
	check_add(ret, "%s:%u: %s %s%s%s%s", l->file, l->line, l->keyword, l->value, l->within ? " (under \"" : "",
		  l->within ? l->within : "", l->within ? "\")" : "");
}

/* mpirun may be told to switch it off, too. */
static void note_mpi(const struct world *w, struct check_result *ret)
{
	static const char *const files[] = { "/etc/openmpi/openmpi-mca-params.conf",
					     "/opt/amazon/openmpi/etc/openmpi-mca-params.conf",
					     "/opt/amazon/openmpi5/etc/openmpi-mca-params.conf", NULL };
	for (const char *const *f = files; *f; f++) {
		AUTO_STR text = NULL;
		char *save = NULL;
		if (world_read(w, *f, &text, NULL) < 0)
			continue;
		for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			line += strspn(line, " \t");
			if (*line == '#' || !strcasestr(line, "StrictHostKeyChecking") || !strcasestr(line, "no"))
				continue;
			check_worsen(ret, CHECK_WARN);
			check_add(ret, "%s: %s", *f, line);
		}
	}
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO(check_env) env = NULL;
	char path[512];
	int r = check_env_load(c->world, &env, e);
	if (r < 0)
		return r;
	const struct check_env_row *home = check_env_find(env, "HOME");
	const char *dir = home && *home->value == '/' ? home->value : "/root";
	snprintf(path, sizeof(path), "%s/.ssh/config", dir);
	check_pass(ret, "%s", "");
	check_ssh_walk(c->world, path, dir, note, ret);
	check_ssh_walk(c->world, "/etc/ssh/ssh_config", dir, note, ret);
	note_mpi(c->world, ret);
	if (ret->outcome == CHECK_PASS)
		check_pass(ret, "no setting switches it off (%s, /etc/ssh/ssh_config, mpirun's parameters)", path);
	return 0;
}

const struct check check_ssh_client = {
	.id = "ssh-client",
	.what = "host keys are checked when one node dials another",
	.severity = CHECK_WARN,
	.why = "a machine that takes a node's address is believed and given the job's data and credentials",
	.mend = "write the nodes' keys to /etc/ssh/ssh_known_hosts before the first connection (kiln launch does) and "
		"remove the setting",
	.source = "https://man.openbsd.org/ssh_config#StrictHostKeyChecking",
	.run = run,
};
