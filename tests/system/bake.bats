# SPDX-License-Identifier: MIT
# bats runs each test in a subshell and sets $stderr; what is in single quotes is for a script that is written.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154
# kiln bake, for real: a small stack of three components of which two do not know each other, and the stack that kiln
# ships. Needs root, overlay mounts and the Debian mirror.
bats_require_minimum_version 1.5.0
load ../helper

# The small stack is baked once, in a state folder of this file; package lists and downloads are those of all suites.
setup_file() {
  load ../helper
  export SHARED_STATE=$KILN_STATE
  export FILE_STATE="$BATS_FILE_TMPDIR/state"
  [ "$(id -u)" -eq 0 ] || return 0
  command -v mmdebstrap >/dev/null || return 0
  make_components "$BATS_FILE_TMPDIR/components"
  KILN_STATE=$FILE_STATE seed_state
  export COMPONENTS="$BATS_FILE_TMPDIR/components" STACK="$BATS_FILE_TMPDIR/stack.json"
  write_stack '"alpha": "latest", "beta": "latest", "gamma": "latest"' >"$STACK"
  KILN_STATE=$FILE_STATE kiln bake oci --json --components "$COMPONENTS" "$STACK" \
    >"$BATS_FILE_TMPDIR/first.json" 2>"$BATS_FILE_TMPDIR/first.err"
  echo $? >"$BATS_FILE_TMPDIR/first.status"
}

setup() {
  need_root
  need_program mmdebstrap
  need_program python3
  case "$(cat "$BATS_FILE_TMPDIR/first.status")" in
  0) ;;
  3) skip "$(tail -n 1 "$BATS_FILE_TMPDIR/first.err")" ;;
  4) skip "the Debian mirror cannot be reached" ;;
  *) cat "$BATS_FILE_TMPDIR/first.err"; return 1 ;;
  esac
  cd "$BATS_TEST_TMPDIR" || return 1
}

# Lists and downloads without the cost of fetching them again; no layers.
seed_state() {
  local folder
  mkdir -p "$KILN_STATE"
  for folder in apt locks downloads; do
    if [ -d "$SHARED_STATE/$folder" ]; then cp -a "$SHARED_STATE/$folder" "$KILN_STATE/"; fi
  done
}

# A state folder of the test's own that has this file's layers (hard links: layers are never changed).
layered_state() {
  export KILN_STATE="$BATS_TEST_TMPDIR/state"
  cp -a --link "$FILE_STATE" "$KILN_STATE"
  rm -rf "$KILN_STATE/log" "$KILN_STATE/layers/.lock" # these are written in place
}

write_stack() {
  printf '{ "stack": 1, "name": "%s", "os": "debian12", "components": { %s }, "env": { "KILN_TEST": "a b" } }\n' \
    "${2:-small}" "$1"
}

# make_component DIR NAME PACKAGE NEEDS: install.sh and verify.sh come from standard input, verify.sh after a line "--".
make_component() {
  mkdir -p "$1/$2"
  printf '{ "component": 1, "name": "%s", "help": "a test", "needs": [%s],
    "os": { "debian12": { "packages": ["%s"], "version_of": "%s" } } }\n' "$2" "$4" "$3" "$3" >"$1/$2/component.json"
  awk -v install="$1/$2/install.sh" -v verify="$1/$2/verify.sh" \
    '/^--$/ { second = 1; next } { print > (second ? verify : install) }'
}

# alpha and beta are independent; both make the same group, and each a user. gamma needs alpha and takes away a file of it.
make_components() {
  make_component "$1" alpha ed '' <<'EOS'
apt-get -y install $KILN_PACKAGES
addgroup --system --quiet shared
adduser --system --quiet --no-create-home --group alpha
mkdir -p /opt/both /opt/alpha
echo alpha >/opt/both/alpha
echo to-go >/opt/alpha/gone
date >/opt/alpha/when # clamped times do not hide what is inside a file: must not be in a layer that is compared
rm /opt/alpha/when
--
ed --version | grep -F "${KILN_VERSION%%-*}"
EOS
  make_component "$1" beta bc '' <<'EOS'
apt-get -y install $KILN_PACKAGES
addgroup --system --quiet shared
useradd --system --shell /usr/sbin/nologin --home-dir /nonexistent beta
mkdir -p /opt/both
echo beta >/opt/both/beta
cp /bin/true /opt/both/netraw
setcap cap_net_raw+ep /opt/both/netraw 2>/dev/null || echo "no setcap here"
--
[ "$(echo 6*7 | bc)" = 42 ]
EOS
  make_component "$1" gamma hello '"alpha"' <<'EOS'
apt-get -y install $KILN_PACKAGES
[ ! -e /opt/both/beta ] # only what it needs is there
[ "$(cat /opt/both/alpha)" = alpha ]
rm /opt/alpha/gone
--
hello >/dev/null
EOS
}

