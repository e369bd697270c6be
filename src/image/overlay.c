/* SPDX-License-Identifier: MIT */
#include "image/overlay.h"

#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

static int overlay_link(const char *scratch, const char *name, const char *to, struct err *e)
{
	AUTO_STR at = fdio_join(scratch, name);
	if (!at)
		return err_set(e, -ENOMEM, "out of memory for a path");
	return symlink(to, at) < 0 ? err_sys(e, "link %s to %s", at, to) : 0;
}

static int overlay_write_options(struct overlay *o, size_t lower_count, bool writable, struct err *e)
{
	AUTO_BUF b;
	buf_init(&b, 4000); /* the kernel takes one page */
	buf_str(&b, "lowerdir=");
	for (size_t i = lower_count; i-- > 0;) /* overlayfs wants the topmost first */
		buf_printf(&b, "%zu%s", i, i ? ":" : "");
	if (writable)
		buf_str(&b, ",upperdir=u,workdir=w");
	/* Whatever the kernel's defaults are: nothing in upper may refer to a lower layer. */
	buf_str(&b, ",redirect_dir=off,index=off,metacopy=off,xino=off");
	if (b.failed < 0)
		return err_set(e, b.failed, "%zu layers are too many for one mount", lower_count);
	o->options_plain = strdup(buf_text(&b));
	o->options = str_printf("%s%s", buf_text(&b), writable ? ",volatile" : "");
	return o->options && o->options_plain ? 0 : err_set(e, -ENOMEM, "out of memory for mount options");
}

int overlay_init(struct overlay *o, const char *scratch, const char *const *lowers, size_t lower_count,
		 const char *upper, const char *work, struct err *e)
{
	int rc = fdio_mkdir_p(scratch, 0755, e);

	*o = (struct overlay){ .scratch = strdup(scratch) };
	if (rc == 0 && !o->scratch)
		rc = err_set(e, -ENOMEM, "out of memory for a path");
	for (size_t i = 0; i < lower_count && rc == 0; i++) {
		char name[24];
		snprintf(name, sizeof(name), "%zu", i);
		rc = overlay_link(scratch, name, lowers[i], e);
	}
	if (rc == 0 && upper)
		rc = overlay_link(scratch, "u", upper, e);
	if (rc == 0 && upper)
		rc = overlay_link(scratch, "w", work, e);
	if (rc == 0)
		rc = overlay_write_options(o, lower_count, upper != NULL, e);
	if (rc < 0)
		overlay_fini(o);
	return rc;
}

void overlay_fini(struct overlay *o)
{
	free(o->scratch);
	free(o->options);
	free(o->options_plain);
	*o = (struct overlay){ 0 };
}

int overlay_mount(const struct overlay *o, const char *at)
{
	if (chdir(o->scratch) < 0)
		return -1;
	if (mount("overlay", at, "overlay", 0, o->options) == 0)
		return 0;
	return mount("overlay", at, "overlay", 0, o->options_plain);
}
