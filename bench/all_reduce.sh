#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kiln's all-reduce against Open MPI's MPI_Allreduce over TCP, two ranks, the best of three runs of each, taken in turn.
#	bench/all_reduce.sh lo      both ranks on loopback (default)
#	bench/all_reduce.sh veth    each in a network namespace of its own, joined by a veth pair (root)
# A ratio above 1 means that kiln is faster.
set -euo pipefail
cd "$(dirname "$0")/.."
where=${1:-lo}
export PATH="${KILN_BUILD:-$PWD/build}/src:$PATH"
kiln=$(command -v kiln)
sizes=(8 2048 32768 131072 524288 2097152 8388608 67108864)
work=$(mktemp -d)
a=kbencha$$ b=kbenchb$$
here=()

finish() {
  ip netns del "$a" 2>/dev/null || true
  ip netns del "$b" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

mpicc -O2 -o "$work/mpi_allreduce" bench/mpi_allreduce.c

options=(--allow-run-as-root --bind-to none -np 2)
[ "$(id -u)" -eq 0 ] || options=(--bind-to none -np 2)
case $where in
lo)
  options+=(--oversubscribe)
  mca=(--mca btl "tcp,self" --mca btl_tcp_if_include lo --mca pml ob1)
  ;;
veth)
  ip netns add "$a"
  ip netns add "$b"
  ip link add "va$$" netns "$a" type veth peer name "vb$$" netns "$b"
  ip -n "$a" addr add 10.79.0.11/24 dev "va$$"
  ip -n "$b" addr add 10.79.0.12/24 dev "vb$$"
  for n in "$a:va$$" "$b:vb$$"; do
    ip -n "${n%:*}" link set "${n#*:}" up
    ip -n "${n%:*}" link set lo up
  done
  # What mpirun takes for ssh: enters the namespace that has the address.
  cat >"$work/agent" <<AGENT
#!/bin/bash
while [[ \$1 != 10.79.* ]]; do shift; done
n=$a; [ "\$1" = 10.79.0.12 ] && n=$b
shift
exec ip netns exec \$n unshare --uts bash -c "hostname \$n; \$*"
AGENT
  chmod +x "$work/agent"
  here=(ip netns exec "$a" unshare --uts bash -c "hostname $a; exec \"\$@\"" --)
  options+=(--host "10.79.0.11:1,10.79.0.12:1" --mca plm_rsh_agent "$work/agent" --mca oob_tcp_if_include 10.79.0.0/24)
  mca=(--mca btl "tcp,self" --mca btl_tcp_if_include 10.79.0.0/24 --mca pml ob1)
  ;;
*)
  echo "usage: bench/all_reduce.sh [lo|veth]" >&2
  exit 2
  ;;
esac

for run in 1 2 3; do
  "${here[@]}" mpirun "${options[@]}" "${mca[@]}" "$work/mpi_allreduce" 8 67108864 20 </dev/null >"$work/mpi.$run"
  "${here[@]}" mpirun "${options[@]}" "$kiln" prove all_reduce -b 8 -e 64M -f 2 -c 0 </dev/null |
    awk '/^ / { print $1, $6 }' >"$work/kiln.$run"
done

best() { # least time of a size over the three runs
  awk -v size="$2" '$1 == size && (!n++ || $2 < t) { t = $2 } END { print t }' "$work/$1".?
}
printf '%12s  %14s  %14s  %7s\n' bytes 'kiln (us)' 'Open MPI (us)' ratio
for size in "${sizes[@]}"; do
  awk -v s="$size" -v k="$(best kiln "$size")" -v m="$(best mpi "$size")" \
    'BEGIN { printf "%12d  %14.2f  %14.2f  %7.2f\n", s, k, m, m / k }'
done
uptime
