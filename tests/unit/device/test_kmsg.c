/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "device/kmsg.h"
#include "tree.h"

static int parse(const char *raw, struct kmsg_record *ret)
{
	return kmsg_parse(raw, strlen(raw), ret, NULL);
}

static void test_a_record_with_keys(void **state)
{
	struct kmsg_record r;
	(void)state;
	assert_int_equal(
		parse("4,1234,987654321,-;efa 0000:00:06.0: ready\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:06.0\n", &r),
		0);
	assert_int_equal(r.level, 4);
	assert_int_equal(r.facility, 0);
	assert_int_equal(r.seq, 1234);
	assert_int_equal(r.usec, 987654321);
	assert_string_equal(r.text, "efa 0000:00:06.0: ready");
	assert_string_equal(r.device, "+pci:0000:00:06.0");
}

static void test_user_space_has_a_facility(void **state)
{
	struct kmsg_record r;
	(void)state;
	assert_int_equal(parse("8,7,1,-;NVRM: Xid\n", &r), 0);
	assert_int_equal(r.facility, 1);
	assert_int_equal(r.level, 0);
}

static void test_fields_that_newer_kernels_add(void **state)
{
	struct kmsg_record r;
	(void)state;
	assert_int_equal(parse("6,7,1,c,caller=T1946,more=x;a;b,c\n", &r), 0);
	assert_string_equal(r.text, "a;b,c");
}

static void test_escapes(void **state)
{
	struct kmsg_record r;
	(void)state;
	assert_int_equal(parse("6,7,1,-;one\\x0atwo \\x5cx41 \\xc3\\xa9 \\x00 \\x4 \\xzz\\x\n", &r), 0);
	assert_string_equal(r.text, "one\ntwo \\x41 \xc3\xa9 ? \\x4 \\xzz\\x");
}

static void test_what_is_no_record(void **state)
{
	static const char *const bad[] = { "",
					   "\n",
					   "x",
					   "6",
					   "6,",
					   "6,7,8",
					   "6,7,8,-",
					   "6,7,8,-\n;text\n",
					   "-6,7,8,-;t",
					   "6,7,,-;t",
					   " DEVICE=x\n",
					   "99999999999999999999999,1,1,-;t",
					   "6,99999999999999999999999,1,-;t" };
	(void)state;
	struct kmsg_record r;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &r), -EBADMSG);
}

static void test_a_file_of_records(void **state)
{
	struct tree t;
	struct kmsg_record r;
	AUTO(kmsg) k = NULL;
	(void)state;
	tree_init(&t);
	tree_write(&t, "/log", "6,1,10,-;first\n DEVICE=+pci:0000:52:00.0\nbroken\n6,2,20,-;second\n6,5,30,-;torn");
	assert_int_equal(kmsg_open(&t.world, "/log", &k, NULL), 0);
	assert_true(kmsg_wait_ms(k) > 0);
	assert_int_equal(kmsg_next(k, &r, NULL), 1);
	assert_string_equal(r.text, "first");
	assert_string_equal(r.device, "+pci:0000:52:00.0");
	assert_int_equal(kmsg_next(k, &r, NULL), -EBADMSG);
	assert_int_equal(kmsg_next(k, &r, NULL), 1);
	assert_string_equal(r.text, "second");
	assert_int_equal(kmsg_next(k, &r, NULL), -EAGAIN);
	/* The file grows: the torn line is whole now. */
	char path[128];
	snprintf(path, sizeof(path), "%s/log", t.root);
	FILE *f = fopen(path, "a");
	fputs(" no more\n", f);
	fclose(f);
	assert_int_equal(kmsg_next(k, &r, NULL), 1);
	assert_int_equal(r.seq, 5);
	assert_string_equal(r.text, "torn no more");
	assert_int_equal(kmsg_next(k, &r, NULL), -EAGAIN);
	tree_fini(&t);
}

static void test_a_line_without_end_does_not_grow_without_end(void **state)
{
	struct tree t;
	struct kmsg_record r;
	AUTO(kmsg) k = NULL;
	(void)state;
	tree_init(&t);
	char *long_line = calloc(1, 40000);
	memset(long_line, 'x', 39000);
	strcat(long_line, "\n6,1,1,-;after\n");
	tree_write(&t, "/log", long_line);
	free(long_line);
	assert_int_equal(kmsg_open(&t.world, "/log", &k, NULL), 0);
	int rc, bad = 0;
	while ((rc = kmsg_next(k, &r, NULL)) == -EBADMSG)
		bad++;
	assert_int_equal(rc, 1);
	assert_string_equal(r.text, "after");
	assert_in_range(bad, 1, 4);
	tree_fini(&t);
}

/* What containers put in the log's place: the agent must wait for it, not spin. */
static void test_a_device_that_is_no_log(void **state)
{
	struct world w;
	struct kmsg_record r;
	AUTO(kmsg) k = NULL;
	(void)state;
	assert_int_equal(world_init(&w, NULL, NULL), 0);
	assert_int_equal(kmsg_open(&w, "/dev/null", &k, NULL), 0);
	assert_true(kmsg_wait_ms(k) > 0);
	assert_int_equal(kmsg_next(k, &r, NULL), -EAGAIN);
	world_fini(&w);
}

static void test_no_log(void **state)
{
	struct tree t;
	struct err e = { 0 };
	struct kmsg *k = NULL;
	(void)state;
	tree_init(&t);
	assert_int_equal(kmsg_open(&t.world, "/dev/kmsg", &k, &e), -ENODEV);
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
	assert_null(k);
	tree_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_record_with_keys),
		cmocka_unit_test(test_user_space_has_a_facility),
		cmocka_unit_test(test_fields_that_newer_kernels_add),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_what_is_no_record),
		cmocka_unit_test(test_a_file_of_records),
		cmocka_unit_test(test_a_line_without_end_does_not_grow_without_end),
		cmocka_unit_test(test_a_device_that_is_no_log),
		cmocka_unit_test(test_no_log),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
