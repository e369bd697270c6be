#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln launch: what it refuses, and how. Makes no cluster.
load ../helper

setup() {
  own_state
}

# An image as far as finding it goes.
layout() {
  mkdir -p "$KILN_STATE/images/$1"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$KILN_STATE/images/$1/oci-layout"
}

# Runs kiln as somebody who is not root.
unprivileged() {
  if [ "$(id -u)" -eq 0 ]; then
    need_program setpriv
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
    setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$@"
  else
    "$@"
  fi
}

@test "launch: its verbs are in the help, and each has its own" {
  run kiln launch --help
  [ "$status" -eq 0 ]
  for verb in up status hosts ssh down; do
    [[ "$output" == *"$verb"* ]]
    run kiln launch "$verb" --help
    [ "$status" -eq 0 ]
    run kiln launch --help
  done
  run kiln launch up --help
  for word in --on --nodes --slots --image --json; do [[ "$output" == *"$word"* ]]; done
}

@test "launch: bad names are refused by every verb" {
  for name in Demo 1a a_b a.b ../x 'a b' demo-2 "$(printf 'a%.0s' {1..32})"; do
    for verb in up status hosts ssh down; do
      run kiln launch "$verb" "$name"
      refuses 2 "^kiln launch $verb: " "cannot be a cluster's name"
    done
  done
}

@test "launch: a missing or a superfluous operand is a usage error" {
  for verb in up hosts ssh down; do
    run kiln launch "$verb"
    refuses 2 "$verb"
  done
  run kiln launch up one two
  refuses 2 up
}

@test "launch up: numbers out of range and unknown places" {
  run kiln launch up x --nodes 0
  refuses 2 '--nodes 0' '1 to 64'
  run kiln launch up x --nodes 65
  refuses 2 '1 to 64'
  run kiln launch up x --nodes many
  refuses 2 'nodes' 'many'
  run kiln launch up x --slots -1
  refuses 2 'slots'
  run kiln launch up x --on mars
  refuses 2 'local' 'mars'
}

@test "launch up: no image, an unknown one, several, a broken one" {
  need_root
  run kiln launch up x
  refuses 2 'no image' 'kiln bake oci'
  run kiln launch up x --image nope
  refuses 2 "'nope' is not there" 'kiln bake oci'
  run kiln launch up x --image /etc
  refuses 2 '/etc' 'not an OCI image'
  layout broken
  run kiln launch up x
  refuses 2 'broken' 'index.json'
  layout second
  run kiln launch up x
  refuses 2 'choose one with --image' 'broken' 'second'
  [ ! -e "$KILN_STATE/clusters/x" ]
  [ ! -e /run/netns/kiln-x ]
}

@test "launch: a cluster that is not there" {
  for verb in status hosts ssh; do
    run kiln launch "$verb" nothing
    refuses 2 "no cluster 'nothing'"
  done
  mkdir -p "$KILN_STATE/clusters/train"
  run kiln launch hosts trian
  refuses 2 "did you mean 'train'"
}

@test "launch hosts: an unfinished cluster has no hosts" {
  mkdir -p "$KILN_STATE/clusters/half"
  run kiln launch hosts half
  refuses 1 'unfinished' "kiln launch up half"
}

@test "launch status: no clusters" {
  run kiln launch status
  [ "$status" -eq 0 ]
  [ "$output" = "no clusters" ]
  run kiln launch status --json
  [ "$status" -eq 0 ]
  [ "$(jq -r '.kiln, .version, (.clusters | length)' <<<"$output" | tr '\n' ' ')" = "launch status 1 0 " ]
}

@test "launch down: a name of which there is nothing is fine, any number of times" {
  need_root
  for _ in 1 2; do
    run kiln launch down nothing
    [ "$status" -eq 0 ]
    [[ "$output" == *"nothing to remove"* ]]
  done
  run kiln launch down nothing --json
  [ "$(jq -r '.kiln, .version, .cluster, .removed.processes' <<<"$output" | tr '\n' ' ')" = "launch down 1 nothing 0 " ]
  [ -z "$(ls -A "$KILN_STATE")" ]
}

@test "launch: without root, one line says so" {
  layout one
  chmod 777 "$KILN_STATE"
  for verb in up down; do
    run unprivileged kiln launch "$verb" x
    refuses 3 'needs root' 'sudo'
  done
}
