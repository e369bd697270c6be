/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/digest.h"
#include "base/fdio.h"
#include "base/own.h"

#define SUM_OF(digit)                                                                                                 \
	digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit   \
		digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit \
			digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit     \
				digit digit digit digit digit digit digit digit digit digit digit digit digit digit
#define PACKAGE(name, version, file_version, digit, more)                                        \
	"Package: " name "\nVersion: " version "\nArchitecture: all\nMaintainer: nobody "        \
	"<n@example.com>\nDescription: a test\nSize: 100\nFilename: pool/" name "_" file_version \
	"_all.deb\nSHA256: " SUM_OF(digit) "\n" more "\n"

const char fixture_packages[] = PACKAGE("base-files", "12.1", "12.1", "0", "Essential: yes\nPriority: required\n")
	PACKAGE("libc", "2.0-1", "2.0-1", "1", "Priority: required\n") PACKAGE(
		"apt", "2.6", "2.6", "2", "Depends: libc\n") PACKAGE("liba", "1:1.1-1", "1.1-1", "3", "Depends: libc\n")
		PACKAGE("liba", "1:1.0-1", "1.0-1", "4", "Depends: libc\n") PACKAGE("libshared", "3-1", "3-1", "5", "")
			PACKAGE("tool", "5+x~1", "5+x~1", "6", "Depends: liba, libshared\nRecommends: extra\n")
				PACKAGE("extra", "9", "9", "7", "")
					PACKAGE("cc", "12.2", "12.2", "8", "Depends: libshared\n")
						PACKAGE("foe", "1", "1", "9", "Conflicts: tool\n")
							PACKAGE("broken", "1", "1", "a", "Depends: nowhere\n");

static const char os_json[] =
	"{ \"os\": 1, \"rows\": [ { \"name\": \"tiny1\", \"title\": \"Tiny 1\", \"suite\": \"tiny\","
	" \"family\": \"apt\", \"keyring\": \"%s/key.gpg\", \"keyring_package\": \"tiny-keyring\","
	" \"mirrors\": [ { \"uri\": \"file:%s/repo\", \"suites\": [\"tiny\"], \"components\": [\"main\"] } ],"
	" \"source\": \"this test\", \"date\": \"2026-01-01\" } ] }\n";

void fixture_write(struct fixture *f, const char *path, const char *text)
{
	AUTO_STR whole = fdio_join(f->dir, path);
	struct err e = { 0 };
	assert_non_null(whole);
	char *slash = strrchr(whole, '/');
	*slash = '\0';
	assert_int_equal(fdio_mkdir_p(whole, 0755, &e), 0);
	*slash = '/';
	if (fdio_write_file(AT_FDCWD, whole, text, strlen(text), 0644, &e) < 0)
		fail_msg("%s", e.msg);
}

void fixture_component(struct fixture *f, const char *name, const char *json)
{
	static const char *const files[] = { "component.json", "install.sh", "verify.sh" };
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		AUTO_STR path = str_printf("data/components/%s/%s", name, files[i]);
		fixture_write(f, path, i == 0 ? json : "true\n");
	}
}

static void add_components(struct fixture *f)
{
	fixture_component(f, "lib",
			  "{ \"component\": 1, \"name\": \"lib\", \"help\": \"a library\",\n"
			  "  \"os\": { \"tiny1\": { \"packages\": [\"liba\"], \"version_of\": \"liba\" } } }\n");
	fixture_component(f, "tool",
			  "{ \"component\": 1, \"name\": \"tool\", \"help\": \"a tool\",\n"
			  "  \"os\": { \"tiny1\": { \"packages\": [\"tool\"], \"version_of\": \"tool\" } },\n"
			  "  \"needs\": [\"lib\"], \"env\": { \"TOOL_HOME\": \"/opt\" } }\n");
	fixture_component(
		f, "shared",
		"{ \"component\": 1, \"name\": \"shared\", \"help\": \"what tool needs too\",\n"
		"  \"os\": { \"tiny1\": { \"packages\": [\"libshared\"], \"version_of\": \"libshared\" } } }\n");
	fixture_component(
		f, "own",
		"{ \"component\": 1, \"name\": \"own\", \"help\": \"own source\", \"source\": \"self\",\n"
		"  \"os\": { \"tiny1\": { \"packages\": [\"libshared\"], \"build_packages\": [\"cc\"] } } }\n");
	fixture_component(f, "foe",
			  "{ \"component\": 1, \"name\": \"foe\", \"help\": \"conflicts with tool\",\n"
			  "  \"os\": { \"tiny1\": { \"packages\": [\"foe\"], \"version_of\": \"foe\" } } }\n");
	fixture_component(f, "elsewhere",
			  "{ \"component\": 1, \"name\": \"elsewhere\", \"help\": \"another system's\",\n"
			  "  \"os\": { \"other1\": { \"packages\": [\"x\"], \"version_of\": \"x\" } } }\n");
	fixture_write(f, "data/meson.build", "project('x')\n");
	fixture_write(f, "data/meson_options.txt", "\n");
	fixture_write(f, "data/src/x.c", "int x;\n");
	fixture_write(f, "data/scripts/catalog.py", "\n");
	fixture_write(f, "data/catalog/x.json", "{}\n");
}

