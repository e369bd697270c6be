/* SPDX-License-Identifier: MIT */
/* What a node's pid 1 does. Only system calls and the stack: see node_init_run in node.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "launch/node.h"

#define CONSOLE_FD 2
#define REPORT_FD 3
#define END_WAIT_SECONDS 2
#define OVERLAY_OPTIONS_BYTES 4096 /* mount(2) takes a page */

extern char **environ;

static _Noreturn void give_up(const char *what, const char *on)
{
	struct node_report r = { .code = errno };
	snprintf(r.what, sizeof(r.what), "%s '%s'", what, on);
	(void)!write(REPORT_FD, &r, sizeof(r));
	dprintf(CONSOLE_FD, "kiln: %s: error %d\n", r.what, r.code);
	_exit(1);
}

static void arrange_descriptors(int console, int report)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* Out of the way first: any of them may sit on a number that another is to have. */
	int high_report = fcntl(report, F_DUPFD_CLOEXEC, 10);
	int high_console = fcntl(console, F_DUPFD_CLOEXEC, 10);
	int high_null = fcntl(null, F_DUPFD_CLOEXEC, 10);
	dup2(high_null, 0);
	dup2(high_console, 1);
	dup2(high_console, CONSOLE_FD);
	dup3(high_report, REPORT_FD, O_CLOEXEC);
	if (syscall(SYS_close_range, REPORT_FD + 1, ~0U, 0) < 0) /* Linux 5.9 */
		for (int fd = REPORT_FD + 1; fd < 65536; fd++)
			close(fd);
}

/*
 * ps shall call it what it is, and what it runs in shall not be able to read the environment of whoever typed `kiln`
 * (credentials) in /proc/1/environ: the memory that the kernel shows for both is written over. Its place: fields 48 to
 * 51 of /proc/pid/stat, proc(5).
 */
static void hide_origin(const char *name)
{
	char text[2048];
	unsigned long long at[4] = { 0 };
	static char *nothing[] = { NULL };
	int fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *field = strrchr(text, ')');
	for (int i = 2; field && i < 48; i++)
		field = strchr(field + 1, ' ');
	environ = nothing;
	prctl(PR_SET_NAME, "kiln-node");
	if (!field || sscanf(field, "%llu %llu %llu %llu", &at[0], &at[1], &at[2], &at[3]) != 4 || at[1] <= at[0] ||
	    at[3] < at[2])
		return;
	memset((void *)(uintptr_t)at[2], 0, (size_t)(at[3] - at[2]));
	memset((void *)(uintptr_t)at[0], 0, (size_t)(at[1] - at[0]));
	snprintf((char *)(uintptr_t)at[0], (size_t)(at[1] - at[0]), "kiln-node %s", name);
}

static void mount_root(const struct node_plan *p)
{
	char options[OVERLAY_OPTIONS_BYTES], root[64];
	size_t n = 0;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		give_up("make private the mounts under", "/");
	if (chdir(p->folder) < 0)
		give_up("enter", p->folder);
	/* Relative and short: so no path needs escaping and 500 layers fit. Overlay wants the top layer first. */
	n += (size_t)snprintf(options, sizeof(options), "lowerdir=");
	for (unsigned k = p->layers; k-- > 0 && n < sizeof(options);)
		n += (size_t)snprintf(options + n, sizeof(options) - n, "lower/%u%s", k, k ? ":" : "");
	if (n < sizeof(options))
		n += (size_t)snprintf(options + n, sizeof(options) - n, ",upperdir=node%u/upper,workdir=node%u/work",
				      p->number, p->number);
	errno = E2BIG;
	snprintf(root, sizeof(root), "node%u/root", p->number);
	if (n >= sizeof(options) || mount("kiln", root, "overlay", 0, options) < 0)
		give_up("mount the image's layers (overlay) on", root);
	/* pivot_root(2), "pivot_root(".", ".")": the old root ends up above the new one and is taken off. */
	if (chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		give_up("make the root", root);
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		give_up("let go of the machine's root", "/");
}

static void mount_at(const char *kind, const char *at, unsigned long flags, const char *options)
{
	if (mkdir(at, 0755) < 0 && errno != EEXIST)
		give_up("make", at);
	if (mount(kind, at, kind, flags, options) < 0)
		give_up("mount", at);
}

/* What is not divided between nodes may be read, not written: a node must not tune the machine. */
static void lock_proc(const char *path, unsigned long flags)
{
	if (mount(path, path, NULL, MS_BIND, NULL) < 0)
		return; /* not in this kernel */
	if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC | flags, NULL) < 0)
		give_up("protect", path);
}

static void mount_kernel_views(void)
{
	const unsigned long plain = MS_NOSUID | MS_NODEV;
	mount_at("proc", "/proc", plain | MS_NOEXEC, NULL);
	lock_proc("/proc/sys", MS_RDONLY);
	lock_proc("/proc/sys/net", 0); /* its own network's */
	lock_proc("/proc/sysrq-trigger", MS_RDONLY);
	mount_at("sysfs", "/sys", plain | MS_NOEXEC | MS_RDONLY, NULL);
	mount_at("tmpfs", "/dev", MS_NOSUID, "mode=755,size=1m");
	mount_at("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5");
	mount_at("tmpfs", "/dev/shm", plain, "mode=1777");
	mount_at("tmpfs", "/run", plain, "mode=755");
	mount_at("tmpfs", "/tmp", plain, "mode=1777");
	if (mkdir("/run/sshd", 0755) < 0) /* sshd(8): where it leaves its privileges */
		give_up("make", "/run/sshd");
	if (mkdir("/run/lock", 01777) < 0 || chmod("/run/lock", 01777) < 0) /* whatever the umask */
		give_up("make", "/run/lock");
}

