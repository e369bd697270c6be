#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln watch run on the real /dev/kmsg. Everything on this machine shares that log, so each test has a PCI domain of its
# own and looks at that only. Each line is written by a program and so is marked "origin":"user".
load ../helper

FAKE=${KILN_BUILD:-$ROOT/build}/tests/fake

setup() {
  need_root
  [ -w /dev/kmsg ] || skip "needs a /dev/kmsg that can be written"
  cd "$BATS_TEST_TMPDIR" || return 1
  unset KILN_FAKE_NVML LD_LIBRARY_PATH
  own_state
  DOMAIN=$(printf '%04x' $((RANDOM * 2 + BATS_TEST_NUMBER)))
  : >agent.log
}

teardown() {
  [ -z "${PID:-}" ] || { kill -TERM "$PID"; wait "$PID" || true; } 2>/dev/null
  [ -z "${SMALL:-}" ] || umount "$SMALL"
}

say() { # number: goes into the pid field, so that every line is told apart
  echo "NVRM: Xid (PCI:$DOMAIN:52:00): 63, pid=$1, kiln test: row remapper" >/dev/kmsg
}

# From now on: what other tests left in the ring is none of this test's business.
AGENT=(kiln watch run --from now --spool spool --event-log events --metrics-log metrics --period 1h)

start() {
  "${AGENT[@]}" "$@" 2>>agent.log &
  PID=$!
}

# Reads all that the ring holds, delivers it and ends.
catch_up() {
  "${AGENT[@]}" --for 1ms 2>>agent.log
}

stop() {
  kill -TERM "$PID"
  wait "$PID"
  PID=
}

# Until the command is true, at most 15 s.
until_true() {
  local end=$((SECONDS + 15))
  until "$@"; do
    [ $SECONDS -lt $end ] || { echo "never true: $*"; cat agent.log; return 1; }
    sleep 0.02
  done
}

said() { grep -q "$1" agent.log; }

mine() { # the numbers that the file holds, in order
  grep "\"device\":\"$DOMAIN:52:00.0\"" "${1:-events}" 2>/dev/null | grep -o '"pid":[0-9]*' | cut -d: -f2 | paste -sd' '
}

holds() { [ "$(mine "${2:-events}")" = "$1" ]; }

@test "lines before, during and after a run reach the file once each" {
  say 1
  AGENT=(kiln watch run --spool spool --event-log events --metrics-log metrics --period 1h)
  start
  until_true holds "1"
  say 2
  until_true holds "1 2"
  stop
  say 3
  catch_up
  catch_up
  holds "1 2 3"
  grep "$DOMAIN" events | grep -v '"origin":"user"' && return 1
  grep -q '"ec2_action":"[^"]' events
}

@test "from now: what stood in the log before the first start is passed over, nothing after it" {
  say 1
  catch_up
  say 2
  catch_up
  holds "2"
}

@test "SIGTERM delivers what was written just before it, and ends with 0" {
  start
  until_true said agent_started
  for i in 1 2 3 4 5; do say $i; done
  stop
  holds "1 2 3 4 5"
}

@test "kill -9 at 20 random moments: none lost, none doubled, no torn line" {
  want=
  catch_up
  for round in $(seq 20); do
    say $((round * 3 - 2))
    start
    # The moment itself is what is random: from before the start-up is done to long after the delivery.
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    say $((round * 3 - 1))
    [ $((RANDOM % 2)) -eq 0 ] || sleep "0.00$((RANDOM % 10))"
    kill -KILL "$PID"
    wait "$PID" 2>/dev/null || true
    PID=
    say $((round * 3))
    want="$want $((round * 3 - 2)) $((round * 3 - 1)) $((round * 3))"
  done
  catch_up
  holds "${want# }"
  python3 -c 'import json; [json.loads(l) for l in open("events")]'
  [ "$(grep -o '"id":"[^"]*"' events | sort | uniq -d | wc -l)" -eq 0 ]
}

@test "a log that is rotated or removed under the agent's hands" {
  start
  until_true said agent_started
  say 1
  until_true holds "1"
  mv events events.1
  say 2
  until_true holds "2"
  rm events
  say 3
  until_true holds "3"
  stop
  [ "$(mine events.1)" = "1" ]
}

@test "a full disk under the log: nothing is lost when there is room again" {
  mkdir small
  mount -t tmpfs -o size=256k kiln-test small
  SMALL=$PWD/small
  AGENT=(kiln watch run --from now --spool spool --event-log small/events --metrics-log metrics --period 1h)
  start
  until_true said agent_started
  head -c 1M /dev/zero >small/filler 2>/dev/null || true
  say 1
  say 2
  until_true said sink_failed
  holds "" small/events
  rm small/filler
  until_true holds "1 2" small/events
  stop
  holds "1 2" small/events
  umount small
  SMALL=
}

@test "a full disk under the spool: nothing is lost when there is room again" {
  mkdir small
  mount -t tmpfs -o size=512k kiln-test small
  SMALL=$PWD/small
  AGENT=(kiln watch run --from now --spool small/spool --event-log events --metrics-log metrics --period 1h)
  start
  until_true said agent_started
  head -c 1M /dev/zero >small/filler 2>/dev/null || true
  for i in 1 2 3; do say $i; done
  until_true said spool_failed
  rm small/filler
  until_true holds "1 2 3"
  stop
  umount small
  SMALL=
}

@test "a second agent on the same spool is told off in one line" {
  start
  until_true said agent_started
  run "${AGENT[@]}" --for 1ms
  refuses 1 "another agent \\(pid $PID\\) uses the spool"
  stop
}

@test "NVML that hangs: said as an event, events go on, and the agent ends at once when told" {
  [ -e "$FAKE/libnvidia-ml.so.1" ] || skip "tests/fake is not built"
  export LD_LIBRARY_PATH=$FAKE KILN_FAKE_NVML=hang
  "${AGENT[@]}" --period 100ms 2>>agent.log &
  PID=$!
  until_true said agent_started
  say 1
  until_true holds "1"
  until_true grep -q '"type":"nvml-hung"' events
  say 2
  until_true holds "1 2"
  [ "$(grep -c nvml-hung events)" -eq 1 ]
  [ "$(pgrep -c -P "$PID")" -eq 1 ] # the one that hangs, and no pile of them
  stuck=$(pgrep -P "$PID")
  before=$SECONDS
  stop
  [ $((SECONDS - before)) -lt 8 ] # it does not wait for the child, which is given 10 s to answer
  until_true bash -c "! kill -0 $stuck 2>/dev/null"
  [ ! -s metrics ]
}

@test "an NVML child that is killed costs one sample" {
  [ -e "$FAKE/libnvidia-ml.so.1" ] || skip "tests/fake is not built"
  export LD_LIBRARY_PATH=$FAKE KILN_FAKE_NVML=hang
  "${AGENT[@]}" --period 100ms 2>>agent.log &
  PID=$!
  until_true pgrep -P "$PID"
  kill -KILL "$(pgrep -P "$PID")"
  until_true said "nvml_failed.*its process was ended by signal 9"
  say 1
  until_true holds "1"
  stop
}
