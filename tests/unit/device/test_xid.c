/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "device/xid.h"

#define NONE -1

/* Every form that drivers print or printed; -1 and "" where a form does not tell. */
static const struct form {
	const char *line;
	enum xid_kind kind;
	int code;
	const char *bdf;
	long pid;
	const char *name;
	int gi, ci, link, cause, recovery, fatal;
	const char *detail_begins;
} forms[] = {
	{ "NVRM: Xid (PCI:0000:52:1c): 63, pid=4711, Row Remapper: New row marked for remapping", XID_GPU, 63,
	  "0000:52:1c.0", 4711, "", NONE, NONE, NONE, NONE, NONE, NONE, "Row Remapper" },
	{ "NVRM: Xid (PCI:0000:52:00): 31, pid=815, name=python3, Ch 00000008, intr 00000000. MMU Fault", XID_GPU, 31,
	  "0000:52:00.0", 815, "python3", NONE, NONE, NONE, NONE, NONE, NONE, "Ch 00000008" },
	{ "NVRM: Xid (PCI:0000:52:00): 109, pid=815,   name=Render:0, channel 0x0d", XID_GPU, 109, "0000:52:00.0", 815,
	  "Render:0", NONE, NONE, NONE, NONE, NONE, NONE, "channel 0x0d" },
	{ "NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", XID_GPU, 79,
	  "0000:52:00.0", NONE, "", NONE, NONE, NONE, NONE, NONE, NONE, "GPU has fallen off the bus." },
	{ "NVRM: Xid (PCI:0000:52:00): 32, pid=12, name=(sd-worker), Channel ID 1", XID_GPU, 32, "0000:52:00.0", 12,
	  "(sd-worker)", NONE, NONE, NONE, NONE, NONE, NONE, "Channel ID 1" },
	{ "NVRM: Xid (PCI:0000:52:00): 13, pid=12, name=nvc:[driver],x, Graphics", XID_GPU, 13, "0000:52:00.0", 12,
	  "nvc:[driver],x", NONE, NONE, NONE, NONE, NONE, NONE, "Graphics" },
	{ "NVRM: Xid (PCI:0000:52:00): 46", XID_GPU, 46, "0000:52:00.0", NONE, "", NONE, NONE, NONE, NONE, NONE, NONE,
	  "" },
	{ "NVRM: Xid (0000:26:00): 56, CMDre 00000000", XID_GPU, 56, "0000:26:00.0", NONE, "", NONE, NONE, NONE, NONE,
	  NONE, NONE, "CMDre" },
	{ "NVRM: Xid (PCI:0000:03:08.0): 145, RLW_REMAP Nonfatal XC1 i0 Link 10 (0x82", XID_GPU, 145, "0000:03:08.0",
	  NONE, "", NONE, NONE, 10, NONE, NONE, 0, "RLW_REMAP" },
	{ "NVRM: Xid (PCI:0009:0A:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 00 (0x02", XID_GPU, 149, "0009:0a:00.0",
	  NONE, "", NONE, NONE, 0, NONE, NONE, 1, "NETIR_LINK_EVT" },
	{ "NVRM: Xid (PCI:0009:0a:00): 149, NETIR Fatal XC0 i0 Link -1 (0x0f", XID_GPU, 149, "0009:0a:00.0", NONE, "",
	  NONE, NONE, NONE, NONE, NONE, 1, "NETIR" },
	{ "NVRM: Xid (PCI:0000:52:00): 74, NVLink: fatal error detected on link 3", XID_GPU, 74, "0000:52:00.0", NONE,
	  "", NONE, NONE, 3, NONE, NONE, NONE, "NVLink" },
	{ "NVRM: Xid (PCI:0000:52:00 GPU-I:05): 94, pid=7, Contained: CE User Channel (0x9). RST: No, D-RST: No",
	  XID_GPU, 94, "0000:52:00.0", 7, "", 5, NONE, NONE, NONE, NONE, NONE, "Contained" },
	{ "NVRM: Xid (PCI:0000:52:00 GPU-I:05 GPU-CI:02): 43, pid=7, name=a, Ch 1", XID_GPU, 43, "0000:52:00.0", 7, "a",
	  5, 2, NONE, NONE, NONE, NONE, "Ch 1" },
	{ "NVRM: Xid (PCI:0000:52:00): 45, pid=7, name=a, Ch 0c caused by previous Xid 145", XID_GPU, 45,
	  "0000:52:00.0", 7, "a", NONE, NONE, NONE, 145, NONE, NONE, "Ch 0c" },
	{ "NVRM: Xid (PCI:0000:52:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
	  XID_GPU, 154, "0000:52:00.0", NONE, "", NONE, NONE, NONE, NONE, 4, NONE, "GPU recovery" },
	{ "NVRM: Xid (PCI:0001f3a2:00:00): 8, pid=1, name=b, Channel 28", XID_GPU, 8, "0001f3a2:00:00.0", 1, "b", NONE,
	  NONE, NONE, NONE, NONE, NONE, "Channel" },
	{ "NVRM: Xid (PCI:0000:52:00): 99999, something new", XID_GPU, 99999, "0000:52:00.0", NONE, "", NONE, NONE,
	  NONE, NONE, NONE, NONE, "something new" },
	{ "nvidia-nvswitch3: SXid (PCI:0000:26:00.0): 12028, Non-fatal, Link 32 egress error (First)", XID_NVSWITCH,
	  12028, "0000:26:00.0", NONE, "", NONE, NONE, 32, NONE, NONE, 0, "Non-fatal" },
	{ "nvidia-nvswitch12: SXid (PCI:0000:26:00.0): 24007, Fatal, Link 28 timeout", XID_NVSWITCH, 24007,
	  "0000:26:00.0", NONE, "", NONE, NONE, 28, NONE, NONE, 1, "Fatal" },
	{ "nvidia-nvswitch0: SXid (PCI:0000:26:00.0): 26006, SOE HALTED", XID_NVSWITCH, 26006, "0000:26:00.0", NONE, "",
	  NONE, NONE, NONE, NONE, NONE, NONE, "SOE" },
	{ "nvidia-nvswitch0: SXid (PCI:0000:26:00.0): 20034, Data {0x10000000, 0x1}", XID_NVSWITCH, 20034,
	  "0000:26:00.0", NONE, "", NONE, NONE, NONE, NONE, NONE, NONE, "Data" },
	{ "NVRM: The NVIDIA GPU 0000:ab:00.0\nNVRM: (PCI ID: 10de:2901) installed in this system has\nNVRM: fallen off "
	  "the bus and is not responding",
	  XID_FELL_OFF, 79, "0000:ab:00.0", NONE, "", NONE, NONE, NONE, NONE, NONE, NONE, "GPU has fallen off" },
};

