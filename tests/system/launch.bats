#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kiln launch on this machine: real nodes from a real image. Each test runs in a sandbox, with process numbers, mounts and
# a /run of its own: so what is left behind can be counted exactly, and nothing outlives a failed test.
load ../helper

# The image: the one that `kiln bake oci stacks/local.json` makes, or KILN_TEST_IMAGE.
setup_file() {
  [ "$(id -u)" -eq 0 ] || return 0
  if [ -z "${KILN_TEST_IMAGE:-}" ]; then
    kiln bake oci "$ROOT/stacks/local.json" >&2
    KILN_TEST_IMAGE="$KILN_STATE/images/local.oci"
  fi
  export KILN_TEST_IMAGE
}

setup() {
  need_root
  need_program unshare
  need_program ip
  need_program ssh-keygen
}

# Runs the script on standard input; it has the words of the prelude.
sandbox() {
  cat >"$BATS_TEST_TMPDIR/prelude" <<'PRELUDE'
set -euo pipefail
mount -t tmpfs -o mode=755 tmpfs /run
# Clusters of the test's own, over the layers that all tests share.
mkdir -p "$KILN_STATE/layers" "$BATS_TEST_TMPDIR/state/layers"
mount --bind "$KILN_STATE/layers" "$BATS_TEST_TMPDIR/state/layers"
export KILN_STATE="$BATS_TEST_TMPDIR/state"
up() { kiln launch up "$@" --image "$KILN_TEST_IMAGE"; }
fail() { echo "FAILED: $*"; exit 1; }
trap 'echo "FAILED in line $LINENO: $BASH_COMMAND"' ERR
# Whatever a cluster could leave: namespaces of every kind, mounts, names, files, processes.
traces() {
  local to=$1
  {
    lsns -n -o TYPE,NS | sort
    cat /proc/mounts
    find /run "$KILN_STATE/clusters" 2>/dev/null | sort || true
    ps -eo args= | grep -v -e '^ps ' -e '^grep ' -e '^bash ' || true
  } >"$to"
}
before() { traces "$BATS_TEST_TMPDIR/before"; }
# A zombie is pid 1's to reap, which may take it a moment.
same() {
  for _ in $(seq 50); do
    traces "$BATS_TEST_TMPDIR/after"
    ! cmp -s "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" || return 0
    ! grep -q defunct "$BATS_TEST_TMPDIR/after" || sleep 0.02
  done
  diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" || fail "left behind: $*"
}
PRELUDE
  cat >"$BATS_TEST_TMPDIR/body"
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --pid --fork --mount-proc --propagation private \
    bash -c 'source "$0"; source "$1"' "$BATS_TEST_TMPDIR/prelude" "$BATS_TEST_TMPDIR/body" </dev/null
}

