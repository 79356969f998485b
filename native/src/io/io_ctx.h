/* io_ctx: the resources of an I/O method, one context per thread.
 *
 * The streams of a thread share it: a gen sends one pattern and a sink drops what it reads, so
 * nothing in it belongs to a stream. */
#ifndef NL_IO_CTX_H
#define NL_IO_CTX_H

#include <stdint.h>

struct nl_io_method;

struct nl_io_ctx {
	const struct nl_io_method *method;
	uint64_t record_B;
	uint8_t *buffer; /* record_B bytes; NULL if the method needs none */
	int file;        /* sendfile: the run's, record_B bytes. splice: /dev/null */
	int owns_file;
	int pipe_out, pipe_in; /* -1: none */
	uint64_t piped_B;      /* bytes in the pipe */
	int blocks; /* zero-copy receives: so do the sockets */
	uint8_t *map;
	uint64_t map_B;
};

/* 0 or errno. The buffer and, for sendfile, the file stay the caller's. */
int nl_io_ctx_open(struct nl_io_ctx *ctx, const struct nl_io_method *method, uint64_t record_B,
		   uint8_t *buffer, int file);
void nl_io_ctx_close(struct nl_io_ctx *ctx);

/* Open a pipe, sized for a record where the kernel allows it. 0 or errno. */
int nl_io_ctx_pipe(struct nl_io_ctx *ctx);

#endif
