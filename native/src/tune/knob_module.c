#include "base/clock.h"
#include "base/process.h"
#include "tune/knob.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests replace these paths. */
#ifndef NL_SYS_MODULE
#define NL_SYS_MODULE "/sys/module"
#endif
#ifndef NL_PROC_MODULES
#define NL_PROC_MODULES "/proc/modules"
#endif
#ifndef NL_MODPROBE
#define NL_MODPROBE "/sbin/modprobe", "/usr/sbin/modprobe", "/bin/modprobe", "/usr/bin/modprobe"
#endif

enum { MODPROBE_MS = 10000, POLL_MS = 20, STDERR_MAX = 160 };
enum { IN_USE_MS = 5000 }; /* closing connections use a module for a moment */

/* Only modules of congestion controls may be loaded. */
static int is_module_name(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && len < 56 && strncmp(name, "tcp_", 4) == 0 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

static int is_there(const char *name, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s%s", NL_SYS_MODULE, name, file);
	return access(path, F_OK) == 0;
}

static enum nl_knob_code module_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	int loaded = is_there(k->name, "");

	nl_knob_put_text(out, loaded ? "loaded" : "absent");
	if (loaded && !is_there(k->name, "/initstate"))
		return nl_knob_fail(why, NL_KNOB_OK, "built into the kernel");
	if (access(NL_PROC_MODULES, F_OK) < 0)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "this kernel takes no modules");
	out->access = geteuid() != 0 || !nl_in_first_user_namespace() ? NL_KNOB_NO_PRIVILEGE : NL_KNOB_WRITABLE;
	if (out->access == NL_KNOB_NO_PRIVILEGE)
		nl_fail(why, NL_REFUSED, "no privilege: only root of the machine may load modules");
	return NL_KNOB_OK;
}

/* The first line of its standard error, or an empty string. */
static void read_stderr(int fd, char message[STDERR_MAX])
{
	ssize_t n = read(fd, message, STDERR_MAX - 1);

	message[n > 0 ? n : 0] = '\0';
	message[strcspn(message, "\n")] = '\0';
	for (char *c = message; *c; c++)
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			*c = '?';
}

/* Its exit status, or -1 after a timeout, when it is killed. */
static int wait_for(pid_t pid)
{
	uint64_t until_ns = nl_now_ns() + MODPROBE_MS * NL_NS_PER_MS;

	while (nl_now_ns() < until_ns) {
		int status;
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid && WIFEXITED(status))
			return WEXITSTATUS(status);
		if (ended != 0 && !(ended < 0 && errno == EINTR))
			return -1;
		nl_sleep_ms(POLL_MS);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

/* 0, or the errno of posix_spawn; *status as wait_for. */
static int run_modprobe(char *const argv[], int *status, char message[STDERR_MAX])
{
	static const char *const paths[] = {NL_MODPROBE};
	static char *const environment[] = {NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int err = ENOENT, pipe_fd[2];
	pid_t pid = -1;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	/* standard output carries the answers of this process */
	posix_spawn_file_actions_adddup2(&files, pipe_fd[1], STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	for (size_t i = 0; err == ENOENT && i < sizeof(paths) / sizeof(paths[0]); i++)
		err = posix_spawn(&pid, paths[i], &files, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	close(pipe_fd[1]);
	message[0] = '\0';
	if (err == 0) {
		*status = wait_for(pid);
		fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK); /* a child of it may hold the end */
		read_stderr(pipe_fd[0], message);
	}
	close(pipe_fd[0]);
	return err;
}

static enum nl_knob_code module_write(const struct nl_knob *k, const char *text,
				      struct nl_err *why)
{
	char program[] = "modprobe", removing[] = "-r", end[] = "--";
	char name[NL_KNOB_NAME_MAX + 1], message[STDERR_MAX];
	int load = strcmp(text, "loaded") == 0, status = -1, err;
	char *argv[] = {program, load ? end : removing, load ? name : end, load ? NULL : name, NULL};
	uint64_t until_ns = nl_now_ns() + IN_USE_MS * NL_NS_PER_MS;

	memcpy(name, k->name, sizeof(name));
	for (;;) {
		err = run_modprobe(argv, &status, message);
		if (err)
			return nl_knob_fail_errno(why, "modprobe", err);
		if (is_there(k->name, "") == load)
			return NL_KNOB_OK;
		if (load || nl_now_ns() >= until_ns)
			break;
		nl_sleep_ms(POLL_MS);
	}
	return nl_knob_fail(why, NL_KNOB_REFUSED, "modprobe %s%s: %s", load ? "" : "-r ", k->name,
			    message[0] ? message : status < 0 ? "it timed out" : "it had no effect");
}

static const char *const states[] = {"loaded", "absent", NULL};

const struct nl_knob_ops nl_knob_ops_module = {
	.kind = "module", .is_name = is_module_name, .expected = "a module tcp_...", .words = states,
	.read = module_read, .write = module_write,
};