@test "launch: up, ssh into and between the nodes, mpirun across them, down; nothing is left" {
  sandbox <<'EOS'
before
up demo --nodes 2 --slots 2
[ "$(kiln launch hosts demo)" = $'10.77.0.11 slots=2\n10.77.0.12 slots=2' ] || fail hosts
[ "$(ip netns list | cut -d' ' -f1 | sort | tr '\n' ' ')" = "kiln-demo kiln-demo-1 kiln-demo-2 " ] || fail names
kiln launch status demo

# From here into both, with host keys known beforehand and never a question.
for i in 1 2; do
  [ "$(kiln launch ssh demo $i -- hostname)" = "demo-$i" ] || fail "hostname of node $i"
  kiln launch ssh demo demo-$i -- ssh -G 10.77.0.12 | grep -qx 'stricthostkeychecking true' || fail strict
done
! grep -rqi 'StrictHostKeyChecking no' "$KILN_STATE/clusters/demo" || fail "a lax client configuration"
# Between them, by name and by address.
[ "$(kiln launch ssh demo 1 -- ssh demo-2 hostname)" = demo-2 ] || fail "by name"
[ "$(kiln launch ssh demo 2 -- ssh 10.77.0.11 hostname)" = demo-1 ] || fail "by address"
# A host whose key is not known is refused, even with the right key in hand.
kiln launch ssh demo 1 -- 'sed -i /demo-2/d /etc/ssh/ssh_known_hosts'
if out=$(kiln launch ssh demo 1 -- ssh demo-2 hostname 2>&1); then fail "an unknown host was trusted"; fi
[[ $out == *"Host key verification failed"* ]] || fail "$out"

# What passes through ssh: status, standard input, standard output and standard error, words as they are.
rc=0; kiln launch ssh demo 2 -- exit 7 || rc=$?
[ $rc -eq 7 ] || fail "exit status $rc"
[ "$(echo hello | kiln launch ssh demo 1 -- cat)" = hello ] || fail stdin
[ "$(kiln launch ssh demo -- 'echo out; echo err >&2' 2>/dev/null)" = out ] || fail stdout
[ "$(kiln launch ssh demo 1 hostname)" = demo-1 ] || fail "without --"

# Each node is its own: processes, network, files; and the machine's settings are out of its reach.
[ "$(kiln launch ssh demo 1 -- ps -e -o comm= | head -1)" = kiln-node ] || fail "pid 1"
[ "$(kiln launch ssh demo 1 -- cat /proc/1/environ | tr -d '\0' | wc -c)" -eq 0 ] || fail "the environment of 'up' is visible"
kiln launch ssh demo 1 -- touch /only-here
! kiln launch ssh demo 2 -- test -e /only-here || fail "nodes share files"
! kiln launch ssh demo 1 -- 'echo 1 >/proc/sys/vm/swappiness' 2>/dev/null || fail "a node may tune the machine"
! kiln launch ssh demo 1 -- mkdir /sys/kernel/x 2>/dev/null || fail "/sys can be written"
kiln launch ssh demo 1 -- 'echo x >/dev/shm/x && echo x >/dev/null && test -c /dev/kmsg'
! ls /proc/self/mountinfo | xargs grep -l "$KILN_STATE/clusters" || fail "a mount of a node shows outside"

[ "$(kiln launch ssh demo 1 -- stat -c %a /tmp /run/lock | tr '\n' ' ')" = "1777 1777 " ] || fail "folders for everyone"

# Open MPI over both. (The hosts' keys: back as they were.)
kiln launch down demo
up demo --nodes 2
if kiln launch ssh demo 1 -- 'command -v mpirun' >/dev/null; then
  [ "$(kiln launch ssh demo 1 -- mpirun --allow-run-as-root --hostfile /etc/kiln/hosts -np 2 hostname | sort | tr '\n' ' ')" = \
    "demo-1 demo-2 " ] || fail mpirun
fi

kiln launch down demo
same "at the end"
EOS
}

@test "launch: two clusters side by side do not see each other" {
  sandbox <<'EOS'
up one --nodes 2
up two --nodes 3
for c in one two; do
  [ "$(kiln launch ssh $c 2 -- hostname)" = $c-2 ] || fail $c
done
! kiln launch ssh one 1 -- 'timeout 2 bash -c "</dev/tcp/10.77.0.13/22"' 2>/dev/null || fail "one sees two's third node"
kiln launch ssh two 1 -- 'timeout 2 bash -c "</dev/tcp/10.77.0.13/22"'
! kiln launch ssh one 1 -- ssh -o ConnectTimeout=2 10.77.0.13 true 2>/dev/null || fail "one enters two"
[ "$(kiln launch status | grep -c answers)" -eq 5 ] || fail status
kiln launch down one
[ "$(kiln launch ssh two 3 -- hostname)" = two-3 ] || fail "two after one's end"
kiln launch down two
[ "$(kiln launch status)" = "no clusters" ]
EOS
}

@test "launch: --json on every verb" {
  need_program jq
  sandbox <<'EOS'
up demo --nodes 2 --json 2>/dev/null >/run/up
kiln launch status demo --json >/run/status
kiln launch status --json >/run/all
kiln launch hosts demo --json >/run/hosts
kiln launch down demo --json >/run/down
jq -e '.kiln == "launch up" and .version == 1 and .cluster == "demo" and (.image.digest | length == 64) and .seconds > 0
       and [.nodes[] | .state] == ["up", "up"] and .nodes[1].name == "demo-2"' /run/up >/dev/null || fail up
jq -e '.kiln == "launch status" and ([.nodes[].address] == ["10.77.0.11", "10.77.0.12"]) and .nodes[0].pid > 1' /run/status >/dev/null || fail status
jq -e '.clusters | length == 1' /run/all >/dev/null || fail all
jq -e '.hosts[0] == {name: "demo-1", address: "10.77.0.11", slots: 1}' /run/hosts >/dev/null || fail hosts
jq -e '.removed.namespaces == 3 and .removed.processes >= 4 and .removed.folders == 1' /run/down >/dev/null || fail down
[ "$(jq -c 'keys_unsorted[:2]' /run/up)" = '["kiln","version"]' ] || fail order
EOS
}

