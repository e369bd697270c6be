# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs under bash -euo pipefail. KILN_PACKAGES: "name=version ...".
export DEBIAN_FRONTEND=noninteractive

before=$(find /etc/ssh -name 'ssh_host_*' 2>/dev/null | sort || true)
# shellcheck disable=SC2086  # words, not one
apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300 install $KILN_PACKAGES

# The package makes host keys while it is installed. In an image they would be the same on every node, and secret on none:
# take away what was made just now. A machine that is running keeps its keys.
if [ -z "$before" ] && [ ! -d /run/systemd/system ]; then
  rm -f /etc/ssh/ssh_host_*
fi

install -d -m 0755 /etc/ssh/sshd_config.d
cat >/etc/ssh/sshd_config.d/10-kiln.conf <<'EOF'
# Written by kiln (component openssh). Keys only: no passwords, no agent or X11 forwarding.
PubkeyAuthentication yes
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitEmptyPasswords no
PermitRootLogin prohibit-password
X11Forwarding no
AllowAgentForwarding no
# mpirun opens a session on many nodes at once.
MaxStartups 100:30:300
EOF
chmod 0644 /etc/ssh/sshd_config.d/10-kiln.conf
