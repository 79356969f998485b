#include "base/serve.h"

#include "netlab.h"

#include <errno.h>
#include <unistd.h>

enum { IN, OUT, BROKEN, SIGNAL };

static int handle_line(void *context, const char *line, size_t len)
{
	struct nl_serve *s = context;
	struct nl_request request;
	struct nl_err err;

	if (nl_dispatch(s->verbs, s->verb_count, s->context, line, len, &request, &err))
		s->answer_error(s->context, nl_request_get(&request, "run"), &err);
	return s->stop;
}

void nl_serve_fds(const struct nl_serve *s, struct pollfd *fds)
{
	fds[IN] = (struct pollfd){.fd = s->in_fd, .events = POLLIN};
	/* poll() reports POLLERR of an output without a reader, whatever the events */
	fds[OUT] = (struct pollfd){.fd = s->out_fd};
	fds[BROKEN] = (struct pollfd){.fd = s->broken_fd, .events = POLLIN};
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
	if (fds[IN].revents && !nl_line_reader_read(&s->reader, s->in_fd, handle_line, s))
		return NL_SERVE_INPUT_ENDED;
	return s->stop ? NL_SERVE_STOPPED : NL_SERVE_GOING;
}

enum nl_serve_end nl_serve_run(struct nl_serve *s)
{
	enum nl_serve_end end = NL_SERVE_GOING;
	struct pollfd fds[NL_SERVE_FDS];

	nl_serve_fds(s, fds);
	while (end == NL_SERVE_GOING) {
		if (poll(fds, NL_SERVE_FDS, -1) < 0) {
			if (errno != EINTR)
				return NL_SERVE_FAILED;
			continue;
		}
		end = nl_serve_check(fds);
		if (end == NL_SERVE_GOING)
			end = nl_serve_input(s, fds);
	}
	return end;
}

void nl_serve_ready(struct nl_json *j)
{
	nl_json_open(j, NULL);
	nl_json_text(j, "event", "ready");
	nl_json_u64(j, "protocol", 1);
	nl_json_text(j, "version", nl_version());
	nl_json_text(j, "digest", nl_source_digest());
	nl_json_i64(j, "pid", getpid());
}
