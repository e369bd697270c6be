# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_VERSION: what the stack asked for.
found=$(kiln --version)
echo "$found"
[ "${found##* }" = "$KILN_VERSION" ] || { echo "kiln says '$found', not $KILN_VERSION" >&2; exit 1; }
kiln --help >/dev/null
