/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "device/pci.h"
#include "tree.h"

static void add(struct tree *t, const char *bdf, const char *vendor, const char *device, const char *class,
		const char *uevent)
{
	const struct {
		const char *file, *text;
	} files[] = { { "vendor", vendor }, { "device", device }, { "class", class }, { "uevent", uevent } };
	for (size_t i = 0; i < 4; i++) {
		char path[200];
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, files[i].file);
		tree_write(t, path, files[i].text);
	}
}

static void test_gpus_and_efa_are_told_apart(void **state)
{
	struct tree t;
	struct pci_function *gpus __attribute__((cleanup(own_free))) = NULL;
	struct pci_function *efa __attribute__((cleanup(own_free))) = NULL;
	size_t count = 0;
	(void)state;
	tree_init(&t);
	add(&t, "0000:31:00.0", "0x10de\n", "0x2330\n", "0x030200\n", "PCI_ID=10DE:2330\nDRIVER=nvidia\n");
	add(&t, "0000:31:00.1", "0x10de\n", "0x22e8\n", "0x040300\n",
	    "DRIVER=snd_hda_intel\n"); /* its audio function */
	add(&t, "0000:07:00.0", "0x10de\n", "0x22a3\n", "0x068000\n", "DRIVER=nvidia-nvswitch\n");
	add(&t, "0000:1e:00.0", "0x10de\n", "0x2237\n", "0x030000\n", "PCI_ID=10DE:2237\n");
	add(&t, "0000:00:06.0", "0x1d0f\n", "0xefa2\n", "0x020000\n", "DRIVER=efa\n");
	add(&t, "0000:00:05.0", "0x1d0f\n", "0xec20\n", "0x020000\n", "DRIVER=ena\n");
	assert_int_equal(pci_list_gpus(&t.world, &gpus, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_string_equal(gpus[0].bdf, "0000:1e:00.0");
	assert_string_equal(gpus[0].driver, "");
	assert_string_equal(gpus[1].bdf, "0000:31:00.0");
	assert_string_equal(gpus[1].driver, "nvidia");
	assert_int_equal(gpus[1].device, 0x2330);
	assert_int_equal(pci_list_efa(&t.world, &efa, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_string_equal(efa[0].driver, "efa");
	tree_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_gpus_and_efa_are_told_apart) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
