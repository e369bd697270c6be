# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_VERSION: what the stack asked for.
found=$(dpkg-query -W -f '${Version}' openmpi-bin)
echo "openmpi $found"
[ "$found" = "$KILN_VERSION" ] || { echo "openmpi-bin is $found, not $KILN_VERSION" >&2; exit 1; }

mpirun --version | sed -n 1p
[ -n "$(find /usr/lib -name 'mca_mtl_ofi.so' -print -quit)" ] ||
  { echo "Open MPI's libfabric transport (mca_mtl_ofi.so) is missing" >&2; exit 1; }
[ -n "$(find /usr/lib -name 'libpmix.so.2' -print -quit)" ] ||
  { echo "libpmix.so.2, by which kiln learns its rank, is missing" >&2; exit 1; }
