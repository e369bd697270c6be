/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/own.h"
#include "device/efa.h"
#include "tree.h"

#define CLASS "/sys/class/infiniband/"

static void add_device(struct tree *t, const char *name, const char *vendor, const char *device, const char *bdf)
{
	char path[200], text[200];
	snprintf(path, sizeof(path), CLASS "%s/device/vendor", name);
	tree_write(t, path, vendor);
	snprintf(path, sizeof(path), CLASS "%s/device/device", name);
	tree_write(t, path, device);
	snprintf(path, sizeof(path), CLASS "%s/device/uevent", name);
	snprintf(text, sizeof(text), "DRIVER=efa\nPCI_CLASS=20000\nPCI_SLOT_NAME=%s\n", bdf);
	tree_write(t, path, text);
}

static void test_efa_among_others(void **state)
{
	struct tree t;
	struct efa_device *d __attribute__((cleanup(own_free))) = NULL;
	size_t count = 0;
	(void)state;
	tree_init(&t);
	add_device(&t, "rdmap16s27", "0x1d0f\n", "0xefa1\n", "0000:10:1b.0");
	add_device(&t, "mlx5_0", "0x15b3\n", "0x1019\n", "0000:11:00.0");
	add_device(&t, "efa_0", "0x1d0f\n", "0xefa0\n", "0000:00:06.0");
	tree_write(&t, CLASS "efa_0/fw_ver", "0.0.0.1\n");
	tree_write(&t, CLASS "efa_0/ports/1/state", "4: ACTIVE\n");
	assert_int_equal(efa_list(&t.world, &d, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_string_equal(d[0].name, "efa_0");
	assert_string_equal(d[0].bdf, "0000:00:06.0");
	assert_string_equal(d[0].firmware, "0.0.0.1");
	assert_true(d[0].port_active);
	assert_string_equal(d[1].name, "rdmap16s27");
	assert_string_equal(d[1].firmware, "");
	assert_false(d[1].port_active);
	tree_fini(&t);
}

static void test_no_infiniband_class_is_no_device(void **state)
{
	struct tree t;
	struct efa_device *d = NULL;
	size_t count = 7;
	(void)state;
	tree_init(&t);
	assert_int_equal(efa_list(&t.world, &d, &count, NULL), 0);
	assert_int_equal(count, 0);
	free(d);
	tree_fini(&t);
}

static const struct efa_counter *find(const struct efa_counter *all, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}

static void test_counters(void **state)
{
	struct tree t;
	struct efa_counter *c __attribute__((cleanup(own_free))) = NULL;
	size_t count = 0;
	(void)state;
	tree_init(&t);
	add_device(&t, "rdmap0s6", "0x1d0f\n", "0xefa2\n", "0000:00:06.0");
	tree_write(&t, CLASS "rdmap0s6/ports/1/hw_counters/tx_bytes", "18446744073709551615\n");
	tree_write(&t, CLASS "rdmap0s6/ports/1/hw_counters/lifespan", "10\n");
	tree_write(&t, CLASS "rdmap0s6/ports/1/hw_counters/retrans_bytes",
		   ""); /* as unreadable as one that is not supported */
	tree_write(&t, CLASS "rdmap0s6/ports/1/hw_counters/rx_drops", "what\n");
	tree_write(&t, CLASS "rdmap0s6/hw_counters/reg_mr_err", "3\n");
	assert_int_equal(efa_counters(&t.world, "rdmap0s6", &c, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_true(find(c, count, "tx_bytes")->value == UINT64_MAX);
	assert_true(find(c, count, "tx_bytes")->of_port);
	assert_int_equal(find(c, count, "reg_mr_err")->value, 3);
	assert_false(find(c, count, "reg_mr_err")->of_port);
	assert_null(find(c, count, "retrans_bytes"));
	struct efa_counter *none = NULL;
	assert_int_equal(efa_counters(&t.world, "rdmap9s9", &none, &count, NULL), -ENOENT);
	assert_null(none);
	tree_fini(&t);
}

static void test_driver_version(void **state)
{
	struct tree t;
	AUTO_STR version = NULL;
	(void)state;
	tree_init(&t);
	assert_int_equal(efa_driver_version(&t.world, &version, NULL), -ENOENT);
	tree_write(&t, "/sys/module/efa/version", "2.17.2g\n");
	assert_int_equal(efa_driver_version(&t.world, &version, NULL), 0);
	assert_string_equal(version, "2.17.2g");
	tree_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_efa_among_others),
		cmocka_unit_test(test_no_infiniband_class_is_no_device),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_driver_version),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
