#include "base/process.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

/* Two runs with the most streams, both ends, and a reserve. */
enum { ENOUGH = 4 * NL_STREAMS_MAX + 4096, SPARE = 64 };

/* Root may exceed the hard limit, up to fs.nr_open. */
static int raise_to(rlim_t wanted, struct rlimit *limit)
{
	struct rlimit more = *limit;

	more.rlim_cur = wanted;
	if (more.rlim_max < wanted)
		more.rlim_max = wanted;
	if (setrlimit(RLIMIT_NOFILE, &more))
		return -1;
	*limit = more;
	return 0;
}

void nl_fd_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= ENOUGH)
		return;
	if (raise_to(ENOUGH, &limit) && limit.rlim_cur < limit.rlim_max)
		raise_to(limit.rlim_max, &limit);
}

static rlim_t open_now(void)
{
	DIR *directory = opendir("/proc/self/fd");
	rlim_t count = 0;

	if (!directory)
		return SPARE;
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

int nl_fd_limit_need(uint64_t files, struct nl_err *err)
{
	struct rlimit limit;
	rlim_t wanted = open_now() + files + SPARE;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return nl_fail_errno(err, errno, "getrlimit");
	if (limit.rlim_cur >= wanted || raise_to(wanted, &limit) == 0)
		return NL_OK;
	return nl_fail(err, NL_LIMIT,
		       "%ju open files are needed and %ju are allowed: raise the limit of this host "
		       "(ulimit -Hn, LimitNOFILE, limits.conf)", (uintmax_t)wanted, (uintmax_t)limit.rlim_max);
}

uint64_t nl_fd_limit_room(uint64_t reserved)
{
	struct rlimit limit;
	rlim_t taken = open_now() + reserved + SPARE / 2;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur <= taken)
		return 0;
	return limit.rlim_cur - taken;
}

void nl_signals_block(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, NL_SIGNAL_DONE);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

int nl_signals_open(void)
{
	sigset_t signals;

	nl_signals_block(&signals);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The inode that every kernel gives the first one (PROC_USER_INIT_INO). */
#define FIRST_INODE 0xEFFFFFFDu

int nl_in_first_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) < 0 || st.st_ino == FIRST_INODE;
}
