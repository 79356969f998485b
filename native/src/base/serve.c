#include "base/serve.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { IN, OUT, BROKEN, SIGNAL };
enum { FULL_MS = 20 }; /* between two checks whether the answers are read */
enum { OUT_WAIT_MS = 2500, OUT_CHUNK = 512 };

/* Handle a line, without its newline; line is NULL for an overlong one. Nonzero stops the reading. */
static int handle_line(struct nl_serve *s, const char *line, size_t len)
{
	struct nl_request request;
	struct nl_err err;
	int code;

	if (line && len == 0)
		return s->stop;
	code = nl_dispatch(s->verbs, s->context, line, len, &request, &err);
	if (code == NL_DISPATCH_UNHANDLED && strcmp(request.verb, "ping") == 0) {
		nl_json_u64(nl_serve_event(s, "pong"), "t_ns", nl_now_ns());
		nl_serve_finish(s);
	} else if (code == NL_DISPATCH_UNHANDLED)
		s->stop = 1;
	else if (code)
		nl_serve_error(s, nl_request_get(&request, "run"), &err);
	return s->stop;
}

static void serve_split_lines(struct nl_serve *s)
{
	struct nl_line_reader *r = &s->reader;
	char *start = r->text, *end = r->text + r->have, *newline;
	int stop = 0;

	while (!stop && (newline = memchr(start, '\n', (size_t)(end - start)))) {
		if (!r->overlong)
			stop = handle_line(s, start, (size_t)(newline - start));
		r->overlong = 0;
		start = newline + 1;
	}
	r->have = (size_t)(end - start);
	memmove(r->text, start, r->have);
	if (r->have > NL_LINE_MAX) {
		if (!r->overlong)
			handle_line(s, NULL, 0);
		r->overlong = 1;
		r->have = 0;
	}
}

void nl_serve_fds(const struct nl_serve *s, struct pollfd *fds)
{
	fds[IN] = (struct pollfd){.fd = s->in_fd, .events = POLLIN};
	/* poll() reports POLLERR of an output without a reader, whatever the events */
	fds[OUT] = (struct pollfd){.fd = s->out_fd};
	fds[BROKEN] = (struct pollfd){.fd = s->async_out ? nl_async_out_broken_fd(s->async_out) : -1,
				      .events = POLLIN};
	fds[SIGNAL] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
}

enum nl_serve_end nl_serve_check(const struct pollfd *fds)
{
	if (fds[SIGNAL].revents)
		return NL_SERVE_SIGNALLED;
	if (fds[BROKEN].revents || fds[OUT].revents & (POLLERR | POLLHUP | POLLNVAL))
		return NL_SERVE_OUTPUT_LOST;
	return NL_SERVE_GOING;
}

enum nl_serve_end nl_serve_input(struct nl_serve *s, const struct pollfd *fds)
{
	struct nl_line_reader *r = &s->reader;
	ssize_t n = -1;

	errno = EAGAIN;
	if (fds[IN].revents)
		n = read(s->in_fd, r->text + r->have, sizeof(r->text) - r->have);
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		return NL_SERVE_INPUT_ENDED;
	if (n > 0) {
		r->have += (size_t)n;
		serve_split_lines(s);
	}
	return s->stop ? NL_SERVE_STOPPED : NL_SERVE_GOING;
}

struct nl_argument nl_serve_silence_argument(uint64_t *silence_s)
{
	enum { MAX_S = 86400 };

	return (struct nl_argument){.name = "silence-s", .value = "N",
				    .help = "end after N s without input",
				    .min = 1, .max = MAX_S, .count = silence_s};
}

enum nl_serve_end nl_serve_run(struct nl_serve *s)
{
	enum nl_serve_end end = NL_SERVE_GOING;
	struct pollfd fds[NL_SERVE_FDS];
	uint64_t input_ns = nl_now_ns();

	nl_serve_fds(s, fds);
	while (end == NL_SERVE_GOING) {
		int left_ms = s->silence_ns ? nl_poll_ms(input_ns + s->silence_ns) : -1, timeout_ms = left_ms;
		int full = s->unread_max_B && nl_async_out_queued_B(s->async_out) > s->unread_max_B, n;

		/* While it is full, poll reports the end of the input only. */
		fds[IN].events = full ? POLLRDHUP : POLLIN;
		if (full && (left_ms < 0 || left_ms > FULL_MS))
			timeout_ms = FULL_MS;
		n = poll(fds, NL_SERVE_FDS, timeout_ms);
		if (n < 0 && errno != EINTR)
			return NL_SERVE_FAILED;
		if (n == 0 && left_ms == 0)
			return NL_SERVE_SILENT;
		if (n <= 0)
			continue;
		end = nl_serve_check(fds);
		if (end != NL_SERVE_GOING)
			break;
		if (full && fds[IN].revents)
			return NL_SERVE_INPUT_ENDED;
		end = nl_serve_input(s, fds);
		if (fds[IN].revents) /* after the requests: a long one is not silence */
			input_ns = nl_now_ns();
	}
	return end;
}

struct nl_json *nl_serve_event(struct nl_serve *s, const char *event)
{
	nl_json_event(&s->json, event);
	return &s->json;
}

/* poll() before each small write, so that a reader that stopped reading cannot block the process. */
static void put_out(struct nl_serve *s)
{
	struct pollfd out = {.fd = s->out_fd, .events = POLLOUT};
	struct nl_json *j = &s->json;
	size_t done = 0;

	s->output_lost |= j->failed || !j->text;
	if (!s->output_lost)
		j->text[j->len++] = '\n'; /* the writer always leaves room for it */
	while (done < j->len && !s->output_lost) {
		size_t chunk = j->len - done < OUT_CHUNK ? j->len - done : OUT_CHUNK;
		int ready = poll(&out, 1, OUT_WAIT_MS);
		ssize_t n = ready > 0 && out.revents & POLLOUT ? write(s->out_fd, j->text + done, chunk) : 0;

		if (n > 0)
			done += (size_t)n;
		else
			s->output_lost = (ready >= 0 && n == 0) || errno != EINTR;
	}
	s->stop |= s->output_lost;
}

static void serve_put(struct nl_serve *s)
{
	if (s->async_out)
		nl_async_out_put(s->async_out, &s->json, 0);
	else
		put_out(s);
}

int nl_serve_finish(struct nl_serve *s)
{
	nl_json_close(&s->json);
	serve_put(s);
	return NL_OK;
}

void nl_serve_error(struct nl_serve *s, const char *run, const struct nl_err *err)
{
	nl_json_error(&s->json, run, err);
	serve_put(s);
	if (err->code != NL_BAD_REQUEST)
		s->failed = 1;
}

struct nl_json *nl_serve_ready(struct nl_serve *s)
{
	struct nl_json *j = nl_serve_event(s, "ready");
	struct utsname name;

	uname(&name);
	nl_json_u64(j, "protocol", 1);
	nl_json_text(j, "version", nl_version());
	nl_json_text(j, "digest", nl_source_digest());
	nl_json_i64(j, "pid", getpid());
	nl_json_text(j, "hostname", name.nodename);
	return j;
}
