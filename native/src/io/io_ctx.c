#include "io/io_ctx.h"

#include "io/io_method.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int nl_io_ctx_open(struct nl_io_ctx *ctx, const struct nl_io_method *method, uint64_t record_B,
		   uint8_t *buffer, int file)
{
	int errnum;

	*ctx = (struct nl_io_ctx){.method = method, .record_B = record_B, .buffer = buffer,
				   .file = file, .pipe_out = -1, .pipe_in = -1};
	errnum = method->open ? method->open(ctx) : 0;
	if (errnum)
		nl_io_ctx_close(ctx);
	return errnum;
}

void nl_io_ctx_close(struct nl_io_ctx *ctx)
{
	if (ctx->map)
		munmap(ctx->map, ctx->map_B);
	if (ctx->pipe_out >= 0)
		close(ctx->pipe_out);
	if (ctx->pipe_in >= 0)
		close(ctx->pipe_in);
	if (ctx->owns_file)
		close(ctx->file);
	*ctx = (struct nl_io_ctx){.file = -1, .pipe_out = -1, .pipe_in = -1};
}

int nl_io_ctx_pipe(struct nl_io_ctx *ctx)
{
	enum { PIPE_MAX_B = 1 << 20 }; /* the limit for unprivileged processes */
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return errno;
	ctx->pipe_out = ends[0];
	ctx->pipe_in = ends[1];
	/* the largest size allowed; a smaller pipe works with more calls */
	for (int size = PIPE_MAX_B; size > 65536; size /= 2)
		if ((uint64_t)size / 2 < ctx->record_B && fcntl(ends[1], F_SETPIPE_SZ, size) >= 0)
			break;
	return 0;
}
