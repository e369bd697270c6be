# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_PACKAGES: "name=version ...".
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # words, not one
apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300 install $KILN_PACKAGES
