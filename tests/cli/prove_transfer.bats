#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln prove transfer: two processes over TCP on loopback, alone and under mpirun.
bats_require_minimum_version 1.5.0
load ../helper

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  export LSAN_OPTIONS="suppressions=$ROOT/tests/lsan.supp:print_suppressions=0"
  unset FI_PROVIDER RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
}

QUICK=(--max 64 --iters 10)

@test "alone: the lines of the plugins' message-transfer test, both ways, and a verdict" {
  run --separate-stderr kiln prove transfer "${QUICK[@]}"
  [ "$status" -eq 0 ]
  [[ "$output" =~ "provider tcp" || "$output" =~ "provider net" ]]
  grep -qx 'Sent 255 requests to rank 1' <<<"$output"
  grep -qx 'Rank 1 posting 255 receive buffers' <<<"$output"
  grep -qx 'Got completions for 255 requests for rank 1' <<<"$output"
  grep -qx 'Got completions for 255 requests for rank 0' <<<"$output"
  grep -q '^PASS: 510 of 510 messages of 5000 bytes arrived whole' <<<"$output"
  [ -z "$stderr" ]
}

@test "--json: one object, sizes up to --max, verified" {
  run --separate-stderr kiln prove transfer --json --max 4096 --iters 5 --messages 300
  [ "$status" -eq 0 ]
  python3 - <<<"import json,sys
r = json.loads('''$output''')
assert (r['kiln'], r['version'], r['verdict'], r['verified']) == ('prove transfer', 1, 'pass', True)
assert list(r)[:2] == ['kiln', 'version']
assert r['messages'] == 300 and r['message_bytes'] == 5000
assert [s['bytes'] for s in r['sizes']] == [8, 32, 128, 512, 2048, 4096]
assert all(0 < s['latency_min_us'] <= s['latency_p50_us'] <= s['latency_p99_us'] and s['bandwidth_gb_s'] > 0 for s in r['sizes'])
assert [(b['from'], b['to'], b['received'], b['bad']) for b in r['bursts']] == [(0, 1, 300, 0), (1, 0, 300, 0)]
assert [x['rank'] for x in r['ranks']] == [0, 1] and all(x['host'] and x['address'] for x in r['ranks'])
assert r['library'].startswith('libfabric ')
"
}

@test "under mpirun (PMIx) two ranks find each other" {
  need_program mpirun
  run timeout 100 mpirun --allow-run-as-root --bind-to none --oversubscribe -np 2 \
    "$(command -v kiln)" prove transfer --provider tcp "${QUICK[@]}"
  [ "$status" -eq 0 ]
  grep -q '^PASS: 510 of 510' <<<"$output"
  [ "$(grep -c '^PASS' <<<"$output")" -eq 1 ]
}

@test "as torchrun would start them" {
  export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1
  MASTER_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  export MASTER_PORT
  RANK=1 kiln prove transfer "${QUICK[@]}" >rank1 2>&1 &
  RANK=0 run kiln prove transfer "${QUICK[@]}"
  wait %1
  [ "$status" -eq 0 ]
  grep -q '^PASS: 510 of 510' <<<"$output"
  [ ! -s rank1 ]
}

@test "four ranks are two pairs" {
  run kiln prove transfer --ranks 4 --messages 20 "${QUICK[@]}"
  [ "$status" -eq 0 ]
  grep -qx 'Sent 20 requests to rank 3' <<<"$output"
  grep -q '^PASS: 80 of 80' <<<"$output"
}

@test "a provider that does not exist: exit 3, with those that do" {
  run kiln prove transfer --provider nope
  refuses 3 "no provider 'nope'" 'available: .*tcp'
}

@test "FI_PROVIDER that leaves nothing: exit 3, and the variable is named" {
  FI_PROVIDER=nope run kiln prove transfer
  refuses 3 'FI_PROVIDER=nope'
}

@test "an interface that is not there: exit 2, with those that are" {
  run kiln prove transfer --interface nope0
  refuses 2 "'nope0'" 'lo \(127.0.0.1\)'
}

@test "an odd rank has no partner" {
  run kiln prove transfer --ranks 3
  refuses 2 '3 ranks cannot be paired'
}

@test "a peer that never comes: a message within the deadline" {
  RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=0 run timeout 60 kiln prove transfer --timeout 200ms
  refuses 1 'only 1 of 2 ranks came'
}

@test "numbers that make no sense are refused" {
  run kiln prove transfer --messages 0
  refuses 2 '--messages 0'
  run kiln prove transfer --min 64 --max 8
  refuses 2 'the smaller first'
  run kiln prove transfer --timeout 0
  refuses 2 '--timeout 0'
}

@test "a bad hosts file is told with its line, before anything is started" {
  printf '# nodes\n10.0.0.1 slots=1\n10.0.0.2 slots=two\n' >hosts
  run kiln prove transfer --hosts hosts
  refuses 2 '^kiln prove transfer: hosts:3: ' "'two' is not a number" "expected 'address slots=N'"
  run kiln prove transfer --hosts /nonexistent/hosts
  refuses 2 '/nonexistent/hosts'
  printf 'a slots=1\nb slots=1\nc slots=1\n' >hosts
  run kiln prove transfer --hosts hosts
  refuses 2 '3 ranks cannot be paired'
}

@test "--hosts without mpirun: exit 3" {
  printf '127.0.0.1 slots=2\n' >hosts
  PATH=/nonexistent run "$(command -v kiln)" prove transfer --hosts hosts
  [ "$status" -eq 3 ]
  [[ "$output" == *"mpirun is not installed"* ]]
}

@test "--hosts starts mpirun itself and says how" {
  need_program mpirun
  printf '127.0.0.1 slots=2\n' >hosts
  run --separate-stderr timeout 100 kiln prove transfer --hosts hosts "${QUICK[@]}"
  [ "$status" -eq 0 ]
  [[ "$stderr" == *"+ mpirun"*"--hostfile hosts -np 2"*"prove transfer --max 64 --iters 10"* ]]
  grep -q '^PASS: 510 of 510' <<<"$output"
}

@test "a rank's exit status comes through mpirun" {
  need_program mpirun
  printf '127.0.0.1 slots=2\n' >hosts
  run --separate-stderr timeout 100 kiln prove transfer --hosts hosts --provider nope
  [ "$status" -eq 3 ]
  [[ "$stderr" == *"no provider 'nope'"* ]]
}

@test "called as nccl_message_transfer it is the same" {
  ln -s "$(command -v kiln)" nccl_message_transfer
  run ./nccl_message_transfer "${QUICK[@]}"
  [ "$status" -eq 0 ]
  grep -q '^PASS: 510 of 510' <<<"$output"
}
