#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln explain, and the catalogues that it reads.
load ../helper

@test "an Xid by its number, in every way that people write it" {
  for words in "63" "xid 63" "Xid 63" "xid63" "XID-63"; do
    # shellcheck disable=SC2086
    run kiln explain $words
    [ "$status" -eq 0 ]
    [[ "$output" == "Xid 63  INFOROM_DRAM_RETIREMENT_EVENT"* ]]
    [[ "$output" == *"On EC2"* ]]
  done
}

@test "an Xid as JSON: meaning, severity, both actions, source" {
  run kiln explain 79 --json
  [ "$status" -eq 0 ]
  python3 - "$output" <<'PY'
import json, sys
j = json.loads(sys.argv[1])
assert list(j)[:2] == ["kiln", "version"] and j["kiln"] == "explain" and j["version"] == 1
assert j["kind"] == "xid" and j["code"] == 79 and j["severity"] == "fatal" and j["whose"] == "hardware"
assert "reboot the instance" in j["ec2_action"] and j["nvidia_action"] and j["source"].startswith("https://")
PY
}

@test "Xid 154 tells each recovery action" {
  run kiln explain 154
  [ "$status" -eq 0 ]
  [[ "$output" == *"0x0 None"* ]]
  [[ "$output" == *"0x4 Drain and Reset"* ]]
}

@test "metrics, checks and components" {
  run kiln explain power_watts
  [ "$status" -eq 0 ]
  [[ "$output" == *"watts"* ]]
  run kiln explain check memlock
  [ "$status" -eq 0 ]
  [[ "$output" == *"What to do"* ]]
  run kiln explain component libfabric --json
  [ "$status" -eq 0 ]
  [[ "$output" == *'"kind": "component"'* ]]
}

@test "a name of two things says so" {
  run kiln explain libfabric
  [ "$status" -eq 0 ]
  [[ "$output" == *"kiln explain component libfabric"* ]]
}

@test "every check that kiln prove node can make is explained" {
  for id in $(kiln prove node --list --json | grep -o '"id": *"[^"]*"' | cut -d'"' -f4); do
    run kiln explain check "$id"
    [ "$status" -eq 0 ] || { echo "$id: $output"; return 1; }
  done
}

@test "what is not known ends in one line with the nearest" {
  run kiln explain 9999
  refuses 2 "Xid 9999 is not in kiln's catalogue" "nearest known code is [0-9]+"
  run kiln explain powr_watts
  refuses 2 "did you mean 'power_watts'"
  run kiln explain qqqqqqqqqq
  refuses 2 "not an Xid, a metric, a check or a component"
  run kiln explain sxid 12028
  refuses 2 "SXid 12028" "Fabric Manager"
  run kiln explain weather 63
  refuses 2 "'weather' is not a kind of thing"
  run kiln explain ../../etc/passwd
  refuses 2 "not an Xid"
  run kiln explain xid power_watts
  [ "$status" -eq 2 ]
  run kiln explain
  [ "$status" -eq 2 ]
}

# A broken catalogue must stop the build, with the row named.
broken() {
  python3 - "$ROOT/catalog/xid.json" "$BATS_TEST_TMPDIR/xid.json" "$1" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
exec(sys.argv[3])
json.dump(j, open(sys.argv[2], "w"))
PY
  run python3 "$ROOT/scripts/catalog.py" xid "$BATS_TEST_TMPDIR/xid.json" "$BATS_TEST_TMPDIR/out.c"
  [ ! -e "$BATS_TEST_TMPDIR/out.c" ]
}

@test "the catalogue's generator refuses rows that are not whole" {
  broken 'j["xids"].append(dict(j["xids"][3]))'
  refuses 1 'xid.json: xids\[[0-9]+\]' "is there twice"
  broken 'del j["xids"][5]["ec2_action"]'
  refuses 1 "xids\[5\]" "missing field 'ec2_action'"
  broken 'j["xids"][5]["surprise"] = 1'
  refuses 1 "unknown field 'surprise'"
  broken 'j["xids"][5]["severity"] = "bad"'
  refuses 1 "severity is 'bad', not one of"
  broken 'j["xids"][5]["date"] = "yesterday"'
  refuses 1 "date is 'yesterday'"
  broken 'j["xids"][5]["meaning"] = " "'
  refuses 1 "meaning is empty"
  broken 'j["xids"][5]["code"] = True'
  refuses 1 "code is not of type int"
  broken 'del j["recovery_actions"]'
  refuses 1 "no list 'recovery_actions'"
}
