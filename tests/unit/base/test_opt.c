/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/opt.h"
#include "base/own.h"

struct args {
	bool flag, other;
	const char *text;
	struct opt_list list;
	int64_t number;
	uint64_t bytes;
	uint32_t wait_ms;
	const char *choice;
};

static const struct opt opts[] = {
	{ "flag", 'f', OPT_FLAG, offsetof(struct args, flag), NULL, NULL, "a flag" },
	{ "other", 'o', OPT_FLAG, offsetof(struct args, other), NULL, NULL, "another" },
	{ "text", 't', OPT_STR, offsetof(struct args, text), "TEXT", NULL, "a text", "<file>" },
	{ "list", 0, OPT_LIST, offsetof(struct args, list), "WORD", NULL, "words" },
	{ "nodes", 'n', OPT_INT, offsetof(struct args, number), "N", "2", "how many" },
	{ "bytes", 'b', OPT_BYTES, offsetof(struct args, bytes), "SIZE", "64M", "how much" },
	{ "wait", 0, OPT_DURATION, offsetof(struct args, wait_ms), "TIME", "10s", "how long" },
	{ "format", 0, OPT_CHOICE, offsetof(struct args, choice), "FORMAT", "table", "how shown", "json|table" },
	{ 0 },
};

static const struct verb verb = { .name = "up",
				  .operands = "NAME",
				  .help = "h",
				  .opts = opts,
				  .args_size = sizeof(struct args),
				  .max_operands = -1 };

/* One parse of a line that is split at blanks. */
struct parsed {
	char line[400];
	char *argv[64];
	int argc, rc;
	struct args a;
	char *operands[65];
	bool help;
	struct err e;
};

