# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_VERSION: what the stack asked for.
found=$(dpkg-query -W -f '${Version}' rdma-core)
echo "rdma-core $found"
[ "$found" = "$KILN_VERSION" ] || { echo "rdma-core is $found, not $KILN_VERSION" >&2; exit 1; }

# The EFA verbs provider: the library, and the file by which libibverbs finds it.
provider=$(find /usr/lib -path '*/libibverbs/libefa-rdmav*.so' -print -quit)
[ -n "$provider" ] || { echo "the EFA verbs provider (libefa-rdmav*.so) is missing" >&2; exit 1; }
[ -s /etc/libibverbs.d/efa.driver ] || { echo "/etc/libibverbs.d/efa.driver is missing" >&2; exit 1; }
echo "EFA verbs provider $provider"
