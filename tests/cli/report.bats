#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln prove report: one page from result files.
load ../helper

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  python3 - <<'PY'
import json
def write(name, value): json.dump(value, open(name, "w"), indent=1)
def half(us, size): return {"time": us, "alg_bw": size / us / 1e3, "bus_bw": size / us / 1e3, "nwrong": 0}
write("plan.json", {"kiln": "plan", "version": 1, "stack": "local", "os": "debian12", "snapshot": {"digest": "ab" * 32, "date": "2026-11-21"},
  "key": "cd" * 32, "steps": [{"kind": "component", "component": "base", "version": "12", "needs": [], "debs": 90, "download_bytes": 10**8, "cached": False}]})
write("bake.json", {"kiln": "bake", "version": 1, "target": "oci", "stack": "local", "output": "/x/local.oci", "digest": "9f" * 32, "bytes": 10**8,
  "seconds": 41.2, "unchanged": False, "layers": [{"component": c, "version": "1", "key": "k", "diff_id": "d", "digest": "ee" * 32,
  "bytes": 10**7 * (i + 1), "uncompressed_bytes": 10**8, "cached": i == 0, "seconds": 3} for i, c in enumerate(["base", "libfabric"])]})
write("launch.json", {"kiln": "launch up", "version": 1, "cluster": "demo", "image": {"path": "local.oci", "digest": "9f" * 32},
  "nodes": [{"name": "demo-%d" % i, "address": "10.77.0.%d" % (i + 1), "slots": 2, "pid": 1, "state": "up"} for i in range(2)], "seconds": 1.3})
write("transfer.json", {"kiln": "prove transfer", "version": 1, "provider": "tcp;ofi_rxm", "fabric": "f", "domain": "eth0", "library": "libfabric 1.17",
  "ranks": [{"rank": i, "host": "demo-%d" % i, "address": "a"} for i in range(2)], "messages": 255, "message_bytes": 1024, "verified": True,
  "bursts": [{"from": i, "to": 1 - i, "received": 255, "bad": 0} for i in range(2)],
  "sizes": [{"from": 0, "to": 1, "bytes": 1 << i, "iterations": 100, "latency_min_us": 7, "latency_p50_us": 8 + i, "latency_p99_us": 20 + i, "bandwidth_gb_s": .1 * i}
  for i in range(3, 22)], "verdict": "pass"})
write("all_reduce.json", {"kiln": "prove all_reduce", "version": 3, "provider": "tcp;ofi_rxm", "ranks": 2, "results": [{"size": 1 << i,
  "count": (1 << i) // 4, "type": "float", "redop": "sum", "root": "-1", "out_of_place": half(20 + i, 1 << i), "in_place": half(19 + i, 1 << i)}
  for i in range(3, 27)], "out_of_bounds": {"count": 0, "okay": True}, "average_bus_bandwidth": {"bandwidth": 0.8, "okay": True}})
with open("watch.jsonl", "w") as f:
    for s in range(20):
        f.write(json.dumps({"kind": "metrics", "time": "2026-11-21T05:00:%02dZ" % s, "host": "demo-0", "simulated": True, "gpu": 0, "uuid": "GPU-1",
          "name": "Stand-in", "values": {"temperature_celsius": 40 + s, "power_watts": 300}}) + "\n")
    f.write(json.dumps({"kind": "event", "id": "1", "time": "2026-11-21T05:00:09.5Z", "host": "demo-0", "origin": "user", "device": "0000:03:00.0",
      "code": 79, "type": "xid", "name": "GPU_FELL_OFF", "meaning": "The GPU has fallen off the bus", "severity": "fatal",
      "nvidia_action": "reset", "ec2_action": "stop and start", "pid": 7, "process": "</td><script>alert(1)</script><img src=x>", "text": "t"}) + "\n")
PY
  kiln prove node --only ptrace,open-files --json >node.json
  all=(plan.json bake.json launch.json node.json transfer.json all_reduce.json watch.jsonl)
}

