/* mover: how one call moves the bytes of one stream; any engine may call it.
 *
 * What a mover works with lies in struct nl_tools, one a thread and shared by the
 * streams of that thread: what is sent is a pattern and what is received is dropped,
 * so nothing in it belongs to a stream. Nothing here blocks but a call on a blocking
 * socket. */
#ifndef NL_MOVER_H
#define NL_MOVER_H

#include "io/stream.h"

#include <sys/types.h>

struct nl_tools {
	const struct nl_mover *mover;
	uint64_t record_B;
	uint8_t *buffer;   /* record_B bytes, or NULL where the mover has no use for them */
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

struct nl_mover {
	const char *name; /* the word of the option and of the report */
	enum nl_buffer_need buffer;
	int needs_file;   /* the run's memfd, of a record */
	int huge_pages;   /* the pattern itself goes out: neighbouring pages make one piece of a packet */
	/* Whether this kernel can. 0, or -1 with errno; *what names the call. */
	int (*probe)(const char **what);
	/* Both 0 or errno; NULL: nothing to do. */
	int (*open)(struct nl_tools *tools);
	int (*adopt)(struct nl_tools *tools, struct nl_stream *stream);
	/* Move at most len bytes: as send() or recv(), a sink's 0 is the end of the stream. */
	ssize_t (*move)(struct nl_tools *tools, struct nl_stream *stream, size_t len);
	/* Hear what the kernel has to say of earlier sends by now. NULL: nothing. */
	void (*reap)(struct nl_stream *stream);
};

/* By the options of the run. */
const struct nl_mover *nl_mover_of(const struct nl_run_opts *opts);

/* The movers of each role, in the order of the option's words. */
const struct nl_mover *nl_mover_send(uint64_t which);
const struct nl_mover *nl_mover_receive(uint64_t which);

/* 0 or errno. The buffer and, for sendfile, the file stay the caller's. */
int nl_tools_open(struct nl_tools *tools, const struct nl_mover *mover, uint64_t record_B,
		  uint8_t *buffer, int file);
void nl_tools_close(struct nl_tools *tools);

/* A pipe that takes a record if the kernel lets it. 0 or errno. */
int nl_tools_pipe(struct nl_tools *tools);

#endif
