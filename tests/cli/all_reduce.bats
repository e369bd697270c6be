#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln prove all_reduce, alias all_reduce_perf: nccl-tests' flags and table, in host memory.
bats_require_minimum_version 1.5.0
load ../helper

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  export LSAN_OPTIONS="suppressions=$ROOT/tests/lsan.supp:print_suppressions=0"
  unset FI_PROVIDER RANK WORLD_SIZE MASTER_ADDR MASTER_PORT NCCL_TESTS_MIN_BW
  ln -sf "$(command -v kiln)" all_reduce_perf
}

@test "nccl-tests' table, a row per size, nothing wrong" {
  run --separate-stderr ./all_reduce_perf -b 8 -e 1M -f 2 -c 1 -n 3 -g 1 -t 1
  [ "$status" -eq 0 ]
  [ -z "$stderr" ]
  grep -qx '# Collective test starting: all_reduce_perf' <<<"$output"
  grep -q '^#  Rank  1 Group  0 Pid' <<<"$output"
  grep -qE '^#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong' <<<"$output"
  grep -qE '^# Out of bounds values : 0 OK$' <<<"$output"
  grep -qE '^# Avg bus bandwidth    : [0-9.e-]+ $' <<<"$output"
  # As a script reads it: 13 fields, sizes doubling from 8 to 1M, counts of floats, no wrong element in either half.
  awk '/^ / { n++; if (NF != 13 || $1 != 8 * 2 ^ (n - 1) || $2 != $1 / 4 || $3 != "float" || $4 != "sum" || $5 != -1 ||
                      $9 != 0 || $13 != 0) bad = 1 }
       END { exit bad || n != 18 }' <<<"$output"
}

@test "the mean of all bus bandwidths is the footer's" {
  run ./all_reduce_perf -b 64K -e 1M -f 4 -n 3 --ranks 2 --json
  [ "$status" -eq 0 ]
  python3 - <<<"import json
r = json.loads('''$output''')
cells = [row[h]['bus_bw'] for row in r['results'] for h in ('out_of_place', 'in_place')]
assert len(cells) == 6
assert abs(sum(cells) / len(cells) - r['average_bus_bandwidth']['bandwidth']) < 1e-9
for row in r['results']:
    for h in ('out_of_place', 'in_place'):
        assert abs(row[h]['alg_bw'] - row['size'] / row[h]['time'] / 1e3) < 1e-6 * row[h]['alg_bw'] + 1e-9
        assert row[h]['nwrong'] == 0
        p = row[h + '_per_iter']
        assert p['min_us'] <= p['p50_us'] <= p['p99_us'] <= p['max_us']
"
}

@test "the JSON report: nccl-tests' keys, and of the environment no secrets" {
  NCCL_DEBUG=WARN SECRET_TOKEN=hunter2 run ./all_reduce_perf -b 8 -e 8 -f 2 -n 2 -J report.json
  [ "$status" -eq 0 ]
  run ! grep -q hunter2 report.json
  python3 - <<'PY'
import json
r = json.load(open("report.json"))
assert (r["kiln"], r["version"], r["nccl_tests_version"], r["verdict"]) == ("prove all_reduce", 1, 3, "pass")
assert "NCCL_DEBUG=WARN" in r["env"]
assert {"start_time", "args", "config", "results", "out_of_bounds", "average_bus_bandwidth", "errors", "end_time"} <= set(r)
assert r["out_of_bounds"] == {"count": 0, "okay": "true"}
assert r["average_bus_bandwidth"]["okay"] == "unchecked"
assert [d["rank"] for d in r["config"]["devices"]] == [0, 1]
assert r["args"][1:] == ["-b", "8", "-e", "8", "-f", "2", "-n", "2", "-J", "report.json"]
row = r["results"][0]
assert (row["size"], row["count"], row["type"], row["redop"], row["root"].strip()) == (8, 2, "float", "sum", "-1")
PY
}

