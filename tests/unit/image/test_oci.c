/* SPDX-License-Identifier: MIT */
/* An image is written, read back, and any damage to it is told. */
#include "tree.h"

#include <sys/wait.h>

#include "image/layer.h"
#include "image/oci.h"

static struct layer_info layers[2];

static void make_layers(void)
{
	for (size_t i = 0; i < COUNT_OF(layers); i++) {
		char key[DIGEST_HEX_BYTES];
		AUTO_STR dir = NULL;
		memset(key, (int)('a' + i), sizeof(key) - 1);
		key[sizeof(key) - 1] = '\0';
		assert_int_equal(layer_begin(key, &dir, NULL), 0);
		AUTO_STR file = str_printf("%s/fs/file%zu", dir, i);
		assert_int_equal(fdio_write_file(AT_FDCWD, file, "text", 4, 0644, NULL), 0);
		assert_int_equal(layer_commit(dir, key, i ? "upper" : "base", "1", TREE_EPOCH, true, &layers[i], NULL),
				 0);
	}
}

static void write_image(const char *rel, char digest[DIGEST_HEX_BYTES])
{
	struct err e = { 0 };
	char *env[] = { "PATH=/bin", "FI_PROVIDER=tcp;ofi_rxm", NULL };
	char *labels[] = { "dev.kiln.plan=0123", NULL };
	struct oci_spec spec = { .name = "local:latest",
				 .architecture = "amd64",
				 .epoch = TREE_EPOCH,
				 .env = env,
				 .labels = labels,
				 .layers = layers,
				 .layer_count = COUNT_OF(layers) };
	AUTO_STR path = tree_path(rel);
	if (oci_write(path, &spec, digest, &e) < 0)
		fail_msg("%s", e.msg);
}

static void an_image_reads_back(void **state)
{
	(void)state;
	char digest[DIGEST_HEX_BYTES], again[DIGEST_HEX_BYTES];
	make_layers();
	write_image("image", digest);
	AUTO_STR path = tree_path("image");
	AUTO(oci_image) image = NULL;
	assert_int_equal(oci_open(path, &image, NULL), 0);
	assert_string_equal(image->digest, digest);
	assert_string_equal(image->name, "local:latest");
	assert_int_equal(image->layer_count, 2);
	assert_string_equal(image->layers[1].diff_id, layers[1].diff_id);
	assert_string_equal(image->env[1], "FI_PROVIDER=tcp;ofi_rxm");
	assert_null(image->env[2]);
	assert_string_equal(image->labels[0], "dev.kiln.plan=0123");
	write_image("image", again); /* over the older one */
	assert_string_equal(again, digest);
	write_image("other", again);
	assert_string_equal(again, digest);
}

static void layers_come_from_the_store_or_are_unpacked(void **state)
{
	(void)state;
	need_root();
	char digest[DIGEST_HEX_BYTES];
	make_layers();
	write_image("image", digest);
	AUTO_STR path = tree_path("image");
	AUTO(oci_image) image = NULL;
	AUTO_STRINGS dirs = NULL;
	AUTO_STRINGS again = NULL;
	assert_int_equal(oci_open(path, &image, NULL), 0);
	assert_int_equal(oci_layer_dirs(path, image, &dirs, NULL), 0);
	assert_non_null(strstr(dirs[0], layers[0].key)); /* as it was baked, not unpacked */
	assert_null(dirs[2]);

	AUTO_STR store = tree_path("state/layers");
	assert_int_equal(fdio_remove_tree(store, NULL), 0); /* as on another machine */
	assert_int_equal(oci_layer_dirs(path, image, &again, NULL), 0);
	AUTO_STR file = str_printf("%s/file1", again[1]);
	assert_true(fdio_exists(AT_FDCWD, file));
}

