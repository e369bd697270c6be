# SPDX-License-Identifier: MIT
# `make demo`, as a newcomer runs it: the real commands, the report at the end, and nothing left on the machine.
load ../helper

# What a demo may not leave behind: namespaces, mounts, interfaces, and processes of its nodes.
traces() {
  ip netns list 2>/dev/null | grep -o '^kiln-demo[^ ]*' | sort
  grep -E 'kiln|netns' /proc/mounts | cut -d' ' -f2 | sort
  ip -brief link | cut -d' ' -f1 | sort
  pgrep -fa 'kiln-node demo|kiln watch run --from now' || true
  ls "$KILN_STATE/clusters" 2>/dev/null || true
}

setup_file() {
  [ "$(id -u)" -eq 0 ] || return 0
  kiln bake oci "$ROOT/stacks/local.json" >/dev/null 2>&1 # what both runs need, and their traces do not count
  export OUT="$BATS_FILE_TMPDIR/out"
  traces >"$BATS_FILE_TMPDIR/before"
  "$ROOT/scripts/demo" "$OUT" >"$BATS_FILE_TMPDIR/log" 2>&1 || echo $? >"$BATS_FILE_TMPDIR/failed"
  traces >"$BATS_FILE_TMPDIR/after"
}

setup() {
  need_root
}

@test "demo: every step succeeds" {
  [ ! -e "$BATS_FILE_TMPDIR/failed" ] || { tail -n 40 "$BATS_FILE_TMPDIR/log"; return 1; }
  grep -q '^\$ kiln plan stacks/local.json$' "$BATS_FILE_TMPDIR/log"
  grep -q '^demo: done in ' "$BATS_FILE_TMPDIR/log"
}

@test "demo: the report shows the measured table and both events, and needs nothing from outside" {
  python3 - "$OUT" <<'E2'
import html, json, re, sys
out = sys.argv[1]
page = open(f"{out}/report.html", encoding="utf-8").read()
text = html.unescape(re.sub(r"<[^>]+>", " ", page))
rows = json.load(open(f"{out}/all_reduce.json"))["results"]
assert [r["size"] for r in rows] == [8 << i for i in range(24)], [r["size"] for r in rows]
for r in rows:
    assert str(r["size"]) in text, r["size"]
    assert float(r["out_of_place"]["nwrong"]) == 0 and float(r["in_place"]["nwrong"]) == 0, r
for word in ("Xid 63", "Xid 79", "simulated", "demo-1", "demo-2"):
    assert word in text, word
assert "<svg" in page
assert not re.search(r"""(src|srcset|data)\s*=\s*["']?https?:|@import|url\(\s*["']?https?:|<link|<script""", page), "loads from outside"
E2
}

@test "demo: the two Xids are in the event log once each, marked as written by user space, with an action" {
  [ "$(jq -s -c 'map([.code, .origin]) | sort' "$OUT/events.jsonl")" = '[[63,"user"],[79,"user"]]' ]
  jq -e -s 'all(.meaning != "" and .nvidia_action != "" and .ec2_action != "")' "$OUT/events.jsonl"
}

@test "demo: what the stand-in for NVML said is labelled simulated" {
  jq -e -s 'length > 0 and all(.simulated)' "$OUT/metrics.jsonl"
  jq -e '.simulated' "$OUT/node1.json"
}

@test "demo: all 255 messages went over libfabric between two hosts and every byte was checked" {
  jq -e '.messages == 255 and .verified and ([.ranks[].host] | unique | length == 2)' "$OUT/transfer.json"
}

@test "demo: no namespace, mount, interface, process or cluster is left" {
  diff "$BATS_FILE_TMPDIR/before" "$BATS_FILE_TMPDIR/after"
}

@test "demo: a cluster of its name that no demo started is left alone" {
  kiln launch up demo --image local >/dev/null 2>&1
  run "$ROOT/scripts/demo" "$BATS_TEST_TMPDIR/out"
  local before=$output was=$status
  run kiln launch status demo
  local still=$status
  kiln launch down demo >/dev/null 2>&1
  status=$was output=$before
  refuses 2 "cluster 'demo' is there that no demo started" "kiln launch down demo"
  [ "$still" -eq 0 ]
}

@test "demo: a folder with files that no demo wrote is left alone" {
  mkdir "$BATS_TEST_TMPDIR/mine"
  echo precious >"$BATS_TEST_TMPDIR/mine/notes"
  run "$ROOT/scripts/demo" "$BATS_TEST_TMPDIR/mine"
  refuses 2 "holds files that no demo wrote"
  [ "$(cat "$BATS_TEST_TMPDIR/mine/notes")" = precious ]
}