static void test_every_form_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];
		struct xid x;
		if (!xid_parse(f->line, &x))
			fail_msg("not read: %s", f->line);
		assert_int_equal(x.kind, f->kind);
		assert_int_equal(x.code, f->code);
		assert_string_equal(x.bdf, f->bdf);
		assert_int_equal(x.pid, f->pid);
		assert_string_equal(x.name, f->name);
		assert_int_equal(x.gi, f->gi);
		assert_int_equal(x.ci, f->ci);
		assert_int_equal(x.link, f->link);
		assert_int_equal(x.cause, f->cause);
		assert_int_equal(x.recovery, f->recovery);
		assert_int_equal(x.fatal, f->fatal);
		assert_memory_equal(x.detail, f->detail_begins, strlen(f->detail_begins));
	}
}

static void test_what_only_looks_like_one_is_not(void **state)
{
	static const char *const lines[] = {
		"",
		"NVRM: Xid",
		"NVRM: Xid (",
		"NVRM: Xid (nonsense): some error",
		"NVRM: Xid (PCI:0000:52:00): abc, pid=1",
		"NVRM: Xid (PCI:0000:52:00): 63x",
		"NVRM: Xid (PCI:0000:52:00): 99999999999999999999",
		"NVRM: Xid (PCI:0000:52): 63",
		"NVRM: GPU at PCI:0000:52:00: GPU-00000000-0000-0000-0000-000000000000",
		"NVRM: GPU 0000:52:00.0: GPU has fallen off the bus.",
		"NVRM: The NVIDIA GPU nonsense.0\nNVRM: fallen off the bus",
		"NVRM: The NVIDIA GPU 0000:52:00.0\nNVRM: (PCI ID: 1:2) installed in this system is not supported",
		"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:52:00 (printing 1 of every 30).",
		"nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal",
		"nvidia-nvswitch: SXid (PCI:0000:00:00.0): 1, Fatal",
		"infiniband mlx5_0: Wait for completion (polling) timeout",
	};
	(void)state;
	struct xid x;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (xid_parse(lines[i], &x) || xid_parse_line(lines[i], &x))
			fail_msg("read as an event: %s", lines[i]);
}

/* A USB device may call itself anything, and the kernel prints its name. */
static void test_a_quotation_in_a_record_is_no_event(void **state)
{
	struct xid x;
	(void)state;
	const char *quoted = "usb 1-1: Product: NVRM: Xid (PCI:0000:52:00): 79, GPU has fallen off the bus.";
	assert_false(xid_parse(quoted, &x));
	assert_true(xid_parse_line(quoted, &x)); /* a saved log has prefixes that nobody can list */
}

static void test_prefixes_of_saved_logs(void **state)
{
	static const char *const prefixes[] = { "[  951.413] ", "kern  :warn  : 2025-01-21T04:41:44,283390+00:00 ",
						"Nov 21 07:56:59 node-a kernel: ", "[ 390.1] [ T1946] " };
	(void)state;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char line[200] = "";
		struct xid x;
		strcat(line, prefixes[i]);
		strcat(line, "NVRM: Xid (PCI:0000:52:00): 48, pid=3, An uncorrectable");
		assert_true(xid_parse_line(line, &x));
		assert_int_equal(x.code, 48);
		assert_int_equal(x.pid, 3);
	}
}

static void test_long_names_and_details_are_cut(void **state)
{
	char line[8192] = "NVRM: Xid (PCI:0000:52:00): 13, pid=3, name=";
	struct xid x;
	(void)state;
	memset(line + strlen(line), 'n', 300);
	strcat(line, ", ");
	memset(line + strlen(line), 'd', 4000);
	assert_true(xid_parse(line, &x));
	assert_int_equal(strlen(x.name), XID_NAME_BYTES - 1);
	assert_int_equal(strlen(x.detail), XID_DETAIL_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_is_read),
		cmocka_unit_test(test_what_only_looks_like_one_is_not),
		cmocka_unit_test(test_a_quotation_in_a_record_is_no_event),
		cmocka_unit_test(test_prefixes_of_saved_logs),
		cmocka_unit_test(test_long_names_and_details_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