@test "launch up: a name that is up is taken; one whose nodes are gone is made anew" {
  sandbox <<'EOS'
up demo --nodes 2
rc=0; out=$(up demo 2>&1) || rc=$?
[ $rc -eq 2 ] || fail "exit status $rc"
[[ $out =~ ^kiln\ launch\ up:\ cluster\ \'demo\'\ is\ already\ up\ \(2\ nodes\ since\ [0-9T:Z-]+\):\ run\ \'kiln\ launch\ down\ demo\' ]] || fail "$out"
[ "$(kiln launch ssh demo 2 -- hostname)" = demo-2 ] || fail "the cluster was hurt"

# One node dies: said by status, and still not a free name.
kill -KILL "$(kiln launch status demo --json | jq .nodes[0].pid)"
rc=0; out=$(kiln launch status demo) || rc=$?
[ $rc -eq 1 ] && [[ $out == *"not running"* ]] && [[ $out == *answers* ]] || fail "$rc: $out"
rc=0; up demo 2>/dev/null || rc=$?
[ $rc -eq 2 ] || fail "a living node was taken away"
rc=0; out=$(kiln launch ssh demo 1 -- true 2>&1) || rc=$?
[ $rc -eq 1 ] && [[ $out == *"does not run"* ]] || fail "ssh to a dead node: $rc $out"

# All are gone, as after a reboot: the name is free.
kill -TERM "$(kiln launch status demo --json | jq .nodes[1].pid)"
for _ in $(seq 100); do [ -n "$(pgrep -f '^kiln-node')" ] || break; sleep 0.05; done
out=$(up demo 2>&1)
[[ $out == *"an earlier cluster 'demo' was removed first"* ]] || fail "$out"
[ "$(kiln launch ssh demo 1 -- hostname)" = demo-1 ]
kiln launch down demo
EOS
}

@test "launch: several at once on one name do not mix" {
  sandbox <<'EOS'
for i in 1 2 3; do
  (rc=0; up demo --nodes 2 >"/run/up.$i" 2>&1 || rc=$?; echo $rc >"/run/rc.$i") &
done
wait
[ "$(cat /run/rc.* | sort | tr '\n' ' ')" = "0 2 2 " ] || fail "$(cat /run/rc.* /run/up.*)"
[ "$(kiln launch ssh demo 1 -- ssh demo-2 hostname)" = demo-2 ] || fail ssh
for i in 1 2 3; do kiln launch down demo >"/run/down.$i" & done
wait
[ "$(cat /run/down.* | grep -c 'is gone')" -eq 1 ] || fail "$(cat /run/down.*)"
[ "$(cat /run/down.* | grep -c 'nothing to remove')" -eq 2 ] || fail "$(cat /run/down.*)"
[ ! -e /run/netns ] && [ -z "$(pgrep -f '^kiln-node')" ] || fail left
EOS
}

@test "launch up: another state folder's cluster of that name is left alone" {
  sandbox <<'EOS'
up demo --nodes 1
rc=0; out=$(KILN_STATE=$BATS_TEST_TMPDIR/other up demo 2>&1) || rc=$?
[ $rc -eq 2 ] && [[ $out == *"is taken"* ]] && [ "$(wc -l <<<"$out")" -eq 1 ] || fail "$rc: $out"
[ "$(kiln launch ssh demo 1 -- hostname)" = demo-1 ]
[ ! -e "$BATS_TEST_TMPDIR/other/clusters" ] || fail "left a folder"
kiln launch down demo
EOS
}

@test "launch down: while sessions are open, and with only parts of a cluster there" {
  sandbox <<'EOS'
up demo --nodes 2
kiln launch ssh demo 1 -- 'echo in; exec sleep 600' >/run/session 2>/run/session.err &
session=$!
for _ in $(seq 200); do grep -q in /run/session && break; sleep 0.02; done
ip netns exec kiln-demo-2 sleep 600 &
timeout 30 kiln launch down demo || fail "did not end"
rc=0; wait $session || rc=$?
[ $rc -eq 255 ] || fail "the session ended with $rc"
grep -q closed /run/session.err || fail "the session was not told: $(cat /run/session.err)"
[ -z "$(ls /run)" ] || rm /run/session*

for part in 'ip netns del kiln-demo' 'ip netns del kiln-demo-1' "rm -r $KILN_STATE/clusters/demo" \
            "rm $KILN_STATE/clusters/demo/cluster.json" 'pkill -KILL -f ^kiln-node' 'umount /run/netns/kiln-demo-2'; do
  up demo --nodes 2 >/dev/null 2>&1
  $part
  kiln launch down demo
  [ -z "$(pgrep -f '^kiln-node|sshd')" ] || fail "processes after: $part"
  [ ! -e /run/netns ] && [ ! -e "$KILN_STATE/clusters/demo" ] || fail "left after: $part"
  [ "$(lsns -n -t net -o NS | wc -l)" -eq 1 ] || fail "a namespace is left after: $part"
done
EOS
}

# KILN_TORTURE=N asks for more rounds.
@test "launch up: killed at any point, 'down' removes all and 'up' works again" {
  sandbox <<'EOS'
up kill --nodes 2 >/dev/null 2>&1   # the layers are unpacked now, so every round is short
start=$(date +%s%N); kiln launch down kill >/dev/null; up kill >/dev/null 2>&1
took_us=$((($(date +%s%N) - start) / 1000))
kiln launch down kill >/dev/null
before
for i in $(seq "${KILN_TORTURE:-25}"); do
  us=$((RANDOM * 32768 % (took_us * 13 / 10) + RANDOM % 1000))
  up kill --nodes 2 >/dev/null 2>&1 &
  victim=$!
  sleep "$(printf '0.%06d' $((us % 1000000)))"
  kill -KILL $victim 2>/dev/null || true
  pkill -KILL -f 'kiln launch up kill' || true
  wait $victim 2>/dev/null || true
  case $((i % 3)) in
  0) # over the remains
    out=$(up kill 2>&1) || [[ $out == *"already up"* ]] || fail "up after a kill at $us us: $out"
    [ "$(kiln launch ssh kill 2 -- hostname)" = kill-2 ] || fail "after a kill at $us us";;
  1) # `down` is killed too
    kiln launch down kill >/dev/null 2>&1 &
    sleep "0.00$((RANDOM % 10))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true;;
  esac
  kiln launch down kill >/dev/null || fail "down after a kill at $us us"
  same "after a kill at $us us"
done
up kill >/dev/null 2>&1
[ "$(kiln launch ssh kill 1 -- hostname)" = kill-1 ]
kiln launch down kill
EOS
}