static void make_devices(const struct node_plan *p)
{
	static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
						{ "/proc/self/fd/0", "/dev/stdin" },
						{ "/proc/self/fd/1", "/dev/stdout" },
						{ "/proc/self/fd/2", "/dev/stderr" },
						{ "pts/ptmx", "/dev/ptmx" } };
	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (symlink(links[i][0], links[i][1]) < 0)
			give_up("make", links[i][1]);
	for (size_t i = 0; i < p->device_count; i++) {
		const struct node_device *d = &p->devices[i];
		char parent[sizeof(d->path)];
		snprintf(parent, sizeof(parent), "%s", d->path);
		*strrchr(parent, '/') = '\0';
		if (mkdir(parent, 0755) < 0 && errno != EEXIST)
			give_up("make", parent);
		if (mknod(d->path, d->mode, d->number) < 0 || chmod(d->path, d->mode & 07777) < 0)
			give_up("make device", d->path);
	}
}

static void write_file(const struct node_file *f)
{
	char parent[256];
	snprintf(parent, sizeof(parent), "%s", f->path);
	for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		/* A folder that the image lacks is private when it is to hold secrets, as .ssh is. */
		if (mkdir(parent, strstr(parent, "/.ssh") ? 0700 : 0755) < 0 && errno != EEXIST)
			give_up("make", parent);
		*slash = '/';
	}
	if (!f->append && unlink(f->path) < 0 && errno != ENOENT)
		give_up("replace", f->path);
	int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC | (f->append ? O_APPEND : O_EXCL), f->mode);
	size_t done = 0;
	while (fd >= 0 && done < f->len) {
		ssize_t n = write(fd, f->text + done, f->len - done);
		if (n < 0 && errno != EINTR)
			give_up("write", f->path);
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || (!f->append && fchmod(fd, f->mode) < 0) || close(fd) < 0)
		give_up("write", f->path);
}

static pid_t start_sshd(void)
{
	/* The first value of an option wins, and the command line comes before the image's own sshd_config. */
	static const char *const argv[] = { "/usr/sbin/sshd",
					    "-D",
					    "-e",
					    "-h",
					    "/etc/ssh/ssh_host_ed25519_key",
					    "-o",
					    "PidFile=none",
					    "-o",
					    "PermitRootLogin=prohibit-password",
					    "-o",
					    "PasswordAuthentication=no",
					    "-o",
					    "KbdInteractiveAuthentication=no",
					    "-o",
					    "PubkeyAuthentication=yes",
					    "-o",
					    "AuthorizedKeysFile=.ssh/authorized_keys",
					    "-o",
					    "MaxStartups=256",
					    "-o",
					    "MaxSessions=256",
					    NULL };
	static const char *const env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	pid_t pid = _Fork(); /* fork(3) would take locks that a thread of the old program may hold */
	if (pid < 0)
		give_up("start", argv[0]);
	if (pid > 0)
		return pid;
	sigset_t none;
	sigemptyset(&none);
	setsid();
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(argv[0], (char *const *)argv, (char *const *)env);
	give_up("the image must hold openssh-server: start", argv[0]);
}

/* Reaps what has ended. True when `sshd` was among it. */
static bool reap(pid_t sshd)
{
	bool gone = false;
	int status;
	for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG))
		gone = gone || pid == sshd;
	return gone;
}

/* Told to end: everybody gets SIGTERM and two seconds; when pid 1 is gone the kernel kills the rest. */
static _Noreturn void end(const sigset_t *all)
{
	struct timespec patience = { .tv_sec = END_WAIT_SECONDS };
	kill(-1, SIGTERM);
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0) /* no child is left */
			break;
		if (pid == 0 && sigtimedwait(all, NULL, &patience) < 0 && errno == EAGAIN)
			break;
	}
	_exit(0);
}

void node_init_run(const struct node_plan *p, int console_fd, int report_fd)
{
	sigset_t all;
	sigfillset(&all); /* blocked since birth; a blocked signal reaches pid 1 too, through sigwaitinfo */
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	arrange_descriptors(console_fd, report_fd);
	setsid();
	umask(022);
	hide_origin(p->name);
	if (setgroups(0, NULL) < 0)
		give_up("drop the groups of", p->name);
	mount_root(p);
	mount_kernel_views();
	umask(0);
	make_devices(p);
	umask(022);
	for (size_t i = 0; i < p->file_count; i++)
		write_file(&p->files[i]);
	if (sethostname(p->name, strlen(p->name)) < 0)
		give_up("set the host name", p->name);
	pid_t sshd = start_sshd();
	close(REPORT_FD); /* the last copy closes when sshd is executed */
	dprintf(CONSOLE_FD, "kiln: node %s runs\n", p->name);
	for (;;) {
		siginfo_t got;
		int s = sigwaitinfo(&all, &got);
		if (s == SIGTERM || s == SIGINT)
			end(&all);
		if (s == SIGCHLD && reap(sshd)) {
			dprintf(CONSOLE_FD, "kiln: sshd has ended, and the node with it\n");
			_exit(1);
		}
	}
}
