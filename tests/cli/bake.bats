# SPDX-License-Identifier: MIT
# bats runs each test in a subshell and sets $stderr; what is in single quotes is for a script that is written.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154
# kiln bake: what it refuses before any work is done.
bats_require_minimum_version 1.5.0
load ../helper

setup() {
  own_state
  cd "$BATS_TEST_TMPDIR" || return 1
  printf '{ "stack": 1, "name": "t", "os": "debian12", "components": { "openssh": "latest" } }\n' >stack.json
}

# As somebody who is not root, with a state folder that they may write.
as_nobody() {
  if [ "$(id -u)" -eq 0 ]; then
    need_program setpriv
    chmod 1777 "$KILN_STATE"
    chmod a+rx "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$(command -v kiln)" || skip "nobody may not run this kiln"
    setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
  else
    "$@"
  fi
}

# Nothing was fetched, built or left.
untouched() {
  [ -z "$(find "$KILN_STATE" -type f)" ] || { find "$KILN_STATE" -type f; return 1; }
}

@test "bake without a target lists the targets" {
  run kiln bake --help
  [ "$status" -eq 0 ]
  [[ "$output" == *oci* && "$output" == *sqsh* ]]
}

@test "an unknown target is named" {
  run kiln bake ocl stack.json
  refuses 2 'ocl' 'oci'
}

@test "a stack that is not there is named" {
  run kiln bake oci missing.json
  [ "$status" -ne 0 ]
  [[ "$output" == *missing.json* ]]
  untouched
}

@test "a mistake in the stack is told with file and line" {
  printf '{ "stack": 1,\n  "name": "t", "os": "debian12", "componentz": {} }\n' >bad.json
  for target in oci sqsh; do
    run kiln bake "$target" bad.json
    refuses 2 'bad.json:2' 'componentz'
  done
  untouched
}

@test "who is not root is told to use sudo" {
  run as_nobody kiln bake oci stack.json
  refuses 3 'needs root for overlay mounts: run it with sudo'
  untouched
}

@test "an output whose folder is missing is refused before any work" {
  need_root
  run kiln bake oci --output nowhere/image stack.json
  refuses 2 'nowhere' 'make it or choose another --output'
  need_program mksquashfs
  run kiln bake sqsh --output nowhere/image.sqsh stack.json
  refuses 2 'nowhere' 'make it or choose another --output'
  untouched
}

@test "an output that cannot be written is refused before any work" {
  need_root
  need_program unshare
  mkdir ro
  run unshare --mount bash -c 'mount -t tmpfs -o ro none ro && exec kiln bake oci --output ro/image stack.json'
  [[ "$output" != *"unshare failed"* && "$output" != *"must be superuser"* ]] || skip "no mount namespaces here"
  refuses 3 'ro/image' 'Read-only file system' 'choose another --output'
  untouched
}

@test "a folder that is no image is not replaced" {
  need_root
  mkdir home
  echo precious >home/file
  run kiln bake oci --output home stack.json
  refuses 2 'home is there and is not an OCI image'
  [ "$(cat home/file)" = precious ]
  need_program mksquashfs
  run kiln bake sqsh --output home stack.json
  refuses 2 'home is there and is not a file'
  untouched
}

@test "a squashfs without mksquashfs says what to install" {
  need_root
  mkdir bin
  ln -s "$(command -v kiln)" bin/kiln
  PATH="$PWD/bin" run kiln bake sqsh stack.json
  refuses 3 'mksquashfs is not installed: apt-get install squashfs-tools'
  untouched
}
