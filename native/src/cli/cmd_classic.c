/* gen4 and sink4: the command line and running report of GenSink, 2003.
 *
 * Plain TCP, one stream, no hello: each end transfers until it is interrupted or the other end
 * closes. Start several copies for several streams. */
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/request.h"
#include "base/process.h"
#include "cli/cli.h"
#include "commands.h"
#include "io/io_method.h"
#include "net/sock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct classic {
	const char *name;
	struct nl_run_opts opts;
	struct nl_io_ctx ctx;
	struct nl_stream *stream;
	atomic_int quit;
	int signals; /* readable after SIGINT or the end of the stream */
	pthread_t main;
};

static int classic_parse_arguments(struct classic *classic, char **argv, struct nl_err *err)
{
	struct nl_run_opts *opts = &classic->opts;
	int gen = strcmp(classic->name, "gen4") == 0;
	struct nl_address address;

	nl_run_opts_init(opts, gen ? NL_GEN : NL_SINK);
	if (strlen(argv[1]) >= NL_ADDRESS_MAX || nl_address_parse(argv[1], 0, &address))
		return nl_fail_key(err, "hostname",
				   "hostname %s: expected a numeric IPv4 or IPv6 address; names are not "
				   "resolved", argv[1]);
	if (nl_run_opts_set(opts, gen ? "to" : "bind", argv[1], err))
		return err->code;
	if (nl_decimal_parse(argv[2], 1, 65535, &opts->port))
		return nl_fail_key(err, "server_port", "server_port: expected an integer from 1 to 65535");
	if (nl_run_opts_set(opts, "record_B", argv[3], err))
		return nl_fail_key(err, "record_length", "record_length: expected 1 to 64 Mi bytes");
	if (nl_run_opts_set(opts, "buffer_B", argv[4], err))
		return nl_fail_key(err, "setsockopt", "setsockopt: expected at most 1 Gi bytes");
	return NL_OK;
}

/* Wait until fd is ready; 0, or -1 after a signal. */
static int wait_ready(const struct classic *classic, int fd, short events)
{
	struct pollfd fds[] = {{.fd = fd, .events = events},
			       {.fd = classic->signals, .events = POLLIN}};

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return fds[1].revents ? -1 : 0;
}

/* Set stream->fd to a connected socket, or -1 after a signal. */
static int join_sink(struct classic *classic, struct nl_err *err)
{
	int *fd = &classic->stream->fd, error = 0, code;
	socklen_t len = sizeof(error);

	code = nl_sock_connect(&classic->opts, 0, fd, err);
	if (code)
		return code;
	if (wait_ready(classic, *fd, POLLOUT)) {
		nl_close(fd);
		return NL_OK;
	}
	getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error ? nl_fail_errno(err, error, "connect to %s port %u", classic->opts.address,
				     (unsigned)classic->opts.port)
		     : NL_OK;
}

static int await_gen(struct classic *classic, struct nl_err *err)
{
	uint32_t port;
	int listener, code = nl_sock_listen(&classic->opts, 1, &listener, &port, err);

	if (code)
		return code;
	while (!code && classic->stream->fd < 0 && wait_ready(classic, listener, POLLIN) == 0) {
		classic->stream->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (classic->stream->fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			code = nl_fail_errno(err, errno, "accept");
	}
	close(listener);
	return code;
}

static void *classic_transfer(void *argument)
{
	struct classic *classic = argument;
	struct nl_stream *stream = classic->stream;
	ssize_t n;

	do {
		n = classic->ctx.method->move(&classic->ctx, stream, (size_t)classic->opts.record_B);
		if (n > 0)
			nl_stream_count(stream, (uint64_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	stream->errnum = n < 0 && !nl_stream_quitting(stream) ? errno : 0;
	stream->t_end_ns = nl_now_ns();
	pthread_kill(classic->main, NL_SIGNAL_DONE);
	return NULL;
}

/* Print a line per second, until a signal, which the end of the stream also sends. */
static void classic_report(struct classic *classic, uint64_t start_ns)
{
	struct pollfd wake = {.fd = classic->signals, .events = POLLIN};
	uint64_t last_ns = start_ns, last_bytes = 0, due_ns = start_ns, t_ns, bytes, step_ns, total_ns;

	do {
		due_ns += NL_NS_PER_S;
		poll(&wake, 1, nl_poll_ms(due_ns));
		t_ns = nl_now_ns();
		bytes = nl_stream_bytes(classic->stream);
		step_ns = t_ns - last_ns;
		total_ns = t_ns - start_ns;
		printf("throughput %8.2f MB/s  data %12.2f MB  time %8.2f s  average %8.2f MB/s\n",
		       step_ns ? (double)(bytes - last_bytes) * 1e3 / (double)step_ns : 0.0,
		       (double)bytes / 1e6, (double)total_ns / 1e9,
		       total_ns ? (double)bytes * 1e3 / (double)total_ns : 0.0);
		fflush(stdout);
		last_ns = t_ns;
		last_bytes = bytes;
	} while (!wake.revents);
}

static int classic_run(struct classic *classic, struct nl_err *err)
{
	int errnum, code = classic->opts.role == NL_GEN ? join_sink(classic, err) : await_gen(classic, err);
	uint64_t start_ns;
	pthread_t thread;

	if (code || classic->stream->fd < 0)
		return code;
	if (nl_sock_blocking(classic->stream->fd))
		return nl_fail_errno(err, errno, "fcntl");
	start_ns = nl_now_ns();
	errnum = pthread_create(&thread, NULL, classic_transfer, classic);
	if (errnum)
		return nl_fail_errno(err, errnum, "thread of the stream");
	classic_report(classic, start_ns);
	atomic_store(&classic->quit, 1);
	shutdown(classic->stream->fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	errnum = classic->stream->errnum;
	/* the other end has closed: the normal end of these programs */
	if (errnum && errnum != EPIPE && errnum != ECONNRESET)
		return nl_fail_errno(err, errnum, "stream");
	return NL_OK;
}

int nl_classic_main(const char *name, int argc, char **argv)
{
	struct classic classic = {.name = name, .signals = -1, .main = pthread_self()};
	struct nl_err err = {0};
	uint8_t *record;
	int code;

	if (argc != 5) {
		fprintf(stderr, "Usage: %s hostname server_port record_length setsockopt\n", name);
		return 2;
	}
	code = classic_parse_arguments(&classic, argv, &err);
	if (code)
		return nl_cli_fail(name, &err);
	classic.signals = nl_signals_open();
	classic.stream = aligned_alloc(NL_CACHE_LINE_B, sizeof(*classic.stream));
	if (classic.signals < 0 || !classic.stream) {
		nl_fail_errno(&err, errno, "set-up");
		return nl_cli_fail(name, &err);
	}
	memset(classic.stream, 0, sizeof(*classic.stream));
	classic.stream->fd = -1;
	classic.stream->quit = &classic.quit;
	record = malloc(classic.opts.record_B);
	for (uint64_t i = 0; record && i < classic.opts.record_B; i++)
		record[i] = (uint8_t)i;
	if (record && nl_io_ctx_open(&classic.ctx, nl_io_method_of(&classic.opts), classic.opts.record_B,
				     record, -1) == 0)
		code = classic_run(&classic, &err);
	else
		code = nl_fail_errno(&err, ENOMEM, "memory for a record");
	nl_close(&classic.stream->fd);
	close(classic.signals);
	free(record);
	free(classic.stream);
	return code ? nl_cli_fail(name, &err) : 0;
}