# Every element is closed in its order, ids are used once, nothing is loaded, every anchor leads somewhere.
well_formed() {
  python3 - "$1" <<'PY'
import sys
from html.parser import HTMLParser
VOID = {"meta", "br", "hr", "img", "link", "input"}
class Check(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.hrefs, self.counts = [], [], [], {}
    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        for k, v in attrs:
            assert k not in ("src", "srcset", "onload", "onclick", "xlink:href"), (tag, k)
            if k == "id": self.ids.append(v)
            if k == "href": self.hrefs.append((tag, v))
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()
text = open(sys.argv[1], encoding="utf-8").read()
c = Check(); c.feed(text); c.close()
assert not c.open, c.open
assert len(c.ids) == len(set(c.ids)), [i for i in c.ids if c.ids.count(i) > 1]
for tag in ("script", "link", "img", "iframe", "object", "embed", "base"):
    assert tag not in c.counts, tag
for tag, href in c.hrefs:
    assert tag == "a" and (href.startswith("https://") or href[0] == "#" and href[1:] in c.ids), (tag, href)
import re
for ref in re.findall(r'aria-labelledby="([^"]*)"', text):
    assert all(r in c.ids for r in ref.split()), ref
assert c.counts["svg"] >= int(sys.argv[2]) if len(sys.argv) > 2 else True
assert c.counts["table"] == c.counts.get("caption", 0)
assert "@import" not in text and "url(" not in text and "nan" not in re.sub(r"[a-z]nan|nan[a-z]", "", text.lower())
PY
}

@test "a page of everything is well formed, complete, and refers to nothing" {
  run kiln prove report --output r.html --title "First light" "${all[@]}"
  [ "$status" -eq 0 ]
  well_formed r.html
  grep -q "510 of 510" r.html
  grep -q "Average bus bandwidth" r.html
  grep -q "The GPU has fallen off the bus" r.html
  grep -q 'class="simulated"' r.html
  [ "$(grep -o '<svg class="plot"' r.html | wc -l)" -ge 6 ]
  grep -q "prefers-color-scheme:dark" r.html
}

@test "a page of one result is well formed and names the commands for the rest" {
  run kiln prove report -o r.html node.json
  [ "$status" -eq 0 ]
  well_formed r.html
  grep -q "kiln bake oci STACK --json" r.html
}

@test "what a process called itself stays text" {
  kiln prove report -o r.html watch.jsonl
  well_formed r.html
  run grep -c "<script" r.html
  [ "$output" = 0 ]
  grep -q "&lt;script&gt;alert(1)" r.html
}

@test "nccl-tests' own JSON is taken as well" {
  python3 -c 'import json; r=json.load(open("all_reduce.json")); del r["kiln"]; json.dump(r, open("nccl.json", "w"))'
  run kiln prove report -o r.html nccl.json
  [ "$status" -eq 0 ]
  well_formed r.html
  grep -q "67108864" r.html
}

@test "--json tells where the page is and its verdict" {
  sed -i '0,/"nwrong": 0/s//"nwrong": 3/' all_reduce.json
  run kiln prove report -o r.html --json all_reduce.json
  [ "$status" -eq 0 ]
  [ "$(python3 -c 'import json,sys; r=json.load(sys.stdin); print(r["output"], r["verdict"])' <<<"$output")" = "r.html fail" ]
}

@test "refuses: no --output, no results" {
  run kiln prove report node.json
  refuses 2 "output"
  run kiln prove report -o r.html
  refuses 2 "RESULT"
}

@test "refuses: a file that is not there, is cut off, or is something else; the old page stays" {
  echo old >r.html
  run kiln prove report -o r.html none.json
  refuses 2 "none.json" "No such file"
  head -c 300 all_reduce.json >cut.json
  run kiln prove report -o r.html node.json cut.json
  refuses 2 "cut.json:[0-9]+:"
  echo '{"x": 1}' >other.json
  run kiln prove report -o r.html other.json
  refuses 2 "other.json" "no \"kiln\" key"
  (cat watch.jsonl; echo '{"kind": "event"') >half.jsonl
  run kiln prove report -o r.html half.jsonl
  refuses 2 "half.jsonl:22:"
  [ "$(cat r.html)" = old ]
  [ -z "$(find . -name '*r.html*' ! -name r.html)" ]
}

@test "refuses: an output that cannot be written" {
  run kiln prove report -o no/such/r.html node.json
  refuses 1 "no/such/r.html" "No such file"
}
