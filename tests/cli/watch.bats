#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln watch once, and kiln watch run on a kernel log that the test writes. The real log: tests/system/watch.bats.
load ../helper

FAKE=${KILN_BUILD:-$ROOT/build}/tests/fake

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  unset KILN_FAKE_NVML LD_LIBRARY_PATH
  own_state
}

with_gpus() {
  [ -e "$FAKE/libnvidia-ml.so.1" ] || skip "tests/fake is not built"
  export LD_LIBRARY_PATH=$FAKE
}

no_gpus() {
  ! ldconfig -p | grep -q 'libnvidia-ml\.so\.1' || skip "this machine has NVML"
}

# One run over ./kmsg: reads all of it, delivers and ends.
agent() {
  kiln watch run --for 1ms --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/kmsg" --period 1h "$@" 2>>agent.log
}

xid() { # seq code
  printf '4,%s,1,-;NVRM: Xid (PCI:0000:52:00): %s, pid=1, name=a, Ch 1\n' "$1" "$2"
}

ids() {
  grep -o '"id":"[^"]*"' events | cut -d: -f3 | tr -d '"' | paste -sd' '
}

@test "once: what the stand-in feeds is labelled simulated" {
  with_gpus
  run kiln watch once
  [ "$status" -eq 0 ]
  [ "$(grep -c 'NVIDIA H100.*(simulated)' <<<"$output")" -eq 2 ]
  [[ "$output" == "driver 570.172.08 (simulated)"* ]]
}

@test "once: JSON" {
  with_gpus
  run kiln watch once --json
  [ "$status" -eq 0 ]
  python3 - "$output" <<'PY'
import json, sys
j = json.loads(sys.argv[1])
assert list(j)[:2] == ["kiln", "version"] and j["kiln"] == "watch once" and j["simulated"] is True
assert [g["gpu"] for g in j["gpus"]] == [0, 1]
assert 0 <= j["gpus"][0]["values"]["utilization_gpu_percent"] <= 100
PY
}

@test "once: nothing to see ends in 3 and one line with the reason" {
  no_gpus
  run kiln watch once --only gpu
  refuses 3 "libnvidia-ml.so.1" "install the NVIDIA driver"
  run kiln watch once --only efa
  [ "$status" -eq 0 ] || refuses 3 "no EFA device"
}

@test "once: a driver that is not loaded, one lost GPU, a crash in the library" {
  with_gpus
  KILN_FAKE_NVML=nodriver run kiln watch once --only gpu
  refuses 3 "load the nvidia kernel module"
  KILN_FAKE_NVML=lost run kiln watch once --only gpu
  [ "$status" -eq 0 ]
  [[ "$output" == *"GPU is lost"* ]]
  [[ "$output" == *"0000:31:00.0"* ]]
  KILN_FAKE_NVML=crash run kiln watch once --only gpu
  refuses 3 "NVML sample: its process"
}

@test "once, run: what a careless parent leaves behind does no harm" {
  with_gpus
  # An ignored SIGCHLD, as some supervisors have it: the sample comes from a child.
  env --ignore-signal=CHLD kiln watch once --only gpu --json >out
  grep -q '"uuid"' out
  # Closed standard streams: what is logged must not end up in a file of ours that got their number.
  xid 1 13 >kmsg
  kiln watch run --for 1ms --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/kmsg" <&- >&- 2>&-
  [ "$(ids)" = "1" ]
  [[ "$(cat spool/lock)" =~ ^[0-9]+$ ]]
}

@test "run: an Xid reaches the file with meaning and actions" {
  xid 1 63 >kmsg
  agent
  [ "$(wc -l <events)" -eq 1 ]
  python3 - <<'PY'
import json
e = json.loads(open("events").read())
assert e["kind"] == "event" and e["id"] == e["boot_id"] + ":1" and e["code"] == 63 and e["device"] == "0000:52:00.0"
assert e["origin"] == "kernel" and e["severity"] == "warning" and e["nvidia_action"] and e["ec2_action"]
assert e["pid"] == 1 and e["process"] == "a"
PY
}

@test "run: restarts double nothing and lose nothing" {
  { xid 1 13; xid 2 31; } >kmsg
  agent
  agent
  xid 3 79 >>kmsg
  agent
  [ "$(ids)" = "1 2 3" ]
}

@test "run: a spool that was deleted doubles nothing either" {
  { xid 1 13; xid 2 31; } >kmsg
  agent
  rm -rf spool
  xid 3 79 >>kmsg
  agent
  [ "$(ids)" = "1 2 3" ]
}

@test "run: what the ring dropped is an event, once" {
  xid 1 13 >kmsg
  agent
  xid 10 31 >kmsg
  agent
  agent
  [ "$(ids)" = "1 gap-2-9 10" ]
  grep -q '"type":"kmsg-gap".*"first":2,"last":9,"lost":8\|"first":2,"last":9,"lost":8.*"type":"kmsg-gap"' events
}

@test "run: a record of user space is marked" {
  echo '12,1,1,-;NVRM: Xid (PCI:0000:52:00): 79, GPU has fallen off the bus.' >kmsg
  agent
  grep -q '"origin":"user"' events
}

@test "run: no GPU is not an error, and is said once" {
  no_gpus
  xid 1 13 >kmsg
  kiln watch run --for 800ms --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/kmsg" --period 100ms 2>agent.log
  [ "$(grep -c nvml_absent agent.log)" -eq 1 ]
  [ "$(ids)" = "1" ]
}

@test "run: metrics of the stand-in are labelled simulated" {
  with_gpus
  : >kmsg
  kiln watch run --for 2s --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/kmsg" --period 200ms 2>agent.log
  python3 - <<'PY'
import json
lines = [json.loads(l) for l in open("metrics")]
gpus = [m for m in lines if "gpu" in m]
assert len(gpus) >= 4, len(gpus)
assert all(m["kind"] == "metrics" and m["simulated"] is True and m["uuid"] and m["values"]["memory_total_bytes"] for m in gpus)
assert len({json.dumps(m["values"]) for m in gpus}) > 2, "values do not move"
PY
}

@test "run: bad targets and bad words end in one line" {
  : >kmsg
  run kiln watch run --for 1ms --spool spool --event-log no/such/log --metrics-log metrics --kmsg "$PWD/kmsg"
  refuses 1 "no/such/log"
  run kiln watch run --for 1ms --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/none"
  refuses 3 "no kernel log" "--kmsg"
  run kiln watch run --for 1ms --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/kmsg" --period 1ms
  refuses 2 "--period"
  # More milliseconds than an int holds.
  run kiln watch run --for 1ms --spool spool --event-log events --metrics-log metrics --kmsg "$PWD/kmsg" --period 600h
  refuses 2 "--period"
  run kiln watch run --for yesterday
  [ "$status" -eq 2 ]
  : >file
  run kiln watch run --for 1ms --spool file --event-log events --metrics-log metrics --kmsg "$PWD/kmsg"
  refuses 1 "file"
}

@test "run: a spool that is damaged is named" {
  : >kmsg
  mkdir spool
  head -c 4096 /dev/urandom >spool/spool.db
  run agent
  [ "$status" -ne 0 ]
  grep -q "spool.db.*cannot be used" agent.log
}
