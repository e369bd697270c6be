# SPDX-License-Identifier: MIT
# kiln plan: the stacks that kiln ships against the real mirror, and what is wrong in a stack file.
bats_require_minimum_version 1.5.0
load ../helper

setup_file() {
  load ../helper
  # Fetched once for all tests that need real packages; what fails here is told by the tests themselves.
  kiln plan "$ROOT/stacks/local.json" >/dev/null 2>&1 || true
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# A plan of stacks/local.json in $output; a machine without apt or without the mirror cannot tell.
plan_local() {
  run --separate-stderr kiln plan "$@" "$ROOT/stacks/local.json"
  [ "$status" -ne 4 ] || skip "the Debian mirror cannot be reached"
  [ "$status" -ne 3 ] || skip "$stderr"
  [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
}

# A stack file whose components (lines of JSON) start at line 3.
stack() {
  printf '{ "stack": 1, "name": "t", "os": "debian12",\n"components": {\n%s\n} }\n' "$1" >stack.json
}

# Refused with exit status 2 and one line; no file is made here, and none in a state folder that was empty.
refuses_file() {
  own_state
  local before
  before=$(find . -not -path './state*' | sort)
  run kiln plan "${options[@]}" stack.json
  refuses 2 "$@"
  [ "$(find . -not -path './state*' | sort)" = "$before" ]
  [ -z "$(ls -A "$KILN_STATE")" ]
}

# --- what it prints

@test "plan prints every step of stacks/local.json, in an order that can be built" {
  plan_local
  local names
  names=$(sed -n 's/^ *[0-9]\+ \+\([a-z0-9:-]\+\) .* [0-9a-f]\{12\}  .*/\1/p' <<<"$output" | tr '\n' ' ')
  [ "$names" = "base rdma-core libfabric openmpi openssh kiln:buildroot kiln " ]
  [[ "$output" == *"Debian GNU/Linux 12 (bookworm)"* ]]
  [[ "$output" == *"from $(jq -r ".rows[0].mirrors[0].uri" "$ROOT/catalog/os.json") bookworm"* ]]
  [[ "$output" =~ lock\ [0-9a-f]{64} ]]
}

@test "plan --json is one object with the same lock, sums that add up, and keys of their own" {
  plan_local
  local table=$output
  plan_local --json
  python3 - "$table" "$output" <<'EOF'
import json, sys
table, plan = sys.argv[1], json.loads(sys.argv[2])
assert list(plan)[:2] == ["kiln", "version"] and plan["kiln"] == "plan" and plan["version"] == 1
assert "lock " + plan["key"] in table
steps = plan["steps"]
assert plan["totals"]["steps"] == len(steps)
assert len({s["key"] for s in steps}) == len(steps)
seen = []
for s in steps:
    assert all(n in seen for n in s["needs"]), s
    assert s["kind"] == "base" or s["needs"][0] == "base"
    assert (s["download_bytes"] > 0) == (s["debs"] > 0)
    seen.append(s["component"])
fabric = next(s for s in steps if s["component"] == "libfabric")
assert "libfabric1=" + fabric["version"] in fabric["packages"] and not fabric["added"]
assert next(s for s in steps if s["component"] == "kiln")["buildroot"] == "kiln:buildroot"
assert plan["totals"]["download_bytes"] <= sum(s["download_bytes"] for s in steps)
EOF
}

@test "a second plan asks nobody: it is the same with no apt to be found" {
  plan_local
  local first=$output bin
  bin=$(dirname "$(command -v kiln)")
  run --separate-stderr env PATH="$bin" kiln plan "$ROOT/stacks/local.json"
  [ "$status" -eq 0 ]
  [ -z "$stderr" ]
  [ "$output" = "$first" ]
}

@test "the plan does not depend on the state folder it is made in" {
  plan_local
  stack '"openmpi": "latest", "openssh": "latest"'
  run --separate-stderr kiln plan stack.json
  local lock
  lock=$(grep '^lock' <<<"$output")
  own_state
  run --separate-stderr kiln plan stack.json
  [ "$status" -ne 4 ] || skip "the Debian mirror cannot be reached"
  [ "$status" -eq 0 ]
  [ "$(grep '^lock' <<<"$output")" = "$lock" ]
  [ -z "$(find "$KILN_STATE" -name '.new*')" ]
}

@test "a component that is needed and not listed is added, and the plan says so" {
  plan_local
  stack '"libfabric": "latest"'
  run kiln plan stack.json
  [ "$status" -eq 0 ]
  [[ "$output" =~ rdma-core.*"added, libfabric needs it" ]]
}

# --- what is wrong in a stack file

@test "a syntax error names file, line and column" {
  printf '{ "stack": 1,\n  "name": "t"\n  "os": "debian12" }\n' >stack.json
  refuses_file "stack.json:3:[0-9]+: "
}

@test "an unknown key is named, with the nearest known one" {
  printf '{ "stack": 1, "name": "t", "os": "debian12",\n  "componets": {} }\n' >stack.json
  refuses_file "stack.json:2: unknown key 'componets' .*did you mean 'components'"
}

@test "an unknown component is named, with the nearest and all known ones" {
  stack '"libfabrik": "latest"'
  refuses_file "stack.json:3: unknown component 'libfabrik' .*did you mean 'libfabric'.*known: kiln, libfabric, openmpi"
}

@test "a version that is no version, a wrong type, a name that is none" {
  stack '"libfabric": "-o Debug::pkgProblemResolver=1"'
  refuses_file "stack.json:3: .* is not a version of 'libfabric'"
  stack '"libfabric": 1.17'
  refuses_file "stack.json:3: the version of 'libfabric' is not a string"
  printf '{ "stack": 1, "name": "../t", "os": "debian12", "components": { "libfabric": "latest" } }' >stack.json
  refuses_file "stack.json:1: '../t' cannot be a stack's name"
  printf '{ "stack": 1, "name": "t", "os": "debian13",\n "components": { "libfabric": "latest" } }' >stack.json
  refuses_file "stack.json:1: unknown os 'debian13' .*did you mean 'debian12'"
}

@test "an impossible version is refused with the one there is" {
  plan_local
  stack '"libfabric": "99.0"'
  run kiln plan stack.json
  refuses 2 "stack.json:3: libfabric 99\.0 is not available for debian12: the package snapshot of 20[0-9-]+ has 1\.17\."
}

@test "needs that go round name the components and the file" {
  local name
  for name in aa bb; do
    mkdir -p "mine/$name"
    touch "mine/$name/install.sh" "mine/$name/verify.sh"
  done
  # shellcheck disable=SC2016
  local text='{ "component": 1, "name": "%s", "help": "x",\n "os": { "debian12": { "packages": ["hello"], "version_of": "hello" } },\n "needs": ["%s"] }\n'
  # shellcheck disable=SC2059
  printf "$text" aa bb >mine/aa/component.json
  # shellcheck disable=SC2059
  printf "$text" bb aa >mine/bb/component.json
  stack '"aa": "latest"'
  options=(--components mine)
  refuses_file "mine/bb/component.json:3: components aa -> bb -> aa need each other"
}

@test "a stack file that is not there, a folder, and no file at all are wrong arguments" {
  own_state
  run kiln plan nothing.json
  refuses 2 "nothing.json.*No such file"
  run kiln plan .
  refuses 2 "Is a directory"
  run kiln plan
  refuses 2 "STACK"
  run kiln plan --components nowhere "$ROOT/stacks/local.json"
  refuses 2 "'nowhere' is not a folder"
}

# --- what is wrong around it

# A kiln whose only mirror refuses connections (the discard port of this machine's loopback).
dead_mirror() {
  mkdir -p data/catalog
  ln -s "$ROOT/components" data/components
  sed 's#"http://[^"]*"#"http://127.0.0.1:9/debian"#' "$ROOT/catalog/os.json" >data/catalog/os.json
  export KILN_DATA="$PWD/data"
}

@test "a mirror that cannot be reached is a remote failure; nothing half-fetched is left" {
  need_program apt-get
  dead_mirror
  own_state
  stack '"libfabric": "latest"'
  run kiln plan stack.json
  [ "$status" -ne 3 ] || skip "$output"
  output=$(grep -v ' \.\.\.' <<<"$output") # apt tries more than once, and what takes long is shown
  refuses 4 "package lists of debian12 failed.*127\.0\.0\.1.*check the network"
  [ -z "$(find "$KILN_STATE/apt/debian12" -mindepth 1 -not -name lock)" ]
}

@test "without apt on the machine the plan cannot tell, and says what to install" {
  own_state
  stack '"libfabric": "latest"'
  run env PATH="$(dirname "$(command -v kiln)")" kiln plan stack.json
  refuses 3 "apt-get is not installed.*install the package 'apt'"
}

@test "a state folder that cannot be written is named" {
  need_program apt-get
  touch state-file
  stack '"libfabric": "latest"'
  KILN_STATE="$PWD/state-file" run kiln plan stack.json
  [ "$status" -ne 0 ]
  [ "${#lines[@]}" -eq 1 ]
  [[ "$output" =~ state-file.*KILN_STATE ]]
}

# --- what editors are told

@test "stacks/schema.json takes the stacks that kiln takes, names all components, and refuses what kiln refuses" {
  python3 -c 'import jsonschema' 2>/dev/null || skip "needs python3-jsonschema, which is not installed"
  python3 - "$ROOT" <<'EOF'
import json, os, sys, jsonschema
root = sys.argv[1]
schema = json.load(open(f"{root}/stacks/schema.json"))
check = jsonschema.Draft7Validator(schema)
jsonschema.Draft7Validator.check_schema(schema)
for name in os.listdir(f"{root}/stacks"):
    if name != "schema.json":
        check.validate(json.load(open(f"{root}/stacks/{name}")))
assert sorted(schema["properties"]["components"]["properties"]) == sorted(os.listdir(f"{root}/components"))
assert schema["properties"]["os"]["enum"] == [r["name"] for r in json.load(open(f"{root}/catalog/os.json"))["rows"]]
good = {"stack": 1, "name": "t", "os": "debian12", "components": {"libfabric": "latest"}}
for change in ({"stack": 2}, {"name": "../t"}, {"os": "debian13"}, {"components": {}}, {"components": {"libfabric": 1}},
               {"components": {"libfabric": "-o x"}}, {"env": {"A B": "1"}}, {"env": {"A": "x\ny"}}, {"more": 1}):
    assert not check.is_valid(good | change), change
EOF
  # The keys that kiln itself knows are the schema's.
  printf '{ "stack": 1, "name": "t", "os": "debian12", "components": {}, "zzzzzzzz": 1 }' >stack.json
  run kiln plan stack.json
  refuses 2 "unknown key 'zzzzzzzz'; known here: "
  local known
  known=$(sed 's/.*known here: //; s/, /\n/g' <<<"$output" | sort)
  [ "$known" = "$(python3 -c 'import json,sys; print("\n".join(sorted(json.load(open(sys.argv[1]))["properties"])))' "$ROOT/stacks/schema.json")" ]
}
