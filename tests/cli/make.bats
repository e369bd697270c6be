# SPDX-License-Identifier: MIT
# The Makefile's own part: who asks sudo for what, and from where. Only what it would run is looked at (make -n).
load ../helper

setup() {
  need_program make
  # A machine of our own: nobody is root on it, and it has sudo or not.
  BIN="$BATS_TEST_TMPDIR/bin"
  mkdir "$BIN"
  printf '#!/bin/sh\necho 1000\n' >"$BIN/id"
  printf '#!/bin/sh\nexit 1\n' >"$BIN/sudo"
  ln -s "$(command -v make)" "$(command -v sh)" "$BIN"
  chmod +x "$BIN/id" "$BIN/sudo"
  # A path with a space, where the build is set up already.
  PLACE="$BATS_TEST_TMPDIR/a place"
  mkdir -p "$PLACE/build"
  cp "$ROOT/Makefile" "$PLACE"
  touch "$PLACE/build/build.ninja"
}

would_run() {
  env -u MAKEFLAGS -u MAKELEVEL -u KILN_STATE -u BUILD PATH="$BIN" make --no-print-directory -C "$PLACE" -n "$@"
}

@test "not root, with sudo: what needs root is run by sudo, which keeps what we set" {
  local goal
  for goal in demo check bench; do
    run would_run "$goal"
    [ "$status" -eq 0 ]
    [[ "$output" == *"sudo --preserve-env=KILN_STATE,KILN_BUILD,CI,NO_COLOR env KILN_BUILD='$PLACE/build' "* ]]
  done
}

@test "not root, without sudo: run as we are; each part then says what it cannot do" {
  rm "$BIN/sudo"
  run would_run demo
  [ "$status" -eq 0 ]
  [[ "${lines[-1]}" == "env KILN_BUILD='$PLACE/build' scripts/demo" ]]
  run would_run check
  [[ "${lines[-1]}" == "env KILN_BUILD='$PLACE/build' tests/run unit cli system" ]]
}
