/* The send methods. */
#include "base/files.h"
#include "io/io_method.h"
#include "io/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* missing in headers older than the kernel */
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif
#ifndef SO_EE_ORIGIN_ZEROCOPY
#define SO_EE_ORIGIN_ZEROCOPY 5
#endif
#ifndef SO_EE_CODE_ZEROCOPY_COPIED
#define SO_EE_CODE_ZEROCOPY_COPIED 1
#endif

static ssize_t send_copy(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	return send(stream->fd, ctx->buffer, len, MSG_NOSIGNAL);
}

enum { REAP_SENDS = 32 };

static int probe_send_zerocopy(const char **what)
{
	int failed, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*what = "setsockopt SO_ZEROCOPY";
	failed = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &(int){1}, sizeof(int));
	nl_close(&fd);
	return -failed;
}

static int attach_send_zerocopy(struct nl_io_ctx *ctx, struct nl_stream *stream)
{
	(void)ctx;
	stream->zc_pending = calloc(1, sizeof(*stream->zc_pending));
	if (!stream->zc_pending)
		return ENOMEM;
	return setsockopt(stream->fd, SOL_SOCKET, SO_ZEROCOPY, &(int){1}, sizeof(int)) ? errno : 0;
}

/* Read one message of the error queue; -1 if it is empty. */
static int reap_one(struct nl_stream *stream)
{
	_Alignas(struct cmsghdr) char control[256];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};

	if (recvmsg(stream->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return errno == EINTR ? 0 : -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		struct sock_extended_err info;

		if (c->cmsg_len < CMSG_LEN(sizeof(info)))
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		if (info.ee_errno != 0 || info.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
			continue;
		/* one message may report a range of sends; their numbers wrap */
		for (uint32_t n = 0; n <= info.ee_data - info.ee_info && n < NL_ZC_PENDING_MAX; n++)
			nl_zc_pending_done(stream, info.ee_info + n,
					   info.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
	}
	return 0;
}

static void reap_zerocopy(struct nl_stream *stream)
{
	while (nl_zc_pending_any(stream) && reap_one(stream) == 0)
		;
}

static ssize_t send_zerocopy(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	/* the kernel merges completions that nobody has read */
	int read_all = stream->zc_pending->next % REAP_SENDS == 0;

	for (;; read_all = 1) {
		ssize_t n = -1;

		if (read_all)
			reap_zerocopy(stream);
		errno = ENOBUFS;
		if (!nl_zc_pending_full(stream))
			n = send(stream->fd, ctx->buffer, len, MSG_NOSIGNAL | MSG_ZEROCOPY);
		if (n > 0)
			nl_zc_pending_sent(stream, nl_zc_pending_begin(stream), (uint64_t)n);
		/* no slot for a completion: wait for that of earlier sends */
		if (n >= 0 || errno != ENOBUFS || read_all || !nl_zc_pending_any(stream))
			return n;
	}
}

static int probe_memfd(const char **what)
{
	int fd = memfd_create("netlab", MFD_CLOEXEC);

	*what = "memfd_create";
	return fd < 0 ? -1 : close(fd);
}

static ssize_t send_file(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	off_t at = 0;

	return sendfile(stream->fd, ctx->file, &at, len);
}

static ssize_t send_splice(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len)
{
	ssize_t n;

	if (ctx->piped_B < len) {
		/* data left in the pipe by another stream go first: the pattern is the same */
		struct iovec pages = {ctx->buffer, ctx->record_B};

		n = vmsplice(ctx->pipe_in, &pages, 1, SPLICE_F_NONBLOCK);
		if (n > 0)
			ctx->piped_B += (uint64_t)n;
		else if (ctx->piped_B == 0)
			return -1;
	}
	if (len > ctx->piped_B)
		len = ctx->piped_B;
	n = splice(ctx->pipe_out, NULL, stream->fd, NULL, len, 0);
	if (n > 0)
		ctx->piped_B -= (uint64_t)n;
	return n;
}

const struct nl_io_method nl_io_send[] = {
	[NL_SEND_COPY] = {.name = "copy", .buffer = NL_BUFFER_SHARED, .move = send_copy},
	[NL_SEND_ZEROCOPY] = {.name = "zerocopy", .buffer = NL_BUFFER_SHARED, .probe = probe_send_zerocopy,
			      .attach = attach_send_zerocopy, .move = send_zerocopy, .reap = reap_zerocopy},
	[NL_SEND_SENDFILE] = {.name = "sendfile", .buffer = NL_BUFFER_SHARED, .needs_file = 1,
			      .probe = probe_memfd, .move = send_file},
	[NL_SEND_SPLICE] = {.name = "splice", .buffer = NL_BUFFER_SHARED, .huge_pages = 1,
			    .open = nl_io_ctx_pipe, .move = send_splice},
};
