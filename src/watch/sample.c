/* SPDX-License-Identifier: MIT */
#include "watch/sample.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "device/efa.h"
#include "device/nvml.h"

/* Whole numbers are written without ".0". */
static json_t *number(double v)
{
	if (v == floor(v) && fabs(v) < 9007199254740992.0) /* 2^53: beyond it a double does not hold every integer */
		return json_integer((json_int_t)v);
	return json_real(v);
}

static json_t *sample_gpu(const struct nvml *n, unsigned index)
{
	struct err why = { 0 };
	struct nvml_gpu gpu;
	if (nvml_gpu_identity(n, index, &gpu, &why) < 0)
		return json_pack("{si ss}", "gpu", (int)index, "error", why.msg);
	json_t *values = json_object();
	const char *name;
	for (size_t i = 0; (name = nvml_metric_name(i)); i++) {
		double v;
		if (nvml_metric(n, index, name, &v, NULL) == 0)
			json_object_set_new(values, name, number(v));
	}
	return json_pack("{si ss ss ss so}", "gpu", (int)index, "uuid", gpu.uuid, "name", gpu.name, "device", gpu.bdf,
			 "values", values);
}

int sample_gpus(json_t **ret, struct err *e)
{
	AUTO(nvml) n = NULL;
	char version[NVML_VERSION_BYTES] = "";
	unsigned count = 0;
	int rc = nvml_new(&n, e);
	if (rc == 0)
		rc = nvml_gpu_count(n, &count, e);
	if (rc < 0)
		return rc;
	if (count == 0)
		return err_set(e, -ENODEV, "NVML sees no GPU");
	nvml_driver_version(n, version, NULL);
	json_t *gpus = json_array();
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(gpus, sample_gpu(n, i));
	json_t *j = json_pack("{ss sb so}", "driver_version", version, "simulated", nvml_is_simulated(n), "gpus", gpus);
	if (!j)
		return err_set(e, -ENOMEM, "GPU sample: no memory");
	*ret = j;
	return 0;
}

static json_t *sample_efa_device(const struct world *w, const struct efa_device *d)
{
	struct efa_counter *counters __attribute__((cleanup(own_free))) = NULL;
	size_t count = 0;
	json_t *values = json_object();
	if (efa_counters(w, d->name, &counters, &count, NULL) == 0)
		for (size_t i = 0; i < count; i++)
			json_object_set_new(values, counters[i].name, json_integer((json_int_t)counters[i].value));
	return json_pack("{ss ss ss sb so}", "efa", d->name, "device", d->bdf, "firmware", d->firmware, "port_active",
			 d->port_active, "values", values);
}

int sample_efa(const struct world *w, json_t **ret, struct err *e)
{
	struct efa_device *devices __attribute__((cleanup(own_free))) = NULL;
	size_t count = 0;
	int rc = efa_list(w, &devices, &count, e);
	if (rc < 0)
		return rc;
	AUTO_JSON all = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, sample_efa_device(w, &devices[i]));
	if (!all)
		return err_set(e, -ENOMEM, "EFA sample: no memory");
	*ret = steal(all);
	return 0;
}
