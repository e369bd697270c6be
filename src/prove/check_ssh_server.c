/* SPDX-License-Identifier: MIT */
/* sshd has its host keys, nobody else can read them, and it accepts no passwords. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/own.h"
#include "prove/check_rows.h"
#include "prove/check_ssh.h"

/* The first value outside any Match block counts. */
struct seen {
	char password[64], interactive[64];
	char password_at[300], interactive_at[300];
	char matched[400]; /* a Match block that lets passwords in */
};

static void note(void *arg, const struct check_ssh_line *l)
{
	struct seen *s = arg;
	bool password = strcasecmp(l->keyword, "PasswordAuthentication") == 0;
	bool interactive = strcasecmp(l->keyword, "KbdInteractiveAuthentication") == 0 ||
			   strcasecmp(l->keyword, "ChallengeResponseAuthentication") == 0;
	if (!password && !interactive)
		return;
	if (l->within) {
		if (strcasecmp(l->value, "yes") == 0 && !*s->matched)
			snprintf(s->matched, sizeof(s->matched), "%s:%u (under \"%s\")", l->file, l->line, l->within);
		return;
	}
	char *value = password ? s->password : s->interactive;
	char *at = password ? s->password_at : s->interactive_at;
	if (*value)
		return;
	snprintf(value, 64, "%s", l->value);
	snprintf(at, 300, "%s:%u", l->file, l->line);
}

static void judge_passwords(const struct world *w, struct check_result *ret)
{
	struct seen s = { 0 };
	check_ssh_walk(w, "/etc/ssh/sshd_config", NULL, note, &s);
	/* OpenSSH's default is yes for both. */
	if (strcasecmp(s.password, "no") != 0) {
		check_worsen(ret, CHECK_WARN);
		check_add(ret, "accepts passwords (PasswordAuthentication %s)",
			  *s.password ? s.password_at : "is not set, which means yes");
	}
	if (strcasecmp(s.interactive, "no") != 0) {
		check_worsen(ret, CHECK_WARN);
		check_add(ret, "accepts passwords by PAM (KbdInteractiveAuthentication %s)",
			  *s.interactive ? s.interactive_at : "is not set, which means yes");
	}
	if (*s.matched) {
		check_worsen(ret, CHECK_WARN);
		check_add(ret, "accepts passwords for some: %s", s.matched);
	}
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	static const char *const kinds[] = { "ed25519", "ecdsa", "rsa", NULL };
	const struct world *w = c->world;
	unsigned keys = 0;
	(void)e;
	if (!world_exists(w, "/usr/sbin/sshd"))
		return check_skip(ret, "no sshd here (/usr/sbin/sshd)");
	check_pass(ret, "%s", "");
	for (const char *const *k = kinds; *k; k++) {
		char path[64];
		struct stat st;
		snprintf(path, sizeof(path), "/etc/ssh/ssh_host_%s_key", *k);
		AUTO_FD fd = world_open(w, path, O_PATH, NULL);
		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		keys++;
		if (st.st_mode & 077) {
			check_worsen(ret, CHECK_FAIL);
			check_add(ret, "%s has mode %04o: sshd does not use a key that others can read", path,
				  st.st_mode & 07777);
		}
	}
	judge_passwords(w, ret);
	if (!keys) {
		check_mend(ret,
			   "ssh-keygen -A (at the first boot, never in the image: then all nodes would share them)");
		return check_fail(ret, "no host key (/etc/ssh/ssh_host_*_key)");
	}
	if (ret->outcome == CHECK_PASS)
		check_pass(ret, "%u host key%s, no passwords accepted", keys, keys == 1 ? "" : "s");
	return 0;
}

const struct check check_ssh_server = {
	.id = "ssh-server",
	.what = "sshd has private host keys and accepts no passwords",
	.severity = CHECK_FAIL,
	.why = "without a host key mpirun reaches no node; with passwords on, every node of the fleet can be guessed "
	       "at",
	.mend = "\"PasswordAuthentication no\" and \"KbdInteractiveAuthentication no\" in "
		"/etc/ssh/sshd_config.d/10-kiln.conf",
	.source = "https://man.openbsd.org/sshd_config",
	.run = run,
};
