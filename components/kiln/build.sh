# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail on the buildroot. KILN_SOURCE_TREE: kiln's source (else the current folder); KILN_DEST: the
# folder that gets what was made, as DESTDIR.
tree=${KILN_SOURCE_TREE:-$PWD}

# Always in the same place, so that no path of the machine that bakes gets into the program.
rm -rf /usr/src/kiln /usr/src/kiln-build
mkdir -p /usr/src/kiln
cp -R "$tree"/. /usr/src/kiln
meson setup --prefix=/usr --buildtype=release -Dtests=disabled -Dstrip=true /usr/src/kiln-build /usr/src/kiln
ninja -C /usr/src/kiln-build
DESTDIR="$KILN_DEST" meson install -C /usr/src/kiln-build --no-rebuild
rm -rf /usr/src/kiln /usr/src/kiln-build
