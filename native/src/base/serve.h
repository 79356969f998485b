/* serve: the loop of a subcommand that answers request lines, one answer or error a request.
 *
 * The loop ends with the input, on a signal, when a handler sets `stop`, when its output has no
 * reader, or after a time without input. An empty line is input without an answer: a sign of life.
 * Verbs without a handler are `ping`, which is answered here, and `quit`, which sets `stop`.
 * nl_serve_run is the whole loop. A subcommand that polls more descriptors makes its own loop of
 * nl_serve_fds, nl_serve_check and nl_serve_input. One thread. */
#pragma once

#include "base/arguments.h"
#include "base/async_out.h"
#include "base/json.h"
#include "base/request.h"

#include <poll.h>

/* The start of a line that has not arrived whole. */
struct nl_line_reader {
	char text[NL_LINE_MAX + 2];
	size_t have;
	int overlong; /* skipping the rest of an overlong line */
};

enum nl_serve_end {
	NL_SERVE_GOING = 0,
	NL_SERVE_INPUT_ENDED,
	NL_SERVE_STOPPED,     /* a handler set `stop` */
	NL_SERVE_OUTPUT_LOST, /* the output has no reader */
	NL_SERVE_SIGNALLED,
	NL_SERVE_FAILED, /* poll() failed */
	NL_SERVE_SILENT, /* no input for silence_ns */
};

struct nl_serve {
	const struct nl_verb *verbs; /* the last one has no name */
	void *context; /* of the handlers */
	struct nl_json json; /* of the answers; free it at the end */
	/* Writes the answers. NULL: they are written here; a reader that does not read for 2.5 s is lost. */
	struct nl_async_out *async_out;
	int output_lost; /* without async_out; later answers are dropped */
	int failed; /* for the exit code: set with an error other than bad_request */
	int in_fd, out_fd;
	int signal_fd; /* or -1 */
	int stop;
	size_t unread_max_B; /* with more unread answers requests stay in the input; 0: no limit */
	uint64_t silence_ns; /* end after this time without input; 0: never */
	struct nl_line_reader reader;
};

/* The option --silence-s of a subcommand that serves: *silence_s is 0 without it. */
struct nl_argument nl_serve_silence_argument(uint64_t *silence_s);

enum { NL_SERVE_FDS = 4 };

/* Fill the first NL_SERVE_FDS entries of an array for poll(). */
void nl_serve_fds(const struct nl_serve *s, struct pollfd *fds);

/* Check the polled descriptors for a reason to end. */
enum nl_serve_end nl_serve_check(const struct pollfd *fds);

/* Read the input if it is ready, and handle every whole line. */
enum nl_serve_end nl_serve_input(struct nl_serve *s, const struct pollfd *fds);

/* Serve until there is a reason to end. */
enum nl_serve_end nl_serve_run(struct nl_serve *s);

/* Begin an answer; add members, then call nl_serve_finish. `ready` has those that all subcommands share. */
struct nl_json *nl_serve_event(struct nl_serve *s, const char *event);
struct nl_json *nl_serve_ready(struct nl_serve *s);
int nl_serve_finish(struct nl_serve *s); /* NL_OK, for the handler to return */

/* Answer an error; run is the value of the key `run` of its request, or NULL. */
void nl_serve_error(struct nl_serve *s, const char *run, const struct nl_err *err);
