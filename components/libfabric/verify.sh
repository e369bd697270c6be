# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_VERSION: what the stack asked for.
found=$(dpkg-query -W -f '${Version}' libfabric1)
echo "libfabric $found"
[ "$found" = "$KILN_VERSION" ] || { echo "libfabric is $found, not $KILN_VERSION" >&2; exit 1; }

# It has to load, and to know the providers that kiln stands on: efa on EC2, tcp everywhere.
providers=$(fi_info --list | sed -n 's/^\([a-z_0-9;]*\):$/\1/p' | sort -u | tr '\n' ' ')
echo "providers here: $providers"
case " $providers" in
*" tcp "*) ;;
*) echo "fi_info --list does not name the tcp provider" >&2; exit 1 ;;
esac
library=$(find /usr/lib -name 'libfabric.so.1' -print -quit)
[[ $(ldd "$library") == *libefa.so* ]] || { echo "$library is built without the efa provider" >&2; exit 1; }
echo "efa provider built into $library"
