/* SPDX-License-Identifier: MIT */
#include "bake/scaffold.h"

#include <fcntl.h>
#include <string.h>

#include "base/fdio.h"
#include "base/own.h"

/* Read first by apt, before the image's own settings. Lists and caches live in memory, so nothing of them gets into the
 * layer. DPkg::Path "" keeps the PATH by which the wrappers below are found. */
static const char apt_conf[] = "Dir::Etc::SourceList \"/run/kiln/apt/sources.list\";\n"
			       "Dir::Etc::SourceParts \"/dev/null\";\n"
			       "Dir::State::Lists \"/run/kiln/lists\";\n"
			       "Dir::Cache \"/run/kiln/cache\";\n"
			       "Dir::Log::Terminal \"\";\n"
			       "Dir::Log::History \"\";\n"
			       "APT::Install-Recommends \"false\";\n"
			       "APT::Sandbox::User \"root\";\n"
			       "Acquire::Languages \"none\";\n"
			       "DPkg::Use-Pty \"false\";\n"
			       "DPkg::Path \"\";\n"
			       "DPkg::Options { \"--force-unsafe-io\"; };\n";

static const char apt_sources[] = "deb [trusted=yes] file:/run/kiln/pool ./\n";

static const char policy_rc_d[] = "#!/bin/sh\nexit 101\n";

/* Under four names. Calls that make no system account, or name its number, are passed on as they are. 200 to 899: below
 * and above are the numbers that the tools themselves give first. */
static const char add_account[] =
	"#!/bin/sh\n"
	"tool=${0##*/} system= number= name= more= skip=\n"
	"for arg in \"$@\"; do\n"
	"  if [ -n \"$skip\" ]; then skip=; continue; fi\n"
	"  case $arg in\n"
	"  --system|-r) system=1 ;;\n"
	"  --uid|--uid=*|-u) number=1; skip=1 ;;\n"
	"  --gid|--gid=*|-g) skip=1; case $tool in *group*) number=1 ;; esac ;;\n"
	"  --home|--shell|--firstuid|--lastuid|--firstgid|--lastgid|--ingroup|--conf|--gecos|--comment) skip=1 ;;\n"
	"  --home-dir|--base-dir|--expiredate|--inactive|--groups|--skel|--key|--password|--root|--prefix) skip=1 ;;\n"
	"  -[dscbefGkKpRPZ]) skip=1 ;;\n"
	"  -*) ;;\n"
	"  *) [ -z \"$name\" ] || more=1; name=$arg ;;\n"
	"  esac\n"
	"  case $arg in --*=*) skip= ;; esac\n"
	"done\n"
	"case $tool in *group*) base=group option=gid ;; *) base=passwd option=uid ;; esac\n"
	"case $tool in useradd) option=-u ;; groupadd) option=-g ;; *) option=--$option ;; esac\n"
	"if [ -n \"$system\" ] && [ -n \"$name\" ] && [ -z \"$more$number\" ] &&\n"
	"   ! getent \"$base\" \"$name\" >/dev/null; then\n"
	"  sum=$(printf %s \"$name\" | cksum)\n"
	"  id=$((200 + ${sum%% *} % 700))\n"
	"  while getent passwd \"$id\" >/dev/null || getent group \"$id\" >/dev/null; do\n"
	"    id=$((id + 1))\n"
	"    [ \"$id\" -lt 900 ] || id=200\n"
	"  done\n"
	"  set -- \"$option\" \"$id\" \"$@\"\n"
	"fi\n"
	"exec \"/usr/sbin/$tool\" \"$@\"\n";

static int scaffold_write(const char *dir, const char *name, const char *text, mode_t mode, struct err *e)
{
	AUTO_STR path = fdio_join(dir, name);
	AUTO_STR parent = path ? strndup(path, (size_t)(strrchr(path, '/') - path)) : NULL;
	if (!parent)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = fdio_mkdir_p(parent, 0755, e);
	return rc < 0 ? rc : fdio_write_file(AT_FDCWD, path, text, strlen(text), mode, e);
}

int scaffold_make(const char *dir, struct err *e)
{
	const struct {
		const char *path, *text;
		mode_t mode;
	} files[] = {
		{ "apt/apt.conf", apt_conf, 0644 },
		{ "apt/sources.list", apt_sources, 0644 },
		{ "scaffold/usr/sbin/policy-rc.d", policy_rc_d, 0755 },
		{ "scaffold/usr/local/sbin/adduser", add_account, 0755 },
		{ "scaffold/usr/local/sbin/addgroup", add_account, 0755 },
		{ "scaffold/usr/local/sbin/useradd", add_account, 0755 },
		{ "scaffold/usr/local/sbin/groupadd", add_account, 0755 },
	};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(files) && rc == 0; i++)
		rc = scaffold_write(dir, files[i].path, files[i].text, files[i].mode, e);
	return rc;
}