@test "launch up: interrupted, or failed half-way, it removes what it made" {
  sandbox <<'EOS'
up x --nodes 1 >/dev/null 2>&1; kiln launch down x >/dev/null
before
for signal in INT TERM HUP; do
  KILN_TEST_IMAGE=$KILN_TEST_IMAGE bash -c 'trap - INT; exec kiln launch up x --nodes 64 --image "$KILN_TEST_IMAGE"' >/run/out 2>&1 &
  for _ in $(seq 400); do [ -e /run/netns/kiln-x ] && break; sleep 0.005; done
  kill -$signal $!
  rc=0; wait $! || rc=$?
  [ $rc -eq 1 ] || fail "$signal: exit status $rc: $(cat /run/out)"
  grep -q 'interrupted' /run/out || fail "$signal: $(cat /run/out)"
  rm /run/out
  same "after $signal"
done
EOS
}

@test "launch up: whoever reads its progress may go away" {
  sandbox <<'EOS'
up x --nodes 1 >/dev/null 2>&1; kiln launch down x >/dev/null
up x --nodes 1 2>&1 >/run/out | true || true
kiln launch status x >/dev/null || fail "half a cluster stayed"
kiln launch down x
EOS
}

@test "launch: a state folder with characters that mean something to ssh" {
  sandbox <<'EOS'
odd="$BATS_TEST_TMPDIR/a b%h\"c'd\\e#"
mkdir -p "$odd"; ln -s "$KILN_STATE/layers" "$odd/layers"
export KILN_STATE="$odd"
up odd >/dev/null 2>&1
[ "$(kiln launch ssh odd 2 -- hostname)" = odd-2 ]
kiln launch down odd
EOS
}

