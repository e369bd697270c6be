/* SPDX-License-Identifier: MIT */
/* A healthy recorded machine raises no alarm; then one thing is broken at a time and the check that is about it says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree.h"

struct file {
	const char *path, *content; /* content NULL: not there */
};

#define PCI "/sys/bus/pci/devices/"
#define LIMITS(memlock, files)                                                               \
	"Limit                     Soft Limit           Hard Limit           Units     \n"   \
	"Max open files            1024                 " files "              files     \n" \
	"Max locked memory         " memlock " bytes     \n"
#define DEV(rest) "Inter-|   Receive\n face |bytes\n    lo: 1 2\n" rest
#define ROUTES(rest) "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n" rest
#define ETH0_ROUTES                                                    \
	"eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" \
	"eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"

/* A p4d in small: one GPU, one EFA device, one NVSwitch, everything as it should be. */
static const struct file healthy[] = {
	{ PCI "0000:10:1b.0/vendor", "0x1d0f\n" },
	{ PCI "0000:10:1b.0/device", "0xefa1\n" },
	{ PCI "0000:10:1b.0/class", "0x020000\n" },
	{ PCI "0000:10:1b.0/uevent", "DRIVER=efa\nPCI_ID=1D0F:EFA1\n" },
	{ PCI "0000:10:1b.0/infiniband/rdmap16s27/fw_ver", "0.0.0.0\n" },
	{ "/sys/module/efa/version", "2.13.0g\n" },
	{ "/sys/class/infiniband_verbs/uverbs0/device/vendor", "0x1d0f\n" },
	{ "/dev/infiniband/uverbs0", "" },
	{ PCI "0000:10:1c.0/vendor", "0x10de\n" },
	{ PCI "0000:10:1c.0/device", "0x20b0\n" },
	{ PCI "0000:10:1c.0/class", "0x030200\n" },
	{ PCI "0000:10:1c.0/uevent", "DRIVER=nvidia\n" },
	{ PCI "0000:c0:1c.0/vendor", "0x10de\n" },
	{ PCI "0000:c0:1c.0/device", "0x1af1\n" },
	{ PCI "0000:c0:1c.0/class", "0x068000\n" },
	{ "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.172.08  Release "
					 "Build  (dvs-builder@U22)\nGCC version: 12\n" },
	{ "/usr/lib64/libnvidia-ml.so.570.172.08", "elf" },
	{ "/usr/lib64/libnvidia-ml.so.1", "->libnvidia-ml.so.570.172.08" },
	{ "/usr/lib64/libfabric.so.1", "elf" },
	{ "/usr/lib64/libnccl.so.2", "elf" },
	{ "/var/lib/dpkg/status",
	  "Package: nvidia-fabricmanager-570\nStatus: install ok installed\nVersion: 570.172.08-0ubuntu1\n\n"
	  "Package: openmpi-bin\nStatus: install ok installed\nVersion: 4.1.4-3\n" },
	{ "/proc/700/comm", "nv-fabricmanage\n" },
	{ "/usr/bin/mpirun", "elf" },
	{ "/dev/kmsg",
	  "6,100,5000000,-;Linux version 6.8\n4,101,6000000,-;NVRM: loading NVIDIA UNIX Open Kernel Module\n" },
	{ "/proc/self/limits", LIMITS("unlimited            unlimited           ", "1048576") },
	{ "/proc/self/mounts", "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev,size=24684084k 0 0\n" },
	{ "/proc/meminfo",
	  "MemTotal: 1 kB\nHugePages_Total:    5128\nHugePages_Free:     5128\nHugepagesize:       2048 kB\n" },
	{ "/proc/sys/kernel/yama/ptrace_scope", "0\n" },
	{ "/proc/sys/kernel/osrelease", "6.8.0-1021-aws\n" },
	{ "/proc/sys/kernel/hostname", "node-a\n" },
	{ "/proc/net/dev", DEV("  eth0: 1 2\n") },
	{ "/proc/net/route", ROUTES(ETH0_ROUTES) },
	{ "/usr/sbin/sshd", "elf" },
	{ "/etc/ssh/ssh_host_ed25519_key", "!0600 key" },
	{ "/etc/ssh/sshd_config",
	  "Include /etc/ssh/sshd_config.d/*.conf\nKbdInteractiveAuthentication no\nUsePAM yes\n" },
	{ "/etc/ssh/sshd_config.d/10-kiln.conf", "PasswordAuthentication no\n" },
	{ "/etc/ssh/ssh_config", "Host *\n    HashKnownHosts yes\n" },
	{ "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n" },
	{ "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n" },
	{ NULL },
};

