/* io_method: one way to send or receive the bytes of a stream; usable by any engine.
 *
 * Only calls on a blocking socket block. */
#pragma once

#include "io/stream.h"

#include <sys/types.h>

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

enum nl_buffer_need {
	NL_BUFFER_NONE,
	NL_BUFFER_SHARED,    /* the run's pattern */
	NL_BUFFER_OWN,       /* a record for each thread */
	NL_BUFFER_UNTOUCHED, /* the same, but never written: it takes no memory */
};

struct nl_io_method {
	const char *name; /* the word of the option and of the report */
	enum nl_buffer_need buffer;
	int needs_file; /* the run's memfd, one record long */
	int huge_pages; /* the pattern itself is sent: adjacent pages merge into one fragment */
	/* Test for support by this kernel. 0, or -1 with errno; *what names the call. */
	int (*probe)(const char **what);
	/* Set up the context, and one stream of it. 0 or errno; NULL: nothing to set up. */
	int (*open)(struct nl_io_ctx *ctx);
	int (*attach)(struct nl_io_ctx *ctx, struct nl_stream *stream);
	/* Move at most len bytes. Returns the number moved, less than len if the socket's buffer is now full (gen)
	 * or empty (sink); 0, of a sink, at the end of the stream; or -1 with errno. Of these EAGAIN is full or
	 * empty with nothing moved: wait until the socket is ready. ENOBUFS, of zero-copy sends, is full of
	 * sends whose completion is outstanding: wait for one. EINTR: call again. Others end the stream. */
	ssize_t (*move)(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len);
	/* Read the completions of earlier sends. NULL: the method has none. */
	void (*reap)(struct nl_stream *stream);
};

/* The method that the options choose. */
const struct nl_io_method *nl_io_method_of(const struct nl_run_opts *opts);

/* The methods of each role, by the option's enum. */
extern const struct nl_io_method nl_io_send[], nl_io_receive[];

/* Of UDP, by gso and gro; the engines move the datagrams. */
extern const struct nl_io_method nl_io_udp_send[], nl_io_udp_receive[];
