#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What every verb's command line has in common: help, version, mistakes, exit codes, completion.
# $path is a command line, so it is left to be split.
# shellcheck disable=SC2086
load ../helper
bats_require_minimum_version 1.5.0

setup() {
  own_state
}

# Every verb and sub-verb that this kiln has, one path a line, as its own help lists them.
verbs() {
  local path=$1 sub
  [ "$path" = kiln ] || echo "$path"
  for sub in $($path --help | sed -n '/^verbs:/,/^$/s/^  \([a-z_]*\) .*/\1/p'); do
    verbs "$path $sub"
  done
}

# The words that bash would offer for a line; the last word is the one being typed. Words are given as bash splits them.
offers() {
  # shellcheck source=/dev/null
  source <(kiln completion bash)
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _kiln
  printf '%s\n' "${COMPREPLY[@]}"
}

@test "kiln --version prints one line" {
  run kiln --version
  [ "$status" -eq 0 ]
  [[ "$output" =~ ^kiln\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "--help of kiln and of every verb: standard output, exit 0, usage first, one line for each option" {
  local path count=0
  while read -r path; do
    run --separate-stderr $path --help
    [ "$status" -eq 0 ] || { echo "$path: $status"; return 1; }
    [ -z "$stderr" ] || { echo "$path says on stderr: $stderr"; return 1; }
    [[ "${lines[0]}" == "usage: $path"* ]] || { echo "$path: ${lines[0]}"; return 1; }
    count=$((count + 1))
  done < <(echo kiln; verbs kiln)
  [ "$count" -gt 3 ]
}

@test "-h is --help, also behind operands" {
  run kiln completion bash -h
  [ "$status" -eq 0 ]
  [[ "$output" == "usage: kiln completion"* ]]
}

@test "every verb refuses an unknown option with one line, exit 2, and says where its help is" {
  local path
  while read -r path; do
    run $path --quixotic
    refuses 2 "unknown option '--quixotic'" "see '$path --help'"
  done < <(verbs kiln)
}

@test "an option that is nearly right is suggested" {
  run kiln launch up --nodez 2 demo
  refuses 2 "^kiln: unknown option '--nodez' \(did you mean '--nodes'\?\); see 'kiln launch up --help'$"
  run kiln --hepl
  refuses 2 "did you mean '--help'"
}

@test "a verb that is nearly right is suggested; one that is nothing like it gets the list" {
  run kiln lanuch up demo
  refuses 2 "^kiln: unknown verb 'lanuch' \(did you mean 'launch'\?\); see 'kiln --help'$"
  run kiln launch pu demo
  refuses 2 "unknown verb 'pu' \(did you mean 'up'\?\); see 'kiln launch --help'"
  run kiln frobnicate
  refuses 2 "unknown verb 'frobnicate'; one of: .*launch" "see 'kiln --help'"
}

@test "no verb at all: one line that lists them" {
  run kiln
  refuses 2 "launch" "see 'kiln --help'"
  run kiln launch
  refuses 2 "up" "see 'kiln launch --help'"
}

@test "missing and surplus operands and values" {
  run kiln completion
  refuses 2 "it needs bash"
  run kiln completion bash more
  refuses 2 "'more' is too much"
  run kiln completion fish
  refuses 2 "'fish'" "bash"
  run kiln launch up demo --nodes
  refuses 2 "'--nodes' needs a value"
  run kiln launch up demo --nodes=many
  refuses 2 "'--nodes' needs a whole number, not 'many'"
  run kiln launch up demo --on moon
  refuses 2 "'--on' must be .*local.*, not 'moon'"
}

@test "results that cannot be written are an error, not silence" {
  for words in "--help" "--version" "completion bash" "launch --help"; do
    run bash -c "kiln $words > /dev/full"
    refuses 1 "cannot write standard output: No space left on device"
  done
}

@test "the completion script is clean bash" {
  kiln completion bash > "$BATS_TEST_TMPDIR/kiln"
  bash -n "$BATS_TEST_TMPDIR/kiln"
  need_program shellcheck
  shellcheck -s bash "$BATS_TEST_TMPDIR/kiln"
}

@test "completion offers verbs and sub-verbs" {
  run offers kiln ""
  [[ "$output" == *launch* && "$output" == *completion* ]]
  run offers kiln la
  [ "$output" = launch ]
  run offers kiln launch ""
  [[ "$output" == *up* && "$output" == *down* && "$output" != *completion* ]]
  run offers kiln completion ""
  [ "$output" = bash ]
}

@test "completion offers every option that --help tells, for every verb" {
  local path option
  while read -r path; do
    offers $path -- > "$BATS_TEST_TMPDIR/offered"
    for option in $($path --help | sed -n '/^options:/,/^$/s/^ .*\(--[a-z][a-z0-9_-]*\) .*/\1/p' | sort -u); do
      grep -qx -e "$option" "$BATS_TEST_TMPDIR/offered" || { echo "$path does not offer $option"; return 1; }
    done
    grep -qx -e --help "$BATS_TEST_TMPDIR/offered"
  done < <(verbs kiln)
}

@test "completion offers an option's words, in both spellings" {
  run offers kiln launch up --on ""
  [[ "$output" == *local* && "$output" != *--nodes* ]]
  run offers kiln launch up --on lo
  [ "$output" = local ]
  run offers kiln launch up --on = ""
  [[ "$output" == *local* ]]
  run offers kiln launch up --on =
  [[ "$output" == *local* ]]
  run offers kiln launch up --on = lo
  [ "$output" = local ]
  run offers kiln launch up --nodes ""
  [ -z "$output" ]
}

@test "completion offers files for what is a file" {
  cd "$BATS_TEST_TMPDIR"
  touch "a stack.json" another
  mkdir afolder
  run offers kiln plan a
  [[ "$output" == *"a stack.json"* && "$output" == *another* && "$output" == *afolder* ]]
  [ "${#lines[@]}" -eq 3 ]
}

@test "completion works when bash itself asks" {
  run bash --norc -ic 'source <(kiln completion bash); complete -p kiln' 2>/dev/null
  [[ "$output" == *"complete -F _kiln kiln"* ]]
}