static const struct broken {
	const char *name, *id;
	enum check_outcome wanted;
	const char *says;     /* a part of the evidence */
	struct file files[4]; /* what is otherwise than on the healthy machine */
} cases[] = {
	{ "the efa module is not loaded",
	  "efa-driver",
	  CHECK_FAIL,
	  "not loaded",
	  { { "/sys/module/efa/version", NULL } } },
	{ "an EFA device has no driver",
	  "efa-driver",
	  CHECK_FAIL,
	  "0000:10:1b.0 has no driver",
	  { { PCI "0000:10:1b.0/uevent", "PCI_ID=1\n" } } },
	{ "an EFA device has no verbs device",
	  "efa-driver",
	  CHECK_FAIL,
	  "no verbs device",
	  { { PCI "0000:10:1b.0/infiniband/rdmap16s27/fw_ver", NULL } } },
	{ "a container without device nodes",
	  "efa-verbs",
	  CHECK_FAIL,
	  "/dev/infiniband/uverbs0 cannot be opened",
	  { { "/dev/infiniband/uverbs0", NULL } } },
	{ "no EFA at all", "efa-verbs", CHECK_SKIP, "no EFA device", { { PCI "0000:10:1b.0/vendor", NULL } } },
	{ "the distribution's libfabric before Amazon's",
	  "libfabric-copies",
	  CHECK_FAIL,
	  "/opt/amazon/efa/lib/libfabric.so.1",
	  { { "/opt/amazon/efa/lib/libfabric.so.1", "other" } } },
	{ "two libfabrics and no EFA",
	  "libfabric-copies",
	  CHECK_WARN,
	  "2 copies",
	  { { "/usr/local/lib/libfabric.so.1", "other" }, { PCI "0000:10:1b.0/vendor", NULL } } },
	{ "a link to the same libfabric is no copy",
	  "libfabric-copies",
	  CHECK_PASS,
	  "/usr/lib64/libfabric.so.1",
	  { { "/lib/libfabric.so.1", "->../usr/lib64/libfabric.so.1" } } },
	{ "two NCCLs",
	  "nccl-copies",
	  CHECK_WARN,
	  "/opt/nccl/build/lib/libnccl.so.2",
	  { { "/opt/nccl/build/lib/libnccl.so.2", "x" } } },
	{ "a GPU and no driver",
	  "nvidia-driver",
	  CHECK_FAIL,
	  "no driver",
	  { { "/proc/driver/nvidia/version", NULL } } },
	{ "nouveau holds the GPU",
	  "nvidia-driver",
	  CHECK_FAIL,
	  "nouveau",
	  { { "/proc/driver/nvidia/version", NULL }, { "/sys/module/nouveau/refcnt", "1\n" } } },
	{ "libraries of another driver",
	  "nvidia-driver",
	  CHECK_FAIL,
	  "the libraries are 575.57.08",
	  { { "/usr/lib64/libnvidia-ml.so.1", NULL },
	    { "/usr/lib64/libnvidia-ml.so.575.57.08", "elf" },
	    { "/usr/lib64/libnvidia-ml.so.1", "->libnvidia-ml.so.575.57.08" } } },
	{ "fabric manager of another version",
	  "fabric-manager",
	  CHECK_FAIL,
	  "570.158.01",
	  { { "/var/lib/dpkg/status",
	      "Package: nvidia-fabricmanager-570\nStatus: install ok installed\nVersion: 570.158.01-1\n" } } },
	{ "a longer version is another version",
	  "fabric-manager",
	  CHECK_FAIL,
	  "570.172.081",
	  { { "/var/lib/dpkg/status",
	      "Package: nvidia-fabricmanager-570\nStatus: install ok installed\nVersion: 570.172.081-1\n" } } },
	{ "fabric manager removed",
	  "fabric-manager",
	  CHECK_FAIL,
	  "no nv-fabricmanager",
	  { { "/var/lib/dpkg/status",
	      "Package: nvidia-fabricmanager-570\nStatus: deinstall ok config-files\nVersion: 570.172.08-1\n" } } },
	{ "fabric manager does not run",
	  "fabric-manager",
	  CHECK_FAIL,
	  "does not run",
	  { { "/proc/700/comm", "bash\n" } } },
	{ "a GPU fell off the bus",
	  "xids",
	  CHECK_FAIL,
	  "Xid 79 on 0000:10:1c.0",
	  { { "/dev/kmsg", "3,0,1,-;NVRM: Xid (PCI:0000:10:1c): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
			   "off the bus.\n" } } },
	{ "an application's fault is not the node's",
	  "xids",
	  CHECK_PASS,
	  "Xid 31",
	  { { "/dev/kmsg",
	      "3,0,1,-;NVRM: Xid (PCI:0000:10:1c): 31, pid=77, name=python3, Ch 00000010, MMU Fault\n" } } },
	{ "an Xid that a process wrote",
	  "xids",
	  CHECK_PASS,
	  "not from the kernel",
	  { { "/dev/kmsg",
	      "12,0,1,-;NVRM: Xid (PCI:0000:10:1c): 79, pid=1, name=x, GPU has fallen off the bus.\n" } } },
	{ "8 MiB of locked memory",
	  "memlock",
	  CHECK_FAIL,
	  "8M",
	  { { "/proc/self/limits", LIMITS("8388608              8388608             ", "1048576") } } },
	{ "8 MiB, but the hard limit allows more",
	  "memlock",
	  CHECK_FAIL,
	  "hard limit would allow more",
	  { { "/proc/self/limits", LIMITS("8388608              unlimited           ", "1048576") } } },
	{ "8 MiB and no EFA",
	  "memlock",
	  CHECK_SKIP,
	  "there is none here",
	  { { "/proc/self/limits", LIMITS("8388608              8388608             ", "1048576") },
	    { PCI "0000:10:1b.0/vendor", NULL } } },
	{ "docker's 64 MiB of /dev/shm",
	  "shm-size",
	  CHECK_WARN,
	  "64M",
	  { { "/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n" } } },
	{ "no /dev/shm",
	  "shm-size",
	  CHECK_FAIL,
	  "nothing is mounted",
	  { { "/proc/self/mounts", "proc /proc proc rw 0 0\n" } } },
	{ "1024 files",
	  "open-files",
	  CHECK_WARN,
	  "1024",
	  { { "/proc/self/limits", LIMITS("unlimited            unlimited           ", "1024   ") } } },
	{ "no huge pages for EFA",
	  "hugepages",
	  CHECK_WARN,
	  "none is reserved",
	  { { "/proc/meminfo", "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize: 2048 kB\n" } } },
	{ "huge pages switched off on purpose",
	  "hugepages",
	  CHECK_PASS,
	  "FI_EFA_USE_HUGE_PAGE=0",
	  { { "/proc/meminfo", "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize: 2048 kB\n" },
	    { "/etc/environment", "FI_EFA_USE_HUGE_PAGE=0\n" } } },
	{ "Yama restricts ptrace", "ptrace", CHECK_WARN, "1 (", { { "/proc/sys/kernel/yama/ptrace_scope", "1\n" } } },
	{ "FI_PROVIDER keeps the node off EFA",
	  "environment",
	  CHECK_FAIL,
	  "FI_PROVIDER=tcp (/etc/environment)",
	  { { "/etc/environment", "PATH=\"/usr/bin\"\nFI_PROVIDER=\"tcp\"\n" } } },
	{ "NCCL_PROTO in NCCL's own file",
	  "environment",
	  CHECK_WARN,
	  "NCCL_PROTO=simple (/etc/nccl.conf)",
	  { { "/etc/nccl.conf", "# tuned in 2021\nNCCL_PROTO=simple\n" } } },
	{ "an old variable in a profile",
	  "environment",
	  CHECK_WARN,
	  "/etc/profile.d/efa.sh",
	  { { "/etc/profile.d/efa.sh", "#!/bin/sh\n  export FI_OFI_RXR_RX_COPY_UNEXP=1\n" } } },
	{ "fork safety on a new kernel",
	  "environment",
	  CHECK_WARN,
	  "RDMAV_FORK_SAFE=1",
	  { { "/etc/environment", "RDMAV_FORK_SAFE=1\n" } } },
	{ "fork safety on an old kernel",
	  "environment",
	  CHECK_PASS,
	  "none of the harmful",
	  { { "/etc/environment", "RDMAV_FORK_SAFE=1\n" }, { "/proc/sys/kernel/osrelease", "5.10.0-aws\n" } } },
	{ "an interface that is not there",
	  "interface",
	  CHECK_FAIL,
	  "NCCL_SOCKET_IFNAME=ens5 (/etc/environment)",
	  { { "/etc/environment", "NCCL_SOCKET_IFNAME=ens5\n" } } },
	{ "a whole name that only a prefix matches",
	  "interface",
	  CHECK_FAIL,
	  "names no interface",
	  { { "/etc/environment", "NCCL_SOCKET_IFNAME==eth\n" } } },
	{ "an exclusion leaves one",
	  "interface",
	  CHECK_PASS,
	  "eth0",
	  { { "/etc/environment", "NCCL_SOCKET_IFNAME=^docker,lo\n" } } },
	{ "only lo", "interface", CHECK_FAIL, "but lo", { { "/proc/net/dev", DEV("") } } },
	{ "a virtual interface comes first",
	  "interface",
	  CHECK_WARN,
	  "cni0",
	  { { "/proc/net/dev", DEV("  cni0: 1 2\n  eth0: 1 2\n") },
	    { "/proc/net/route",
	      ROUTES("cni0\t0000FF0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" ETH0_ROUTES) } } },
	{ "an IPv6-only node",
	  "interface",
	  CHECK_PASS,
	  "eth0",
	  { { "/proc/net/route", ROUTES("") },
	    { "/proc/net/if_inet6", "fd000000000000000000000000000002 04 40 00 82     eth0\n" } } },
	{ "no host key", "ssh-server", CHECK_FAIL, "no host key", { { "/etc/ssh/ssh_host_ed25519_key", NULL } } },
	{ "a host key that others can read",
	  "ssh-server",
	  CHECK_FAIL,
	  "mode 0644",
	  { { "/etc/ssh/ssh_host_ed25519_key", "!0644 key" } } },
	{ "passwords by default",
	  "ssh-server",
	  CHECK_WARN,
	  "which means yes",
	  { { "/etc/ssh/sshd_config.d/10-kiln.conf", NULL } } },
	{ "the first value counts",
	  "ssh-server",
	  CHECK_WARN,
	  "00-cloud.conf:1",
	  { { "/etc/ssh/sshd_config.d/00-cloud.conf", "passwordauthentication yes\n" } } },
	{ "passwords for some",
	  "ssh-server",
	  CHECK_WARN,
	  "Match User",
	  { { "/etc/ssh/sshd_config.d/20-user.conf", "Match User guest\n  PasswordAuthentication yes\n" } } },
	{ "StrictHostKeyChecking no",
	  "ssh-client",
	  CHECK_WARN,
	  "/etc/ssh/ssh_config.d/efa.conf:2",
	  { { "/etc/ssh/ssh_config", "Include ssh_config.d/*.conf\n" },
	    { "/etc/ssh/ssh_config.d/efa.conf", "Host 10.*\n  StrictHostKeyChecking=no\n" } } },
	{ "root's own setting",
	  "ssh-client",
	  CHECK_WARN,
	  "/root/.ssh/config:1",
	  { { "/root/.ssh/config", "stricthostkeychecking \"no\"\n" } } },
	{ "mpirun told to skip it",
	  "ssh-client",
	  CHECK_WARN,
	  "openmpi-mca-params.conf",
	  { { "/etc/openmpi/openmpi-mca-params.conf", "plm_rsh_args = -o StrictHostKeyChecking=no\n" } } },
	{ "no mpirun", "mpi", CHECK_WARN, "no mpirun", { { "/usr/bin/mpirun", NULL } } },
	{ "Slurm instead", "mpi", CHECK_PASS, "srun", { { "/usr/bin/mpirun", NULL }, { "/usr/bin/srun", "elf" } } },
	{ "a processor that saves power",
	  "cpu-governor",
	  CHECK_WARN,
	  "cpu1: powersave",
	  { { "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n" } } },
};

