#include "io/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct nl_mover *nl_mover_of(const struct nl_run_opts *opts)
{
	return opts->role == NL_GEN ? nl_mover_send(opts->send) : nl_mover_receive(opts->receive);
}

int nl_tools_open(struct nl_tools *tools, const struct nl_mover *mover, uint64_t record_B,
		  uint8_t *buffer, int file)
{
	int errnum;

	*tools = (struct nl_tools){.mover = mover, .record_B = record_B, .buffer = buffer,
				   .file = file, .pipe_out = -1, .pipe_in = -1};
	errnum = mover->open ? mover->open(tools) : 0;
	if (errnum)
		nl_tools_close(tools);
	return errnum;
}

void nl_tools_close(struct nl_tools *tools)
{
	if (tools->map)
		munmap(tools->map, tools->map_B);
	if (tools->pipe_out >= 0)
		close(tools->pipe_out);
	if (tools->pipe_in >= 0)
		close(tools->pipe_in);
	if (tools->owns_file)
		close(tools->file);
	*tools = (struct nl_tools){.file = -1, .pipe_out = -1, .pipe_in = -1};
}

int nl_tools_pipe(struct nl_tools *tools)
{
	enum { PIPE_MAX_B = 1 << 20 }; /* what an unprivileged process may have */
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return errno;
	tools->pipe_out = ends[0];
	tools->pipe_in = ends[1];
	/* as large as it will be: a smaller pipe takes more calls, and works */
	for (int size = PIPE_MAX_B; size > 65536; size /= 2)
		if ((uint64_t)size / 2 < tools->record_B && fcntl(ends[1], F_SETPIPE_SZ, size) >= 0)
			break;
	return 0;
}