static void parse_as(struct parsed *p, const struct verb *v, const char *line)
{
	*p = (struct parsed){ .argv = { (char *)"up" }, .argc = 1 };
	strcpy(p->line, line);
	char *rest = NULL;
	for (char *w = strtok_r(p->line, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		p->argv[p->argc++] = w;
	p->rc = opt_parse(v, p->argc, p->argv, &p->a, p->operands, &p->help, &p->e);
}

static void parse(struct parsed *p, const char *line)
{
	parse_as(p, &verb, line);
}

static void parse_good(struct parsed *p, const char *line)
{
	parse(p, line);
	if (p->rc < 0)
		fail_msg("'%s': %s", line, p->e.msg);
}

static void test_every_type_in_every_spelling(void **state)
{
	(void)state;
	struct parsed p;
	parse_good(&p, "--flag --text=a=b --list x --list=y --nodes -5 --bytes 4K --wait 250ms --format json op");
	assert_true(p.a.flag);
	assert_false(p.a.other);
	assert_string_equal(p.a.text, "a=b");
	assert_int_equal(p.a.list.count, 2);
	assert_string_equal(p.a.list.at[1], "y");
	assert_int_equal(p.a.number, -5);
	assert_int_equal(p.a.bytes, 4096);
	assert_int_equal(p.a.wait_ms, 250);
	assert_string_equal(p.a.choice, "json");
	assert_string_equal(p.operands[0], "op");
	assert_null(p.operands[1]);
	parse_good(&p, "-fo -n7 -t x -b 1G");
	assert_true(p.a.flag && p.a.other);
	assert_int_equal(p.a.number, 7);
	assert_string_equal(p.a.text, "x");
	assert_int_equal(p.a.bytes, 1 << 30);
	parse_good(&p, "-fn 8 --text=");
	assert_int_equal(p.a.number, 8);
	assert_string_equal(p.a.text, "");
}

static void test_fallbacks_stand_in(void **state)
{
	(void)state;
	struct parsed p;
	parse_good(&p, "");
	assert_int_equal(p.a.number, 2);
	assert_int_equal(p.a.bytes, 64 << 20);
	assert_int_equal(p.a.wait_ms, 10000);
	assert_string_equal(p.a.choice, "table");
	assert_null(p.a.text);
	assert_int_equal(p.a.list.count, 0);
	parse_good(&p, "-n 3 -n 4");
	assert_int_equal(p.a.number, 4); /* the last one counts */
}

static void test_operands_and_the_double_dash(void **state)
{
	(void)state;
	struct parsed p;
	parse_good(&p, "a -f b -- --text -o -- c");
	static const char *const want[] = { "a", "b", "--text", "-o", "--", "c" };
	for (size_t i = 0; i < COUNT_OF(want); i++)
		assert_string_equal(p.operands[i], want[i]);
	assert_null(p.operands[6]);
	assert_true(p.a.flag);
	assert_false(p.a.other);
	parse_good(&p, "-");
	assert_string_equal(p.operands[0], "-");
}

static void test_stop_at_operand(void **state)
{
	(void)state;
	struct verb v = verb;
	struct parsed p;
	v.stop_at_operand = true;
	parse_as(&p, &v, "-f node ls -o --help --nodes");
	assert_int_equal(p.rc, 0);
	assert_false(p.help);
	assert_true(p.a.flag);
	assert_false(p.a.other);
	assert_string_equal(p.operands[2], "-o");
	assert_string_equal(p.operands[4], "--nodes");
}

static void test_help(void **state)
{
	(void)state;
	struct parsed p;
	parse_good(&p, "--help --nonsense");
	assert_true(p.help);
	parse_good(&p, "a -h");
	assert_true(p.help);
}

static void test_mistakes(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "--nodez 3", "unknown option '--nodez' (did you mean '--nodes'?)" },
		{ "--nodez=3", "unknown option '--nodez' (did you mean '--nodes'?)" },
		{ "--quixotic", "unknown option '--quixotic'" },
		{ "-x", "unknown option '-x'" },
		{ "-fx", "unknown option '-x'" },
		{ "-nodes", "option '-n' needs a whole number, not 'odes'" },
		{ "-flag", "unknown option '-l' (did you mean '--flag'?)" },
		{ "--flag=1", "option '--flag' takes no value" },
		{ "--text", "option '--text' needs a value (TEXT)" },
		{ "-t", "option '-t' needs a value (TEXT)" },
		{ "--nodes many", "option '--nodes' needs a whole number, not 'many'" },
		{ "--nodes 5x", "option '--nodes' needs a whole number, not '5x'" },
		{ "--nodes=", "option '--nodes' needs a whole number, not ''" },
		{ "--nodes 99999999999999999999", "option '--nodes' needs a whole number, not '99999999999999999999'" },
		{ "--bytes 4Q", "option '--bytes' needs a size such as 8, 64K, 1M or 2G, not '4Q'" },
		{ "--wait 1.5s", "option '--wait' needs a time such as 250ms, 10s, 2m or 1h, not '1.5s'" },
		{ "--format jsn", "option '--format' must be json or table, not 'jsn' (did you mean 'json'?)" },
		{ "--format js|", "option '--format' must be json or table, not 'js|'" },
		{ "--format=", "option '--format' must be json or table, not ''" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct parsed p;
		parse(&p, rows[i][0]);
		assert_int_equal(p.rc, -EINVAL);
		assert_int_equal(err_exit_code(&p.e), EXIT_USAGE);
		assert_string_equal(p.e.msg, rows[i][1]);
	}
	char many[400] = "";
	for (int i = 0; i < OPT_LIST_MAX + 1; i++)
		strcat(many, "--list=w ");
	struct parsed p;
	parse(&p, many);
	assert_string_equal(p.e.msg, "option '--list' is given more than 32 times");
}

static void test_operand_counts(void **state)
{
	(void)state;
	struct verb v = verb;
	struct parsed p;
	v.min_operands = 1;
	v.max_operands = 1;
	parse_as(&p, &v, "");
	assert_string_equal(p.e.msg, "nothing is named: it needs NAME");
	parse_as(&p, &v, "a b");
	assert_string_equal(p.e.msg, "'b' is too much: it takes NAME");
	v.min_operands = v.max_operands = 0;
	v.operands = NULL;
	parse_as(&p, &v, "a");
	assert_string_equal(p.e.msg, "'a' is too much: it takes no operands");
}

static void test_parse_bytes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t want;
	} good[] = { { "0", 0 },
		     { "8", 8 },
		     { "1k", 1024 },
		     { "64M", 64 << 20 },
		     { "2G", 2ull << 30 },
		     { "3T", 3ull << 40 },
		     { "18446744073709551615", UINT64_MAX } };
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		uint64_t n = 1;
		assert_int_equal(opt_parse_bytes(good[i].text, &n), 0);
		assert_int_equal(n, good[i].want);
	}
	static const char *const bad[] = { "",          "K",  "-1", "1.5M", "1KB", "1 K", "18446744073709551616",
					   "16777216T", "0x8" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		uint64_t n = 1;
		assert_int_equal(opt_parse_bytes(bad[i], &n), -EINVAL);
		assert_int_equal(n, 1);
	}
}

static void test_help_text_tells_every_option(void **state)
{
	(void)state;
	AUTO_STR text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);
	opt_print_help(&verb, "kiln launch up", to);
	fclose(to);
	static const char *const want[] = {
		"usage: kiln launch up [OPTION...] NAME\n",
		"  -n, --nodes N ",
		"how many (default 2)\n",
		"      --wait TIME ",
		"how shown (json|table; default table)\n",
		"--help ",
		"words; may be given many times\n",
	};
	for (size_t i = 0; i < COUNT_OF(want); i++)
		if (!strstr(text, want[i]))
			fail_msg("'%s' is not in:\n%s", want[i], text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_in_every_spelling),
		cmocka_unit_test(test_fallbacks_stand_in),
		cmocka_unit_test(test_operands_and_the_double_dash),
		cmocka_unit_test(test_stop_at_operand),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_operand_counts),
		cmocka_unit_test(test_parse_bytes),
		cmocka_unit_test(test_help_text_tells_every_option),
	};
	return cmocka_run_group_tests_name("base/opt", tests, NULL, NULL);
}