@test "launch up: an image that cannot be a node says why, and leaves nothing" {
  need_program jq
  sandbox <<'EOS'
# A valid image without sshd: one layer with an empty /etc.
image=/run/image; blobs=$image/blobs/sha256; mkdir -p $blobs /run/fs/etc
put() { local h; h=$(sha256sum "$1" | cut -d' ' -f1); mv "$1" "$blobs/$h"; echo "$h"; }
tar -C /run/fs --numeric-owner -cf /run/layer .
diff_id=$(sha256sum </run/layer | cut -d' ' -f1)
gzip -n /run/layer; layer=$(put /run/layer.gz)
printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$diff_id" >/run/j
config=$(put /run/j)
type=application/vnd.oci.image
printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json","digest":"sha256:%s","size":%d},"layers":[{"mediaType":"%s.layer.v1.tar+gzip","digest":"sha256:%s","size":%d}]}' \
  $type $type "$config" "$(stat -c %s $blobs/$config)" $type "$layer" "$(stat -c %s $blobs/$layer)" >/run/j
size=$(stat -c %s /run/j); manifest=$(put /run/j)
printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json","digest":"sha256:%s","size":%d}]}' $type "$manifest" "$size" >$image/index.json
echo '{"imageLayoutVersion":"1.0.0"}' >$image/oci-layout
rc=0; out=$(kiln launch up bare --image $image 2>&1) || rc=$?
[ $rc -ne 0 ] || fail "an empty image came up"
[[ $out == *"node 'bare-"*"openssh-server"*"No such file"* ]] || fail "$out"
[ ! -e /run/netns ] && [ ! -e "$KILN_STATE/clusters" ] || fail "left something"
[ -z "$(pgrep -f ^kiln-node)" ] || fail "left a node"
EOS
}

@test "launch up: a state folder on an overlay file system is named as the cause" {
  sandbox <<'EOS'
mkdir -p /run/o/lower /run/o/upper /run/o/work /run/o/state
mount -t overlay -o lowerdir=/run/o/lower,upperdir=/run/o/upper,workdir=/run/o/work overlay /run/o/state
# Its layers are in place; only the clusters would be on the overlay.
mkdir /run/o/state/layers; mount --bind "$KILN_STATE/layers" /run/o/state/layers
rc=0; out=$(KILN_STATE=/run/o/state up x 2>&1 | grep '^kiln') || rc=$?
[ $rc -eq 3 ] || fail "exit status $rc: $out"
[[ $out == *"overlay file system"*"KILN_STATE"* ]] || fail "$out"
EOS
}

@test "launch up: 64 nodes" {
  sandbox <<'EOS'
up big --nodes 64
[ "$(kiln launch hosts big | wc -l)" -eq 64 ]
[ "$(kiln launch ssh big 64 -- ssh big-1 hostname)" = big-1 ]
[ "$(kiln launch status big | grep -c answers)" -eq 64 ]
kiln launch down big
for _ in $(seq 50); do pgrep sshd >/dev/null || break; sleep 0.02; done # pid 1 reaps
[ -z "$(pgrep -a sshd)" ] || fail "$(ps -ef)"
[ ! -e /run/netns ] || fail "/run/netns is left"
EOS
}

# Not in the sandbox: what every user does.
@test "launch: nodes outlive the command that made them, on the machine itself" {
  name="bats$BATS_ROOT_PID"
  name=${name//[^a-z0-9]/}
  run kiln launch up "$name" --nodes 2 --image "$KILN_TEST_IMAGE"
  [ "$status" -eq 0 ] || { echo "$output"; kiln launch down "$name"; return 1; }
  run kiln launch ssh "$name" 2 -- hostname
  first=$output
  run kiln launch down "$name"
  [ "$status" -eq 0 ]
  [ "$first" = "$name-2" ]
  [ ! -e "/run/netns/kiln-$name" ] && [ ! -e "$KILN_STATE/clusters/$name" ]
  [ -z "$(pgrep -f "^kiln-node $name")" ]
}