@test "every type and every reduction is checked, for two and for three ranks" {
  for ranks in 2 3; do
    run ./all_reduce_perf -b 1000 -e 1000 -f 2 -n 1 -w 0 -c 2 -d all -o all --ranks "$ranks"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^ ' <<<"$output")" -eq 50 ]
    grep -qx '# Out of bounds values : 0 OK' <<<"$output"
  done
}

@test "-c 0 checks nothing and says N/A" {
  run ./all_reduce_perf -b 8 -e 8 -f 2 -n 2 -c 0
  [ "$status" -eq 0 ]
  [ "$(grep -o 'N/A' <<<"$output" | wc -l)" -eq 2 ]
}

@test "NCCL_TESTS_MIN_BW that is missed is a finding" {
  NCCL_TESTS_MIN_BW=100000 run ./all_reduce_perf -b 8 -e 8 -f 2 -n 2
  [ "$status" -eq 1 ]
  grep -qE '^# Avg bus bandwidth    : .* FAILED$' <<<"$output"
}

@test "under mpirun (PMIx), the table once" {
  need_program mpirun
  run timeout 100 mpirun --allow-run-as-root --bind-to none --oversubscribe -np 2 \
    "$PWD/all_reduce_perf" -b 8 -e 64K -f 8 -n 3 --provider 'tcp;ofi_rxm'
  [ "$status" -eq 0 ]
  [ "$(grep -c 'Out of bounds values : 0 OK' <<<"$output")" -eq 1 ]
  [ "$(grep -c '^ ' <<<"$output")" -eq 5 ]
}

@test "one rank alone is all right: a copy" {
  run ./all_reduce_perf --ranks 1 -b 8 -e 64 -f 2 -n 2
  [ "$status" -eq 0 ]
  grep -qx '# Out of bounds values : 0 OK' <<<"$output"
}

@test "flags that need a GPU are refused with the reason" {
  run kiln prove all_reduce -g 2
  refuses 2 '-g 2 cannot be had' 'host memory'
  run kiln prove all_reduce -G 1
  refuses 2 '-G 1 cannot be had: CUDA graphs need a GPU'
  run kiln prove all_reduce -z 1
  refuses 2 'CUDA streams'
}

@test "bad values are refused in one line" {
  run kiln prove all_reduce -d float8
  refuses 2 "unknown data type 'float8'" 'bfloat16'
  run kiln prove all_reduce -o xor
  refuses 2 "unknown reduction 'xor'"
  run kiln prove all_reduce -b 1M -e 8
  refuses 2 'smallest size \(-b 1048576\) is above the largest \(-e 8\)'
  run kiln prove all_reduce -n 0
  refuses 2 '-n 0'
  run kiln prove all_reduce -f -3
  refuses 2 '-f -3: expected 0 to'
  run kiln prove all_reduce --algorithm tree
  refuses 2 "unknown algorithm 'tree'"
  run kiln prove all_reduce --algorithm recursive_doubling --ranks 3 -b 8 -e 8
  refuses 2 "cannot run with 3 ranks"
  run kiln prove all_reduce -e lots
  [ "$status" -eq 2 ]
  run kiln prove all_reduce --provider nope
  refuses 3 "no provider 'nope'"
}

@test "more memory than the machine has is told, not taken" {
  run kiln prove all_reduce -b 8 -e 4T -f 2
  refuses 1 'MiB each, but only [0-9]+ MiB are free; choose a smaller -e'
}

@test "a report that cannot be written is an error, and what was measured is shown all the same" {
  run --separate-stderr ./all_reduce_perf -b 8 -e 8 -f 2 -n 1 -J /nonexistent/report.json
  [ "$status" -ne 0 ]
  [[ "$stderr" == *"/nonexistent"* ]]
  [[ "$output" == *"# Avg bus bandwidth    : "* ]]
}
