# SPDX-License-Identifier: MIT
# What every bats file loads: the kiln under test, a state folder, and words for what a test needs.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT
export PATH="${KILN_BUILD:-$ROOT/build}/src:$PATH"
export KILN_DATA="$ROOT"
# Shared by the system tests and `make demo`, so that what one downloaded and built serves the other.
export KILN_STATE="${KILN_STATE:-$ROOT/.kiln}"

# A state folder of the test's own, for tests that must start from nothing.
own_state() {
  export KILN_STATE="$BATS_TEST_TMPDIR/state"
  mkdir -p "$KILN_STATE"
}

need_root() {
  [ "$(id -u)" -eq 0 ] || skip "needs root (namespaces and overlay mounts)"
}

need_program() {
  command -v "$1" >/dev/null || skip "needs $1, which is not installed"
}

# One clear line: exit status $1, exactly one line on standard error, and it matches the extended regexps that follow.
# shellcheck disable=SC2154 # status and output are set by bats' run
refuses() {
  local want=$1 rx
  shift
  [ "$status" -eq "$want" ] || { echo "exit status $status, not $want: $output"; return 1; }
  [ "$(printf '%s\n' "$output" | grep -c .)" -eq 1 ] || { echo "not one line: $output"; return 1; }
  for rx in "$@"; do
    [[ "$output" =~ $rx ]] || { echo "does not say '$rx': $output"; return 1; }
  done
}
