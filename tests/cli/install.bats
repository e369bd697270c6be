# SPDX-License-Identifier: MIT
# `make install`: what lands where, and that an installed kiln is complete.
load ../helper

setup_file() {
  export STAGE="$BATS_FILE_TMPDIR/stage"
  meson install -C "$KILN_BUILD" --no-rebuild --quiet --destdir="$STAGE" >/dev/null
  PREFIX=$(meson introspect --buildoptions "$KILN_BUILD" | jq -r '.[] | select(.name == "prefix").value')
  export PREFIX
}

@test "install puts the program, its other names and its completion where the system looks" {
  [ -x "$STAGE$PREFIX/bin/kiln" ]
  [ "$(readlink "$STAGE$PREFIX/bin/all_reduce_perf")" = kiln ]
  [ "$(readlink "$STAGE$PREFIX/bin/nccl_message_transfer")" = kiln ]
  bash -n "$STAGE$PREFIX/share/bash-completion/completions/kiln"
}

@test "an installed kiln has all that it bakes from: the same plan as the source tree's" {
  local from_source from_install
  from_source=$(kiln plan "$ROOT/stacks/local.json" --json 2>/dev/null | jq -r .key)
  from_install=$(KILN_DATA="$STAGE$PREFIX/share/kiln" "$STAGE$PREFIX/bin/kiln" plan "$ROOT/stacks/local.json" --json 2>/dev/null | jq -r .key)
  [ -n "$from_source" ]
  [ "$from_source" = "$from_install" ]
}

@test "a kiln without its data says what is missing and what to do" {
  # as if only the program had been copied: it is not in its build folder and has no data beside it
  cp "$STAGE$PREFIX/bin/kiln" "$BATS_TEST_TMPDIR/kiln"
  mkdir "$BATS_TEST_TMPDIR/empty"
  KILN_DATA="$BATS_TEST_TMPDIR/empty" run "$BATS_TEST_TMPDIR/kiln" plan "$ROOT/stacks/local.json"
  refuses 3 "empty" "KILN_DATA"
}