static bool is_replaced(const struct broken *b, const char *path)
{
	for (size_t i = 0; b && i < 4 && b->files[i].path; i++)
		if (strcmp(b->files[i].path, path) == 0)
			return true;
	return false;
}

static void build(struct tree *t, const struct broken *b)
{
	tree_make(t);
	for (const struct file *f = healthy; f->path; f++)
		if (!is_replaced(b, f->path))
			tree_file(t, f->path, f->content);
	for (size_t i = 0; b && i < 4 && b->files[i].path; i++)
		if (b->files[i].content)
			tree_file(t, b->files[i].path, b->files[i].content);
}

static void a_healthy_tree_raises_no_alarm(void **state)
{
	struct tree t;
	struct check_result r;
	(void)state;
	build(&t, NULL);
	for (const struct check *const *c = checks; *c; c++) {
		tree_check(&t, (*c)->id, &r);
		print_message("# %s: %s: %s\n", (*c)->id, check_outcome_text(r.outcome), r.evidence);
		assert_true(r.outcome == CHECK_PASS || r.outcome == CHECK_SKIP);
		assert_true(r.outcome == CHECK_PASS || strstr(r.evidence, "recorded tree"));
	}
	tree_remove(&t);
}

static void one_thing_broken_is_found(void **state)
{
	const struct broken *b = *state;
	struct tree t;
	struct check_result r;
	build(&t, b);
	tree_check(&t, b->id, &r);
	print_message("# %s: %s\n", check_outcome_text(r.outcome), r.evidence);
	tree_remove(&t);
	assert_int_equal(r.outcome, b->wanted);
	assert_non_null(strstr(r.evidence, b->says));
}