bake() {
  run --separate-stderr kiln bake "$1" --json --components "${components:-$COMPONENTS}" "${@:3}" "${2:-$STACK}"
  [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
}

# A value of the JSON in $output: field digest; field "layers[2].key"
field() {
  python3 -c 'import json,sys; r=json.loads(sys.argv[1]); print(eval("r."+sys.argv[2], {}, {"r": type("R", (), {"__getattr__": lambda s,k: r[k]})()}))' "$output" "$1"
}

# "alpha=True beta=False": which layers of the result were cached.
cached() {
  python3 -c 'import json,sys; print(" ".join("%s=%s" % (l["component"], l["cached"]) for l in json.loads(sys.argv[1])["layers"]))' "$output"
}

image_root() {
  need_program umoci
  umoci unpack --image "$1:latest" "$BATS_TEST_TMPDIR/unpacked" >/dev/null
  root="$BATS_TEST_TMPDIR/unpacked/rootfs"
  rm -f "$root/dev/null"
  mknod -m 666 "$root/dev/null" c 1 3
}

# A plain "! command" does not fail a test.
not() {
  ! "$@"
}

# No half-made layer, no mount and no process of this test's state.
nothing_half_made() {
  [ -z "$(find "$KILN_STATE" -maxdepth 2 -name '.new-*' -o -maxdepth 2 -name '*.new-*' -o -maxdepth 2 -name '*.part')" ] ||
    { find "$KILN_STATE" -maxdepth 2 | grep new; return 1; }
  not grep -F "$KILN_STATE" /proc/self/mounts
}

@test "the result's JSON says what was made" {
  output=$(cat "$BATS_FILE_TMPDIR/first.json")
  [[ "$(field digest)" =~ ^sha256:[0-9a-f]{64}$ ]]
  [ "$(field kiln) $(field version) $(field target) $(field stack) $(field unchanged)" = "bake 1 oci small False" ]
  [ "$(field 'layers[0]["component"]')" = base ]
  python3 - "$BATS_FILE_TMPDIR/first.json" <<'EOS'
import json, os, sys
r = json.load(open(sys.argv[1]))
assert [l["component"] for l in r["layers"]] == ["base", "alpha", "beta", "gamma", "kiln-merge"], r
for l in r["layers"]:
    assert l["bytes"] > 0 and l["uncompressed_bytes"] >= l["bytes"] and l["seconds"] >= 0 and l["cached"] is False, l
    blob = os.path.join(r["output"], "blobs", "sha256", l["digest"].split(":")[1])
    assert os.path.getsize(blob) == l["bytes"], blob
EOS
}

@test "skopeo reads and copies the image" {
  need_program skopeo
  run skopeo inspect "oci:$FILE_STATE/images/small.oci:latest"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"KILN_TEST=a b"'* ]]
  run skopeo --insecure-policy copy -q "oci:$FILE_STATE/images/small.oci:latest" "dir:$BATS_TEST_TMPDIR/copy"
  [ "$status" -eq 0 ]
}

@test "podman, where there is one, takes the image" {
  need_program podman
  # podman makes a name of the path: lower case, no part that begins with a dot
  local work="/tmp/kiln-podman-$$"
  mkdir "$work"
  cp -a "$FILE_STATE/images/small.oci" "$work/small.oci"
  run podman --root "$work/root" --runroot "$work/run" --storage-driver vfs pull -q "oci:$work/small.oci"
  rm -rf "$work"
  [ "$status" -eq 0 ]
}

@test "the unpacked image holds every package of every layer, and dpkg finds nothing wrong" {
  image_root "$FILE_STATE/images/small.oci"
  run chroot "$root" dpkg --audit
  [ "$status" -eq 0 ]
  [ -z "$output" ]
  for package in ed bc hello bash; do
    run chroot "$root" dpkg-query -W -f '${db:Status-Status}' "$package"
    [ "$output" = installed ]
  done
  # Each layer's own list of packages is part of the image's.
  for status in "$FILE_STATE"/layers/*/fs/var/lib/dpkg/status; do
    case "$status" in *.new-*) continue ;; esac
    comm -23 <(sed -n 's/^Package: //p' "$status" | sort) <(sed -n 's/^Package: //p' "$root/var/lib/dpkg/status" | sort) >missing
    [ ! -s missing ] || { echo "$status:"; cat missing; return 1; }
  done
  run chroot "$root" bash -c 'hello >/dev/null && echo 6*7 | bc && ldconfig -p | grep -c libreadline'
  [ "$status" -eq 0 ]
}

@test "independent layers are joined: files, users and groups of both" {
  image_root "$FILE_STATE/images/small.oci"
  [ "$(cat "$root/opt/both/alpha") $(cat "$root/opt/both/beta")" = "alpha beta" ]
  [ ! -e "$root/opt/alpha/gone" ]
  [ -d "$root/opt/alpha" ]
  for name in alpha beta; do grep "^$name:" "$root/etc/passwd" && grep "^$name:" "$root/etc/shadow"; done
  [ "$(grep -c '^shared:' "$root/etc/group")" -eq 1 ]
  [ -z "$(cut -d: -f3 "$root/etc/passwd" | sort | uniq -d)" ]
  [ -z "$(cut -d: -f3 "$root/etc/group" | sort | uniq -d)" ]
  run chroot "$root" sh -c 'pwck -r -q; grpck -r'
  [[ "$output" != *duplicate* && "$output" != *"no matching"* ]]
}

@test "the image holds no trace of the bake, no key and no identity" {
  image_root "$FILE_STATE/images/small.oci"
  for path in usr/sbin/policy-rc.d usr/local/sbin/adduser etc/resolv.conf etc/hostname var/log/dpkg.log etc/passwd- \
    var/lib/apt/lists/lock run/kiln etc/apt/sources.list; do
    [ ! -e "$root/$path" ] || { echo "$path is there"; return 1; }
  done
  [ ! -s "$root/etc/machine-id" ]
  [ -z "$(find "$root/etc/ssh" -name 'ssh_host_*' 2>/dev/null)" ]
  not grep -rIl -e "$FILE_STATE" -e /run/kiln "$root/etc" "$root/var" "$root/opt"
  grep -q '^URIs: http' "$root/etc/apt/sources.list.d/debian.sources"
}

@test "the same stack baked from nothing again is the same image, byte for byte" {
  export KILN_STATE="$BATS_TEST_TMPDIR/state"
  seed_state
  umask 077 # nor does it matter who bakes
  SOURCE_DATE_EPOCH='' bake oci
  want=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["digest"])' "$BATS_FILE_TMPDIR/first.json")
  [ "$(field digest)" = "$want" ]
  diff -r "$FILE_STATE/images/small.oci" "$KILN_STATE/images/small.oci"
}

@test "the second bake changes nothing and starts no other program" {
  layered_state
  bake oci
  [ "$(field unchanged)" = True ]
  # LeakSanitizer cannot work under strace
  ASAN_OPTIONS=detect_leaks=0 strace -f -qq -e trace=execve -o "$BATS_TEST_TMPDIR/started" kiln bake oci --components "$COMPONENTS" "$STACK" >/dev/null 2>&1
  [ "$(grep -c execve "$BATS_TEST_TMPDIR/started")" -eq 1 ] # kiln itself: no apt, no mount helper, no tar
  [ "$(cached)" = "base=True alpha=True beta=True gamma=True kiln-merge=True" ]
}

@test "another stack of the same content is another image: its name is in it" {
  layered_state
  bake oci "$STACK" --output "$BATS_TEST_TMPDIR/x.oci"
  sed 's/"small"/"other"/' "$STACK" >"$BATS_TEST_TMPDIR/other.json"
  bake oci "$BATS_TEST_TMPDIR/other.json" --output "$BATS_TEST_TMPDIR/x.oci"
  [ "$(field unchanged)" = False ]
  grep -q '"localhost/other:latest"' "$BATS_TEST_TMPDIR/x.oci/index.json"
}

@test "a changed component rebuilds its layer and those that need it, no other" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  echo 'echo changed >/opt/alpha/changed' >>"$components/alpha/install.sh"
  bake oci
  [ "$(cached)" = "base=True alpha=False beta=True gamma=False kiln-merge=False" ]
  image_root "$KILN_STATE/images/small.oci"
  [ "$(cat "$root/opt/alpha/changed")" = changed ]
  components=$COMPONENTS bake oci # and back: everything is still there
  [ "$(cached)" = "base=True alpha=True beta=True gamma=True kiln-merge=True" ]
}

@test "--rebuild builds one step again and comes to the same image" {
  layered_state
  bake oci "$STACK" --rebuild beta
  [ "$(cached)" = "base=True alpha=True beta=False gamma=True kiln-merge=True" ]
  want=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["digest"])' "$BATS_FILE_TMPDIR/first.json")
  [ "$(field digest)" = "$want" ]
  run kiln bake oci --components "$COMPONENTS" --rebuild delta "$STACK"
  [ "$status" -eq 2 ]
  [[ "$output" == *"has no step 'delta'"* ]]
}

@test "the squashfs keeps enroot's contract and is reproducible" {
  need_program mksquashfs
  layered_state
  bake sqsh
  first=$(field digest)
  file="$KILN_STATE/images/small.sqsh"
  [ "$first" = "sha256:$(sha256sum <"$file" | cut -d' ' -f1)" ]
  unsquashfs -ll "$file" >list
  grep -q 'squashfs-root/opt/both/beta$' list
  grep -q 'squashfs-root/opt/both/alpha$' list
  not grep -q 'opt/alpha/gone' list
  [ "$(unsquashfs -cat "$file" etc/environment)" = "$(printf 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nKILN_TEST=a b')" ]
  unsquashfs -cat "$file" etc/rc | sh -n
  unsquashfs -cat "$file" etc/rc | grep -q '^# enroot-provenance: '
  grep -Eq 'root/root .* squashfs-root/etc/(fstab)$' list
  bake sqsh
  [ "$(field unchanged)" = True ]
  rm "$file"
  umask 077
  bake sqsh
  [ "$(field unchanged)" = False ]
  [ "$(field digest)" = "$first" ]
}

@test "a component that fails to install shows its last lines and its log, and leaves nothing half made" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  printf 'echo "the cause is here"\nfalse\necho not-reached\n' >>"$components/beta/install.sh"
  run --separate-stderr kiln bake oci --components "$components" "$STACK"
  [ "$status" -eq 1 ]
  [[ "$stderr" == *"the cause is here"* && "$stderr" != *not-reached* ]]
  [[ "${stderr##*$'\n'}" == "kiln bake oci: beta: install.sh failed: see $KILN_STATE/log/small-beta.log" ]]
  grep -q 'the cause is here' "$KILN_STATE/log/small-beta.log"
  nothing_half_made
  # and the image that was there is still whole
  skopeo inspect "oci:$KILN_STATE/images/small.oci:latest" >/dev/null
}

@test "a component that does not verify is no layer" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  echo 'echo "not what was asked for" >&2; exit 1' >>"$components/gamma/verify.sh"
  run --separate-stderr kiln bake oci --components "$components" "$STACK"
  [ "$status" -eq 1 ]
  [[ "${stderr##*$'\n'}" == "kiln bake oci: gamma: verify.sh failed: see "* ]]
  nothing_half_made
}

@test "a component cannot reach the network or the host" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  mkdir "$components"
  make_component "$components" probe ed '' <<EOS
apt-get -y install \$KILN_PACKAGES
[ "\$(ls /sys/class/net 2>/dev/null | grep -vx lo | wc -l)" -eq 0 ]
[ "\$(wc -l </proc/net/route)" -le 1 ]
[ ! -e "$KILN_STATE" ]
! touch /run/kiln/step/x 2>/dev/null
! touch /run/kiln/pool/x 2>/dev/null
[ "\$\$" -lt 1000 ]
[ -z "\${KILN_STATE:-}" ]
[ "\$(umask)" = 0022 ]
--
true
EOS
  write_stack '"probe": "latest"' probe >probe.json
  bake oci probe.json
}

@test "two components that change one file are refused by name" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  echo 'echo alpha >/etc/motd' >>"$components/alpha/install.sh"
  echo 'echo beta >/etc/motd' >>"$components/beta/install.sh"
  run --separate-stderr kiln bake oci --components "$components" "$STACK"
  [ "$status" -eq 2 ]
  [[ "${stderr##*$'\n'}" == *"components alpha and beta both change /etc/motd"*'"needs"'* ]]
  nothing_half_made
}

@test "killed in the middle, the next bake goes on from there" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  mkfifo "$BATS_TEST_TMPDIR/reached"
  printf 'touch /opt/alpha/half\necho started\nsleep 300\n' >>"$components/alpha/install.sh"
  kiln bake oci --components "$components" "$STACK" >/dev/null 2>&1 3>&- &
  pid=$!
  for _ in $(seq 300); do
    not grep -qsx started "$KILN_STATE/log/small-alpha.log" || break
    sleep 0.1
  done
  grep -qx started "$KILN_STATE/log/small-alpha.log"
  kill -9 "$pid"
  wait "$pid" || true
  # Its processes go with it, and so do its mounts.
  for _ in $(seq 100); do
    pgrep -f 'sleep 300' >/dev/null || break
    sleep 0.1
  done
  not pgrep -f 'sleep 300'
  [ -n "$(find "$KILN_STATE/layers" -maxdepth 1 -name '.new-*')" ]
  sed -i '/sleep 300/d' "$components/alpha/install.sh"
  bake oci
  [ "$(cached)" = "base=True alpha=False beta=True gamma=False kiln-merge=False" ]
  nothing_half_made
}

@test "what a dead bake left goes also when there is nothing to do" {
  layered_state
  mkdir "$KILN_STATE/layers/.new-0123-999999999-1" "$KILN_STATE/images/small.oci.new-999999999"
  bake oci
  [ "$(field unchanged)" = True ]
  nothing_half_made
}

@test "an output may end in a slash, and may be a link to an image" {
  layered_state
  bake oci "$STACK" --output image/
  [ "$(field output)" = "$PWD/image" ]
  ln -s image link
  sed 's/"a b"/"other"/' "$STACK" >other.json
  bake oci other.json --output link
  [ -L link ]
  [ "$(field digest)" = "$(python3 -c 'import json; print(json.load(open("image/index.json"))["manifests"][0]["digest"])')" ]
  [ "$(find . -maxdepth 1 -name '*.new-*')" = "" ]
}

@test "an interrupt ends in order" {
  layered_state
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  printf 'echo started\nsleep 301\n' >>"$components/alpha/install.sh"
  kiln bake oci --components "$components" "$STACK" >out 2>&1 3>&- &
  pid=$!
  for _ in $(seq 300); do
    not grep -qsx started "$KILN_STATE/log/small-alpha.log" || break
    sleep 0.1
  done
  kill -TERM "$pid"
  code=0
  wait "$pid" || code=$?
  [ "$code" -eq 1 ]
  [[ "$(tail -n 1 out)" == *interrupted* ]]
  not pgrep -f 'sleep 301'
  nothing_half_made
}

@test "two bakes at once: one waits for the other" {
  layered_state
  rm -rf "$KILN_STATE/images"
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  echo 'sleep 2' >>"$components/beta/install.sh"
  kiln bake oci --json --components "$components" "$STACK" >one.json 2>one.err 3>&- &
  one=$!
  kiln bake oci --json --components "$components" "$STACK" >two.json 2>two.err 3>&- &
  wait "$one"
  wait $!
  cat one.err two.err | grep -q 'wait for another bake (process [0-9]'
  [ "$(python3 -c 'import json; print(json.load(open("one.json"))["digest"] == json.load(open("two.json"))["digest"])')" = True ]
  # one built it, the other found it
  [ "$(cat one.json two.json | grep -c '"unchanged": true')" -eq 1 ]
  nothing_half_made
}

# Bakes from nothing with a state folder of so much memory; the whole of what is left is checked by the caller.
bake_in_memory() {
  unshare --mount bash -c '
    mount -t tmpfs -o "size=$1" none "$2" || exit 77
    for folder in apt locks; do cp -a "$3/$folder" "$2/" || exit 77; done
    [ -z "$4" ] || cp -a "$3/downloads" "$2/" || exit 77
    KILN_STATE=$2 kiln bake oci --components "$5" "$6" 2>"$7"
    code=$?
    find "$2/layers" "$2/images" "$2/downloads" -mindepth 1 -maxdepth 1 >"$7.left" 2>/dev/null
    exit $code' - "$1" "$BATS_TEST_TMPDIR/memory" "$FILE_STATE" "$2" "$COMPONENTS" "$STACK" "$BATS_TEST_TMPDIR/err"
}

@test "no space left for downloads: one line, nothing half made" {
  mkdir memory
  need=$(du -sm "$FILE_STATE/apt" "$FILE_STATE/locks" | awk '{ n += $1 } END { print n + 12 }')
  run bake_in_memory "${need}m" ''
  [ "$status" -ne 77 ] || skip "no memory file system here"
  [ "$status" -eq 1 ] || { cat err; return 1; }
  [[ "$(tail -n 1 err)" == *"$BATS_TEST_TMPDIR/memory/"*"No space left on device"* ]]
  not grep -E '\.part$|\.new-' err.left
}

@test "no space left for a layer: one line, nothing half made" {
  mkdir memory
  need=$(du -sm "$FILE_STATE/apt" "$FILE_STATE/locks" "$FILE_STATE/downloads" | awk '{ n += $1 } END { print n + 60 }')
  run bake_in_memory "${need}m" downloads
  [ "$status" -ne 77 ] || skip "no memory file system here"
  [ "$status" -eq 1 ] || { cat err; return 1; }
  [[ "$(tail -n 1 err)" == *"no space left in $BATS_TEST_TMPDIR/memory/layers"*KILN_STATE* ]]
  not grep -E '\.part$|\.new-' err.left
}

@test "a download that was changed is refused and fetched anew by the next run" {
  layered_state
  server="$BATS_TEST_TMPDIR/www"
  mkdir "$server"
  echo "the real source" >"$server/source.tar"
  components="$BATS_TEST_TMPDIR/components"
  cp -a "$COMPONENTS" "$components"
  python3 - "$components/alpha/component.json" "file://$server/source.tar" "$(sha256sum <"$server/source.tar" | cut -d' ' -f1)" <<'EOS'
import json, sys
c = json.load(open(sys.argv[1]))
c["sources"] = [{"url": sys.argv[2], "sha256": sys.argv[3], "file": "source.tar"}]
json.dump(c, open(sys.argv[1], "w"))
EOS
  echo 'grep -q "the real source" "$KILN_SOURCES/source.tar"' >>"$components/alpha/install.sh"
  cp "$server/source.tar" kept
  echo "something else" >"$server/source.tar"
  run --separate-stderr kiln bake oci --components "$components" "$STACK"
  [ "$status" -eq 4 ]
  [[ "${stderr##*$'\n'}" == *"file://$server/source.tar"*"sha256 wanted $(sha256sum <kept | cut -d' ' -f1), got $(sha256sum <"$server/source.tar" | cut -d' ' -f1)"* ]]
  nothing_half_made
  cp kept "$server/source.tar"
  bake oci
  [ "$(cached)" = "base=True alpha=False beta=True gamma=False kiln-merge=False" ]
}

@test "a package that this disk has damaged is told, and fetched anew by the next run" {
  need_program dpkg-deb
  layered_state
  for file in "$KILN_STATE"/downloads/*; do
    [ "$(dpkg-deb -f "$file" Package 2>/dev/null)" != ed ] || break
  done
  python3 - "$file" <<'EOS'
import os, sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-100] ^= 0xff # the same size
os.unlink(sys.argv[1])
open(sys.argv[1], "wb").write(data)
EOS
  run --separate-stderr kiln bake oci --components "$COMPONENTS" --rebuild alpha "$STACK"
  [ "$status" -eq 4 ]
  [[ "${stderr##*$'\n'}" == *"(ed_"*"has changed on this disk"* ]]
  [ ! -e "$file" ]
  nothing_half_made
  bake oci "$STACK" --rebuild alpha
  [ "$(cached)" = "base=True alpha=False beta=True gamma=True kiln-merge=True" ]
}

@test "the stack that kiln ships bakes, and every program in it answers" {
  export KILN_STATE=$SHARED_STATE
  run --separate-stderr kiln bake oci --json "$ROOT/stacks/local.json"
  [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
  [ "$(field 'layers[0]["component"]')" = base ]
  image=$(field output)
  image_root "$image"
  run chroot "$root" bash -c 'dpkg --audit && kiln --version && mpirun --version && fi_info --version && ssh -V && sshd -t 2>&1 | grep -c "no hostkeys"'
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [ -z "$(find "$root/etc/ssh" -name 'ssh_host_*')" ]
  need_program skopeo
  skopeo inspect "oci:$image:latest" >/dev/null
}