void fixture_init(struct fixture *f)
{
	const char *tmp = getenv("TMPDIR");
	f->dir = str_printf("%s/kiln-stack-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(f->dir);
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(chmod(f->dir, 0755), 0); /* apt reads the mirror as its own user */
	AUTO_STR os = str_printf(os_json, f->dir, f->dir);
	AUTO_STR data = fdio_join(f->dir, "data");
	AUTO_STR state = fdio_join(f->dir, "state");
	fixture_write(f, "data/catalog/os.json", os);
	add_components(f);
	setenv("KILN_DATA", data, 1);
	setenv("KILN_STATE", state, 1);
	unsetenv("SOURCE_DATE_EPOCH");
}

/* gpg with the fixture's own home; asserts that it works. */
static void gpg(struct fixture *f, const char *const *more)
{
	AUTO_STR home = fdio_join(f->dir, "gpg");
	const char *argv[24] = { "gpg",   "--homedir",       home,       "--batch",      "--quiet",
				 "--yes", "--pinentry-mode", "loopback", "--passphrase", "" };
	size_t n = 10;
	struct err e = { 0 };
	for (; *more; more++)
		argv[n++] = *more;
	const struct child_spec spec = { .argv = argv, .timeout_ms = 60000 };
	AUTO_STR output = NULL;
	if (child_output(&spec, &output, &e) < 0)
		fail_msg("%s", e.msg);
}

void fixture_publish(struct fixture *f, const char *date, const char *packages)
{
	static const char *const indices[] = { "main/binary-amd64/Packages", "main/binary-arm64/Packages" };
	char sum[DIGEST_HEX_BYTES];
	digest_of(packages, strlen(packages), sum);
	AUTO_BUF release;
	buf_init(&release, 1 << 20);
	buf_printf(&release,
		   "Origin: tiny\nSuite: stable\nCodename: tiny\nDate: %s\nArchitectures: amd64 arm64\nComponents: "
		   "main\nSHA256:\n",
		   date);
	for (size_t i = 0; i < COUNT_OF(indices); i++) {
		AUTO_STR path = str_printf("repo/dists/tiny/%s", indices[i]);
		fixture_write(f, path, packages);
		buf_printf(&release, " %s %zu %s\n", sum, strlen(packages), indices[i]);
	}
	fixture_write(f, "repo/dists/tiny/Release", buf_text(&release));
	AUTO_STR in = fdio_join(f->dir, "repo/dists/tiny/Release");
	AUTO_STR out = fdio_join(f->dir, "repo/dists/tiny/InRelease");
	gpg(f, (const char *[]){ "--clearsign", "--output", out, in, NULL });
}

bool fixture_make_repository(struct fixture *f)
{
	static const char *const programs[] = { "gpg", "gpgconf", "apt-get", "apt-cache" };
	for (size_t i = 0; i < COUNT_OF(programs); i++) {
		AUTO_STR path = child_which(programs[i]);
		if (!path)
			return false;
	}
	AUTO_STR home = fdio_join(f->dir, "gpg");
	AUTO_STR key = fdio_join(f->dir, "key.gpg");
	assert_int_equal(mkdir(home, 0700), 0);
	gpg(f, (const char *[]){ "--quick-gen-key", "tiny@example.com", "ed25519", "sign", "0", NULL });
	gpg(f, (const char *[]){ "--output", key, "--export", NULL });
	assert_int_equal(chmod(key, 0644), 0);
	fixture_publish(f, FIXTURE_DATE, fixture_packages);
	return true;
}

void fixture_fini(struct fixture *f)
{
	AUTO_STR home = fdio_join(f->dir, "gpg");
	struct err e = { 0 };
	if (fdio_exists(AT_FDCWD, home)) { /* gpg has started an agent for its home */
		const char *argv[] = { "gpgconf", "--homedir", home, "--kill", "all", NULL };
		const struct child_spec spec = { .argv = argv, .timeout_ms = 60000 };
		if (child_check(&spec, &e) < 0)
			print_message("%s\n", e.msg);
	}
	if (fdio_remove_tree(f->dir, &e) < 0)
		fail_msg("%s", e.msg);
	free(f->dir);
}

int fixture_plan_text(struct fixture *f, const char *text, bool update, struct plan **ret, struct err *e)
{
	const struct plan_options options = { .update = update };
	AUTO_STR path = fdio_join(f->dir, "stack.json");
	AUTO(stack) s = NULL;
	fixture_write(f, "stack.json", text);
	int rc = stack_load(path, &s, e);
	return rc < 0 ? rc : plan_resolve(s, &options, ret, e);
}

int fixture_plan(struct fixture *f, const char *components, bool update, struct plan **ret, struct err *e)
{
	AUTO_STR text = str_printf("{ \"stack\": 1, \"name\": \"t\", \"os\": \"tiny1\",\n\"components\": {\n%s } }\n",
				   components);
	return fixture_plan_text(f, text, update, ret, e);
}

const struct plan_step *fixture_step(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->step_count; i++)
		if (strcmp(p->steps[i].name, name) == 0)
			return &p->steps[i];
	fail_msg("the plan has no step '%s'", name);
	return NULL;
}

int fixture_setup(void **state)
{
	static struct fixture f;
	fixture_init(&f);
	*state = &f;
	if (fixture_make_repository(&f))
		return 0;
	print_message("needs apt-get, apt-cache, gpg and gpgconf, of which one is not installed\n");
	fixture_fini(&f);
	*state = NULL;
	return 0;
}

int fixture_teardown(void **state)
{
	if (*state)
		fixture_fini(*state);
	return 0;
}
