# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_VERSION: what the stack asked for.
found=$(dpkg-query -W -f '${Version}' openssh-server)
echo "openssh $found"
[ "$found" = "$KILN_VERSION" ] || { echo "openssh-server is $found, not $KILN_VERSION" >&2; exit 1; }

if [ ! -d /run/systemd/system ]; then
  keys=$(find /etc/ssh -name 'ssh_host_*' | tr '\n' ' ')
  [ -z "$keys" ] || { echo "the image holds host keys: $keys" >&2; exit 1; }
fi

# What sshd itself makes of its configuration; it wants a host key to say so, and this one never leaves the folder.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
[ -d /run/sshd ] || { mkdir -p /run/sshd; made_run=1; }
settings=$(/usr/sbin/sshd -T -h "$work/key")
[ -z "${made_run:-}" ] || rmdir /run/sshd
for want in 'passwordauthentication no' 'kbdinteractiveauthentication no' 'permitrootlogin without-password' \
  'authenticationmethods publickey' 'permitemptypasswords no'; do
  grep -qx "$want" <<<"$settings" || { echo "sshd does not say '$want'" >&2; exit 1; }
done
echo "sshd takes keys only"
