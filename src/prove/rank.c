/* SPDX-License-Identifier: MIT */
#include "prove/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fdio.h"

/* A launcher's set comes before being alone. */
const struct rank_ops *const rank_rows[] = { &rank_pmix, &rank_env, &rank_fork, NULL };

/* What an agreement sends. */
struct verdict {
	int32_t code;
	int32_t space;
	int64_t native;
	char msg[ERR_MSG_BYTES];
};

static void describe_self(struct rank_member *ret)
{
	AUTO_STR boot = NULL;
	struct stat st;

	gethostname(ret->host, sizeof(ret->host) - 1);
	ret->pid = getpid();
	if (fdio_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 128, &boot, NULL, NULL) == 0)
		snprintf(ret->machine, sizeof(ret->machine), "%.*s", (int)strcspn(boot, "\n"), boot);
	else
		snprintf(ret->machine, sizeof(ret->machine), "%.39s", ret->host);
	if (stat("/proc/self/ns/net", &st) == 0)
		ret->network = st.st_ino;
}

static int meet(struct rank_set *set, struct err *e)
{
	struct rank_member self = { 0 };
	int rc;

	set->members = calloc(set->size, sizeof(*set->members));
	if (!set->members)
		return err_set(e, -ENOMEM, "%u ranks", set->size);
	describe_self(&self);
	rc = rank_exchange(set, &self, sizeof(self), set->members, e);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < set->size; i++) {
		struct rank_member *m = &set->members[i];
		m->host[sizeof(m->host) - 1] = '\0';
		m->machine[sizeof(m->machine) - 1] = '\0';
		if (strcmp(m->machine, self.machine) != 0)
			continue;
		set->local_size++;
		set->local_rank += i < set->rank;
	}
	return 0;
}

int rank_open(const struct rank_ops *ops, const struct rank_options *options, struct rank_set **ret, struct err *e)
{
	AUTO(rank_set) set = calloc(1, sizeof(*set));
	int rc;

	for (size_t i = 0; rank_rows[i] && !ops; i++)
		if (rank_rows[i]->is_present())
			ops = rank_rows[i];
	if (!set || !ops) /* the last row, alone, is always there */
		return err_set(e, -ENOMEM, "rank set");
	set->options = *options;
	set->ops = ops;
	set->state = calloc(1, ops->state_size);
	if (!set->state)
		return err_set(e, -ENOMEM, "rank set");
	rc = ops->open(set, e);
	if (rc < 0)
		return rc;
	rc = meet(set, e);
	if (rc < 0)
		return rc;
	*ret = steal(set);
	return 0;
}

void rank_free(struct rank_set *set)
{
	if (!set)
		return;
	if (set->state)
		set->ops->close(set);
	free(set->state);
	free(set->members);
	free(set);
}

int rank_exchange(struct rank_set *set, const void *mine, size_t n, void *ret, struct err *e)
{
	if (n > RANK_BLOB_MAX)
		return err_set(e, -EMSGSIZE, "a rank gave %zu bytes to an exchange of at most %d", n, RANK_BLOB_MAX);
	if (set->size == 1) {
		memcpy(ret, mine, n);
		return 0;
	}
	return set->ops->exchange(set, mine, n, ret, e);
}

int rank_agree(struct rank_set *set, const struct err *mine, struct err *e)
{
	struct verdict self = { .code = mine->code, .space = (int32_t)mine->space, .native = mine->native };
	__attribute__((cleanup(own_free))) struct verdict *all = calloc(set->size, sizeof(*all));
	char who[RANK_HOST_BYTES + 32];
	int rc;

	if (!all)
		return err_set(e, -ENOMEM, "agreement of %u ranks", set->size);
	snprintf(self.msg, sizeof(self.msg), "%s", mine->msg);
	rc = rank_exchange(set, &self, sizeof(self), all, e);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < set->size; i++) {
		if (all[i].code >= 0)
			continue;
		all[i].msg[ERR_MSG_BYTES - 1] = '\0';
		err_native(e, all[i].code, (enum err_space)all[i].space, (long)all[i].native, "%s", all[i].msg);
		if (i != 0) {
			rank_text(set, i, who, sizeof(who));
			err_wrap(e, "%s", who);
		}
		set->is_agreed = true;
		return all[i].code;
	}
	return 0;
}

int rank_alive(struct rank_set *set, struct err *e)
{
	return set->size == 1 ? 0 : set->ops->alive(set, e);
}

bool rank_abandon(struct rank_set *set, const struct err *e)
{
	if (set->is_agreed)
		return set->rank == 0;
	set->ops->abandon(set, (int)err_exit_code(e), e->msg);
	return set->rank == 0 || !set->ops->carries_messages;
}

bool rank_is_first(void)
{
	const char *rank = getenv("PMIX_NAMESPACE") ? getenv("PMIX_RANK") : getenv("RANK");
	return !rank || strcmp(rank, "0") == 0;
}

bool rank_is_one_host(const struct rank_set *set)
{
	for (uint32_t i = 1; i < set->size; i++)
		if (strcmp(set->members[i].machine, set->members[0].machine) != 0 ||
		    set->members[i].network != set->members[0].network)
			return false;
	return true;
}

void rank_text(const struct rank_set *set, uint32_t rank, char *ret, size_t ret_bytes)
{
	const char *host = set->members && rank < set->size ? set->members[rank].host : "";
	if (*host)
		snprintf(ret, ret_bytes, "rank %u (%s)", rank, host);
	else
		snprintf(ret, ret_bytes, "rank %u", rank);
}
