/* method: how one call moves the bytes of one stream; any engine may call it.
 *
 * What a method works with lies in struct nl_io_ctx, one a thread and shared by the
 * streams of that thread: what is sent is a pattern and what is received is dropped,
 * so nothing in it belongs to a stream. Nothing here blocks but a call on a blocking
 * socket. */
#ifndef NL_IO_METHOD_H
#define NL_IO_METHOD_H

#include "io/stream.h"

#include <sys/types.h>

struct nl_io_ctx {
	const struct nl_io_method *method;
	uint64_t record_B;
	uint8_t *buffer;   /* record_B bytes, or NULL where the method has no use for them */
	int file;          /* sendfile: of record_B bytes; the run's. splice: /dev/null */
	int owns_file;
	int pipe_out, pipe_in; /* -1: none */
	uint64_t piped_B;      /* in the pipe now */
	uint8_t *map;
	uint64_t map_B;
};

enum nl_buffer_need {
	NL_BUFFER_NONE,
	NL_BUFFER_SHARED,    /* the run's pattern */
	NL_BUFFER_OWN,       /* a record for each thread */
	NL_BUFFER_UNTOUCHED, /* the same, but nobody ever writes there: it takes no memory */
};

struct nl_io_method {
	const char *name; /* the word of the option and of the report */
	enum nl_buffer_need buffer;
	int needs_file;   /* the run's memfd, of a record */
	int huge_pages;   /* the pattern itself goes out: neighbouring pages make one piece of a packet */
	/* Whether this kernel can. 0, or -1 with errno; *what names the call. */
	int (*probe)(const char **what);
	/* Both 0 or errno; NULL: nothing to do. */
	int (*open)(struct nl_io_ctx *ctx);
	int (*attach)(struct nl_io_ctx *ctx, struct nl_stream *stream);
	/* Move at most len bytes: as send() or recv(), a sink's 0 is the end of the stream. */
	ssize_t (*move)(struct nl_io_ctx *ctx, struct nl_stream *stream, size_t len);
	/* Hear what the kernel has to say of earlier sends by now. NULL: nothing. */
	void (*reap)(struct nl_stream *stream);
};

/* By the options of the run. */
const struct nl_io_method *nl_io_method_of(const struct nl_run_opts *opts);

/* The methods of each role, in the order of the option's words. */
const struct nl_io_method *nl_io_send_method(uint64_t which);
const struct nl_io_method *nl_io_receive_method(uint64_t which);

/* 0 or errno. The buffer and, for sendfile, the file stay the caller's. */
int nl_io_ctx_open(struct nl_io_ctx *ctx, const struct nl_io_method *method, uint64_t record_B,
		   uint8_t *buffer, int file);
void nl_io_ctx_close(struct nl_io_ctx *ctx);

/* A pipe that takes a record if the kernel lets it. 0 or errno. */
int nl_io_ctx_pipe(struct nl_io_ctx *ctx);

#endif
