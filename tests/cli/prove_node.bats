#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln prove node, as a person and a script use it.
load ../helper

setup() {
  tree="$BATS_TEST_TMPDIR/tree"
  mkdir -p "$tree/proc/self" "$tree/proc/sys/kernel/yama" "$tree/etc/ssh"
  printf 'node-a\n' >"$tree/proc/sys/kernel/hostname"
}

# The value of a key of the JSON result, or of one check's.
field() {
  python3 -c '
import json, sys
r = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    r = {c["id"]: c for c in r}[k] if isinstance(r, list) else r[k]
print(r)' "$1"
}

@test "this machine: a verdict, every check once" {
  run kiln prove node --json
  [ "$status" -eq 0 ] || [ "$status" -eq 1 ]
  [ "$(field kiln <<<"$output")" = "prove node" ]
  [ "$(python3 -c 'import json,sys; r=json.load(sys.stdin); print(sum(r["counts"].values()) == len(r["checks"]) == len({c["id"] for c in r["checks"]}))' <<<"$output")" = True ]
  python3 -c 'import json,sys; r=json.load(sys.stdin); assert 0 < r["seconds"] < 60' <<<"$output"
}

@test "a node without GPU and EFA does not fail for that" {
  [ -e /sys/class/infiniband ] && skip "this machine has RDMA devices"
  run kiln prove node --only efa-driver,efa-verbs,memlock,hugepages,fabric-manager --json
  for id in efa-driver efa-verbs memlock hugepages fabric-manager; do
    r=$(field "checks.$id.result" <<<"$output")
    [ "$r" = skip ] || [ "$r" = pass ] || { echo "$id: $r"; return 1; }
  done
}

@test "the table shows mark, check and evidence, then the mend, then one verdict line" {
  printf '1\n' >"$tree/proc/sys/kernel/yama/ptrace_scope"
  run kiln prove node --root "$tree" --only ptrace
  [ "$status" -eq 0 ]
  [[ "${lines[1]}" =~ ^WARN\ +ptrace\ +1\  ]]
  [[ "$output" == *"mend  kernel.yama.ptrace_scope = 0"* ]]
  [[ "${lines[-1]}" =~ ^node-a:\ warn\ \(0\ pass,\ 1\ warn,\ 0\ fail,\ 0\ skip ]]
}

@test "a failed check: exit status 1" {
  printf 'Inter-| Receive\n face |bytes\n    lo: 1\n' >"$tree/proc/self/x"
  mkdir -p "$tree/proc/net"
  mv "$tree/proc/self/x" "$tree/proc/net/dev"
  run kiln prove node --root "$tree" --only interface
  [ "$status" -eq 1 ]
  [[ "$output" =~ FAIL\ +interface ]]
}

@test "nothing but skips: exit status 3" {
  run kiln prove node --root "$tree" --only gpus,clock --json
  [ "$status" -eq 3 ]
  [ "$(field verdict <<<"$output")" = skip ]
  [[ "$(field checks.gpus.evidence <<<"$output")" == *"recorded tree"* ]]
}

@test "a harmful variable is found in the environment of the caller" {
  NCCL_TREE_THRESHOLD=0 run kiln prove node --only environment
  [ "$status" -eq 0 ]
  [[ "$output" == *"NCCL_TREE_THRESHOLD=0 (environment)"* ]]
}

@test "a plugin that does not load is told with the loader's own words" {
  NCCL_NET_PLUGIN="$BATS_TEST_TMPDIR/libnccl-net-none.so" run kiln prove node --only nccl-plugin
  [ "$status" -eq 1 ]
  [[ "$output" == *"cannot open shared object file"* ]]
}

@test "a plugin that crashes when it is loaded takes no other check with it" {
  need_program cc
  printf '#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n' >"$BATS_TEST_TMPDIR/p.c"
  cc -shared -fPIC -o "$BATS_TEST_TMPDIR/p.so" "$BATS_TEST_TMPDIR/p.c"
  NCCL_NET_PLUGIN="$BATS_TEST_TMPDIR/p.so" run kiln prove node --only nccl-plugin,ptrace --json
  [ "$status" -eq 1 ]
  [ "$(field checks.nccl-plugin.result <<<"$output")" = fail ]
  [[ "$(field checks.nccl-plugin.evidence <<<"$output")" =~ Aborted ]]
  [ "$(field checks.ptrace.result <<<"$output")" != skip ]
}

@test "a plugin that hangs when it is loaded is skipped at its deadline" {
  need_program cc
  printf '#include <unistd.h>\n__attribute__((constructor)) static void f(void) { for (;;) pause(); }\n' >"$BATS_TEST_TMPDIR/p.c"
  cc -shared -fPIC -o "$BATS_TEST_TMPDIR/p.so" "$BATS_TEST_TMPDIR/p.c"
  NCCL_NET_PLUGIN="$BATS_TEST_TMPDIR/p.so" run timeout 30 kiln prove node --only nccl-plugin,ptrace --deadline 300ms --json
  [ "$(field checks.nccl-plugin.evidence <<<"$output")" = "no answer in 0.3 s" ]
  [ "$(field checks.ptrace.result <<<"$output")" != skip ]
}

@test "--list names every check with the worst it may say" {
  run kiln prove node --list
  [ "$status" -eq 0 ]
  [[ "$output" =~ memlock\ +fail ]]
  [ "$(kiln prove node --list --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["checks"]))')" -eq $((${#lines[@]} - 1)) ]
}

@test "--junit writes XML that a reader takes" {
  run kiln prove node --root "$tree" --only ptrace,clock --junit "$BATS_TEST_TMPDIR/j.xml"
  [ "$status" -eq 0 ]
  python3 -c '
import sys, xml.etree.ElementTree as t
s = t.parse(sys.argv[1]).getroot()
assert s.get("tests") == "2" and s.get("skipped") == "1" and s.get("hostname") == "node-a"' "$BATS_TEST_TMPDIR/j.xml"
}

@test "refuses: a check that is not there, with the nearest" {
  run kiln prove node --only memlok
  refuses 2 "no check 'memlok'" "memlock"
}

@test "refuses: a root that is not there" {
  run kiln prove node --root "$BATS_TEST_TMPDIR/none"
  refuses 2 "none" "No such file"
}

@test "refuses: a JUnit file that cannot be written" {
  run kiln prove node --root "$tree" --only ptrace --junit "$BATS_TEST_TMPDIR/no/j.xml"
  refuses 1 "no/j.xml" "No such file"
}
