/* The receive methods. */
#include "base/files.h"
#include "io/io_method.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static ssize_t receive_copy(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	return recv(stream->fd, ctx->buffer, len, 0);
}

static ssize_t receive_discard(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	/* nothing is written; race detectors still expect an address of the caller's */
	return recv(stream->fd, ctx->buffer, len, MSG_TRUNC);
}

static int open_splice(struct nl_io_ctx *ctx)
{
	ctx->file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (ctx->file < 0)
		return errno;
	ctx->owns_file = 1;
	return nl_io_ctx_pipe(ctx);
}

static ssize_t receive_splice(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	ssize_t n = splice(stream->fd, NULL, ctx->pipe_in, NULL, len, SPLICE_F_MOVE);
	ssize_t left = n;

	while (left > 0) {
		ssize_t gone = splice(ctx->pipe_out, NULL, ctx->file, NULL, (size_t)left,
				      SPLICE_F_MOVE);

		if (gone <= 0) {
			errno = gone < 0 ? errno : EIO;
			return -1;
		}
		left -= gone;
	}
	return n;
}

/* The first fields of the kernel's struct tcp_zerocopy_receive: an ABI that only grows at its end,
 * and the kernel accepts any length. */
struct kernel_zerocopy {
	uint64_t address;
	uint32_t length, recv_skip_hint;
};

enum { ZEROCOPY_RECEIVE = 35, MAP_LEAST_B = 256 * 1024 };

static int map_received(int fd, void *map, uint64_t map_B, struct kernel_zerocopy *out)
{
	socklen_t len = sizeof(*out);

	*out = (struct kernel_zerocopy){.address = (uint64_t)(uintptr_t)map,
					.length = (uint32_t)map_B};
	return getsockopt(fd, IPPROTO_TCP, ZEROCOPY_RECEIVE, out, &len);
}

static int probe_receive_zerocopy(const char **what)
{
	size_t page_B = (size_t)sysconf(_SC_PAGESIZE);
	int failed = -1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct kernel_zerocopy result;
	void *map;

	*what = "mmap of a TCP socket";
	if (fd < 0)
		return -1;
	map = mmap(NULL, page_B, PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		*what = "getsockopt TCP_ZEROCOPY_RECEIVE";
		failed = map_received(fd, map, page_B, &result);
		munmap(map, page_B);
	}
	nl_close(&fd);
	return failed;
}

/* The kernel requires a mapping of a TCP socket, of any one. */
static int attach_receive_zerocopy(struct nl_io_ctx *ctx, struct nl_stream *stream)
{
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE), least = MAP_LEAST_B;
	void *map;

	if (ctx->map)
		return 0;
	ctx->blocks = !(fcntl(stream->fd, F_GETFL) & O_NONBLOCK);
	ctx->map_B = ctx->record_B > least ? ctx->record_B : least;
	ctx->map_B = (ctx->map_B + page_B - 1) / page_B * page_B;
	map = mmap(NULL, ctx->map_B, PROT_READ, MAP_SHARED, stream->fd, 0);
	if (map == MAP_FAILED)
		return errno;
	ctx->map = map;
	return 0;
}

static ssize_t receive_zerocopy(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	struct pollfd ready = {.fd = stream->fd, .events = POLLIN};
	struct kernel_zerocopy result;
	int waits = ctx->blocks;
	size_t rest;

	for (;; waits = 0) {
		if (map_received(stream->fd, ctx->map, ctx->map_B, &result)) {
			if (errno != EIO) /* EIO: end of stream, which recv() reports */
				return -1;
			break;
		}
		if (result.length > 0) {
			stream->mapped_bytes += result.length;
			return (ssize_t)result.length;
		}
		/* recv() would wait too, and then copy data that could have been mapped */
		if (result.recv_skip_hint || !waits)
			break;
		if (poll(&ready, 1, -1) < 0)
			return -1;
	}
	/* bytes that do not fill a page must be copied */
	rest = result.recv_skip_hint && result.recv_skip_hint < len ? result.recv_skip_hint : len;
	return recv(stream->fd, ctx->buffer, rest, 0);
}

const struct nl_io_method nl_io_receive[] = {
	[NL_RECEIVE_COPY] = {.name = "copy", .buffer = NL_BUFFER_OWN, .move = receive_copy},
	[NL_RECEIVE_DISCARD] = {.name = "discard", .buffer = NL_BUFFER_UNTOUCHED, .move = receive_discard},
	[NL_RECEIVE_SPLICE] = {.name = "splice", .open = open_splice, .move = receive_splice},
	[NL_RECEIVE_ZEROCOPY] = {.name = "zerocopy", .buffer = NL_BUFFER_OWN, .probe = probe_receive_zerocopy,
				 .attach = attach_receive_zerocopy, .move = receive_zerocopy},
};
