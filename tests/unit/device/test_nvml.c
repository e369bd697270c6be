/* SPDX-License-Identifier: MIT */
/* Against the stand-in of tests/fake, which is loaded exactly as the real library (LD_LIBRARY_PATH). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/metrics.h"
#include "device/nvml.h"

static int unset(void **state)
{
	(void)state;
	return unsetenv("KILN_FAKE_NVML");
}

static void test_what_it_feeds_is_simulated(void **state)
{
	AUTO(nvml) n = NULL;
	char version[NVML_VERSION_BYTES];
	int cuda;
	unsigned count;
	(void)state;
	assert_int_equal(nvml_new(&n, NULL), 0);
	assert_true(nvml_is_simulated(n));
	assert_int_equal(nvml_driver_version(n, version, NULL), 0);
	assert_string_equal(version, "570.172.08");
	assert_int_equal(nvml_cuda_version(n, &cuda, NULL), 0);
	assert_int_equal(cuda, 12080);
	assert_int_equal(nvml_gpu_count(n, &count, NULL), 0);
	assert_int_equal(count, 2);
}

static void test_addresses_are_as_in_sysfs(void **state)
{
	AUTO(nvml) n = NULL;
	struct nvml_gpu gpu;
	(void)state;
	assert_int_equal(nvml_new(&n, NULL), 0);
	assert_int_equal(nvml_gpu_identity(n, 1, &gpu, NULL), 0);
	assert_int_equal(gpu.index, 1);
	assert_string_equal(gpu.bdf, "0000:4b:00.0");
	assert_memory_equal(gpu.uuid, "GPU-", 4);
	assert_int_equal(nvml_gpu_identity(n, 2, &gpu, NULL), -EINVAL);
}

static void test_every_metric_is_in_the_catalogue_and_is_read(void **state)
{
	AUTO(nvml) n = NULL;
	const char *name;
	size_t i;
	(void)state;
	assert_int_equal(nvml_new(&n, NULL), 0);
	for (i = 0; (name = nvml_metric_name(i)); i++) {
		double v = -1;
		const struct metrics_row *row = metrics_find(name);
		if (!row)
			fail_msg("'%s' is not in catalog/metrics.json", name);
		assert_string_equal(row->of, "gpu");
		assert_int_equal(nvml_metric(n, 0, name, &v, NULL), 0);
		assert_true(v >= 0);
		if (strcmp(row->unit, "percent") == 0)
			assert_true(v <= 100);
	}
	assert_true(i >= 20);
	double v;
	assert_int_equal(nvml_metric(n, 0, "power_watts", &v, NULL), 0);
	assert_true(v >= 100 && v <= 700); /* NVML tells milliwatts */
	assert_int_equal(nvml_metric(n, 0, "no_such", &v, NULL), -ENOENT);
}

static void test_what_a_gpu_lacks_is_an_error_and_not_zero(void **state)
{
	AUTO(nvml) n = NULL;
	struct err e = { 0 };
	double v = 42;
	(void)state;
	setenv("KILN_FAKE_NVML", "plain", 1);
	assert_int_equal(nvml_new(&n, NULL), 0);
	assert_int_equal(nvml_metric(n, 1, "power_watts", &v, &e), -EOPNOTSUPP);
	assert_true(v == 42);
	assert_int_equal(e.space, ERR_NVML);
	assert_int_equal(e.native, 3);
	assert_int_equal(nvml_metric(n, 0, "power_watts", &v, NULL), 0);
}

static void test_a_lost_gpu(void **state)
{
	AUTO(nvml) n = NULL;
	struct err e = { 0 };
	struct nvml_gpu gpu;
	(void)state;
	setenv("KILN_FAKE_NVML", "lost", 1);
	assert_int_equal(nvml_new(&n, NULL), 0);
	assert_int_equal(nvml_gpu_identity(n, 1, &gpu, &e), -EIO);
	assert_non_null(strstr(e.msg, "GPU is lost"));
	assert_int_equal(nvml_gpu_identity(n, 0, &gpu, NULL), 0);
}

static void test_a_driver_that_is_not_loaded(void **state)
{
	struct nvml *n = NULL;
	struct err e = { 0 };
	(void)state;
	setenv("KILN_FAKE_NVML", "nodriver", 1);
	assert_int_equal(nvml_new(&n, &e), -ENODEV);
	assert_null(n);
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
	assert_non_null(strstr(e.msg, "load the nvidia kernel module"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_feeds_is_simulated),
		cmocka_unit_test(test_addresses_are_as_in_sysfs),
		cmocka_unit_test(test_every_metric_is_in_the_catalogue_and_is_read),
		cmocka_unit_test_teardown(test_what_a_gpu_lacks_is_an_error_and_not_zero, unset),
		cmocka_unit_test_teardown(test_a_lost_gpu, unset),
		cmocka_unit_test_teardown(test_a_driver_that_is_not_loaded, unset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
