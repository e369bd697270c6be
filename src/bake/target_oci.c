/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "bake/target.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "image/oci.h"

#define OCI_PLAN_LABEL "dev.kiln.plan="

/* The plan's key and no date of the package lists: fetching newer lists that hold the same packages makes no other
 * image. */
static int oci_labels(const struct plan *p, char ***ret, struct err *e)
{
	char created[CLOCK_TEXT_BYTES];
	AUTO_STRINGS labels = calloc(5, sizeof(*labels));
	if (!labels)
		return err_set(e, -ENOMEM, "out of memory for the image's labels");
	clock_text(p->epoch * 1000000000, created);
	labels[0] = str_printf("org.opencontainers.image.title=%s", p->stack_name);
	labels[1] = labels[0] ? str_printf("org.opencontainers.image.created=%s", created) : NULL;
	labels[2] = labels[1] ? str_printf("dev.kiln.os=%s", p->os) : NULL;
	labels[3] = labels[2] ? str_printf(OCI_PLAN_LABEL "%s", p->key) : NULL;
	if (!labels[3])
		return err_set(e, -ENOMEM, "out of memory for the image's labels");
	*ret = steal(labels);
	return 0;
}

static int oci_check(const char *output, struct err *e)
{
	size_t len = strlen(output);
	if (len > 4 && strcmp(output + len - 4, ".tar") == 0)
		return err_input(e,
				 "%s: the image is a folder: choose a name without .tar; `skopeo copy oci:FOLDER "
				 "oci-archive:%s` makes an archive of it",
				 output, output);
	int rc = target_check_folder(output, e);
	return rc < 0 ? rc : oci_check_target(output, e);
}

static bool oci_is_made(const struct target_input *in, struct target_output *ret)
{
	AUTO(oci_image) image = NULL;
	bool same_plan = false;

	if (oci_open(in->output, &image, NULL) < 0 || image->layer_count != in->layer_count)
		return false;
	for (char **label = image->labels; *label; label++)
		same_plan = same_plan || (strncmp(*label, OCI_PLAN_LABEL, strlen(OCI_PLAN_LABEL)) == 0 &&
					  strcmp(*label + strlen(OCI_PLAN_LABEL), in->plan->key) == 0);
	for (size_t i = 0; i < in->layer_count; i++)
		same_plan = same_plan && strcmp(image->layers[i].digest, in->layers[i].digest) == 0;
	memcpy(ret->digest, image->digest, sizeof(ret->digest));
	ret->bytes = image->bytes;
	return same_plan;
}

static int oci_write_target(const struct target_input *in, struct target_output *ret, struct err *e)
{
	AUTO(oci_image) image = NULL;
	AUTO_STRINGS env = NULL;
	AUTO_STRINGS labels = NULL;
	AUTO_STR name = str_printf("%s:latest", in->plan->stack_name);
	int rc = name ? target_env(in->plan, &env, e) : err_set(e, -ENOMEM, "out of memory for the image's name");
	if (rc == 0)
		rc = oci_labels(in->plan, &labels, e);
	if (rc < 0)
		return rc;

	struct oci_spec spec = {
		.name = name,
		.architecture = in->plan->architecture,
		.epoch = in->plan->epoch,
		.env = env,
		.labels = labels,
		.layers = in->layers,
		.layer_count = in->layer_count,
	};
	rc = oci_write(in->output, &spec, ret->digest, e);
	if (rc == 0)
		rc = oci_open(in->output, &image, e); /* what a reader will find */
	if (rc == 0)
		ret->bytes = image->bytes;
	return rc;
}

const struct bake_target target_oci = {
	.name = "oci",
	.help = "an OCI image layout: a folder that skopeo, podman, umoci and kiln launch take",
	.suffix = ".oci",
	.check = oci_check,
	.is_made = oci_is_made,
	.write = oci_write_target,
};
