/* SPDX-License-Identifier: MIT */
/* Against the libfabric of this machine; it has TCP everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/provider.h"

static void test_it_asks_for_no_more_than_the_library_has(void **state)
{
	const struct libfabric *lib;

	(void)state;
	assert_int_equal(libfabric_load(&lib, NULL), 0);
	assert_true(lib->version <= lib->library_version);
	assert_non_null(strstr(lib->path, "libfabric.so"));
}

static void test_a_core_name_finds_its_reliable_endpoint(void **state)
{
	AUTO(provider) p = NULL;
	struct err e = { 0 };

	(void)state;
	if (provider_open("tcp", "127.0.0.1", &p, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(strncmp(p->name, "tcp", 3), 0);
	assert_int_equal(p->info->ep_attr->type, FI_EP_RDM);
	assert_false(p->is_rdma);
	assert_non_null(p->info->src_addr); /* bound, not left to the first interface */
}

static void test_shared_memory_is_never_the_default(void **state)
{
	AUTO(provider) p = NULL;

	(void)state;
	assert_int_equal(provider_open(NULL, "127.0.0.1", &p, NULL), 0);
	assert_string_not_equal(p->name, "shm");
	assert_string_not_equal(p->name, "sockets");
}

static void test_sockets_comes_with_a_warning(void **state)
{
	AUTO(provider) p = NULL;
	char names[256];

	(void)state;
	assert_int_equal(provider_list(names, sizeof(names), NULL), 0);
	if (!strstr(names, "sockets"))
		skip();
	assert_int_equal(provider_open("sockets", "127.0.0.1", &p, NULL), 0);
	assert_non_null(p->warning);
}

static void test_a_provider_that_does_not_exist_is_told_with_those_that_do(void **state)
{
	struct provider *p = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(provider_open("no-such-thing", NULL, &p, &e), -ENODEV);
	assert_null(p);
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
	assert_non_null(strstr(e.msg, "'no-such-thing'"));
	assert_non_null(strstr(e.msg, "available: "));
	assert_non_null(strstr(e.msg, "tcp"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_asks_for_no_more_than_the_library_has),
		cmocka_unit_test(test_a_core_name_finds_its_reliable_endpoint),
		cmocka_unit_test(test_shared_memory_is_never_the_default),
		cmocka_unit_test(test_sockets_comes_with_a_warning),
		cmocka_unit_test(test_a_provider_that_does_not_exist_is_told_with_those_that_do),
	};
	unsetenv("FI_PROVIDER");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