/* Unpacks as soon as `go` is closed, and tells which folder it was given. */
static void unpack_in_a_process(const char *path, int go, int answer)
{
	AUTO(oci_image) image = NULL;
	AUTO_STRINGS dirs = NULL;
	struct stat st = { 0 };
	char byte;

	if (read(go, &byte, 1) == 0 && oci_open(path, &image, NULL) == 0 &&
	    oci_layer_dirs(path, image, &dirs, NULL) == 0 && stat(dirs[0], &st) < 0)
		st.st_ino = 0;
	/* With the time: the number of a folder that was removed is soon another's. */
	uint64_t one =
		st.st_ino ? (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec + st.st_ino : 0;
	ssize_t n = write(answer, &one, sizeof(one));
	_exit(n == (ssize_t)sizeof(one) ? 0 : 1);
}

static void many_at_once_unpack_one_layer(void **state)
{
	(void)state;
	need_root();
	enum { MANY = 32 };
	char digest[DIGEST_HEX_BYTES];
	int go[2], answer[2];
	uint64_t first = 0, one = 0;
	make_layers();
	write_image("image", digest);
	AUTO_STR path = tree_path("image");
	AUTO_STR store = tree_path("state/layers");
	assert_int_equal(fdio_remove_tree(store, NULL), 0);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(answer), 0);
	for (int i = 0; i < MANY; i++) {
		if (fork() == 0) {
			close(go[1]);
			unpack_in_a_process(path, go[0], answer[1]);
		}
	}
	close(go[0]);
	close(go[1]);
	close(answer[1]);
	for (int i = 0; i < MANY; i++) {
		int status = -1;
		assert_int_equal(read(answer[0], &one, sizeof(one)), sizeof(one));
		first = i == 0 ? one : first;
		assert_true(one != 0 && one == first); /* nobody's folder was replaced under somebody else */
		assert_true(wait(&status) > 0);
	}
	close(answer[0]);
}

static void refuse_open(const char *rel, const char *says)
{
	struct err e = { 0 };
	AUTO_STR path = tree_path(rel);
	AUTO(oci_image) image = NULL;
	assert_true(oci_open(path, &image, &e) < 0);
	assert_int_equal(e.space, ERR_INPUT);
	if (!strstr(e.msg, says))
		fail_msg("'%s' does not say '%s'", e.msg, says);
}

/* Changes one character of a blob. */
static void damage(const char *digest)
{
	AUTO_STR path = str_printf("%s/image/blobs/sha256/%s", tree_dir, digest);
	AUTO_FD fd = open(path, O_RDWR | O_CLOEXEC);
	char c;
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, 40), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, 40), 1);
}

static void damage_is_told(void **state)
{
	(void)state;
	need_root();
	char digest[DIGEST_HEX_BYTES];
	struct err e = { 0 };
	make_layers();
	refuse_open("nothing-here", "not an OCI image");
	write_image("image", digest);
	damage(digest);
	refuse_open("image", "manifest does not match its digest");

	write_image("image", digest);
	AUTO_STR path = tree_path("image");
	AUTO_STR blob = str_printf("%s/blobs/sha256/%s", path, layers[1].digest);
	AUTO(oci_image) image = NULL;
	AUTO_STRINGS dirs = NULL;
	assert_int_equal(oci_open(path, &image, NULL), 0);
	AUTO_STR store = tree_path("state/layers");
	assert_int_equal(fdio_remove_tree(store, NULL), 0);
	damage(layers[1].digest);
	assert_true(oci_layer_dirs(path, image, &dirs, &e) < 0);
	assert_int_equal(e.space, ERR_INPUT);
	assert_non_null(strstr(e.msg, layers[1].digest));
	assert_int_equal(truncate(blob, 10), 0);
	refuse_open("image", "missing or cut off");
	assert_int_equal(unlink(blob), 0);
	refuse_open("image", "missing or cut off");
}

static void what_is_no_image_is_not_replaced(void **state)
{
	(void)state;
	char digest[DIGEST_HEX_BYTES];
	struct err e = { 0 };
	struct oci_spec spec = { .name = "x:latest", .architecture = "amd64", .layers = layers, .layer_count = 2 };
	make_layers();
	tree_file("home/precious", "text", 0644);
	AUTO_STR path = tree_path("home");
	assert_true(oci_write(path, &spec, digest, &e) < 0);
	assert_int_equal(e.space, ERR_INPUT);
	AUTO_STR text = tree_read("home/precious");
	assert_string_equal(text, "text");
}

static void references_cannot_lead_out(void **state)
{
	(void)state;
	tree_file("image/oci-layout", "{}", 0644);
	tree_file("image/index.json",
		  "{\"manifests\":[{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
		  "\"digest\":\"sha256:../../../../../../../../../../../../../../../../../../../etc/passwd\"}]}",
		  0644);
	refuse_open("image", "no usable digest");
	tree_file("image/index.json", "{\"manifests\":[]}", 0644);
	refuse_open("image", "no image manifest");
	tree_file("image/index.json", "not json", 0644);
	refuse_open("image", "no image manifest");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_image_reads_back, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(layers_come_from_the_store_or_are_unpacked, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(many_at_once_unpack_one_layer, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(damage_is_told, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(what_is_no_image_is_not_replaced, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(references_cannot_lead_out, tree_setup, tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