/* Every other check keeps quiet about it: one cause, one alarm. */
static void and_only_there(void **state)
{
	const struct broken *b = *state;
	struct tree t;
	struct check_result r;
	build(&t, b);
	for (const struct check *const *c = checks; *c; c++) {
		if (strcmp((*c)->id, b->id) == 0)
			continue;
		tree_check(&t, (*c)->id, &r);
		if (r.outcome == CHECK_FAIL || r.outcome == CHECK_WARN)
			print_message("# also %s: %s\n", (*c)->id, r.evidence);
		assert_true(r.outcome == CHECK_PASS || r.outcome == CHECK_SKIP);
	}
	tree_remove(&t);
}

int main(void)
{
	enum { N = sizeof(cases) / sizeof(*cases) };
	static struct CMUnitTest tests[1 + 2 * N];
	size_t n = 0;
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_healthy_tree_raises_no_alarm);
	for (size_t i = 0; i < N; i++) {
		tests[n++] =
			(struct CMUnitTest){ cases[i].name, one_thing_broken_is_found, NULL, NULL, (void *)&cases[i] };
		if (cases[i].wanted == CHECK_WARN || cases[i].wanted == CHECK_FAIL)
			tests[n++] =
				(struct CMUnitTest){ cases[i].name, and_only_there, NULL, NULL, (void *)&cases[i] };
	}
	return _cmocka_run_group_tests("check_tree", tests, n, NULL, NULL);
}
