/* tune: `gensink tune`, the process: options, signals, lines in. PROTOCOL.md says the rest. */
#include "base/request.h"
#include "tune/tune.h"
#include "tune/tune_cmd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *nl_version(void);
const char *nl_source_digest(void);

enum { HOLD_S = 30, HOLD_S_MAX = 86400 };

#define NS_PER_S UINT64_C(1000000000)

static volatile sig_atomic_t stop_requested;

static void on_stop(int signal_number)
{
	(void)signal_number;
	stop_requested = 1;
}

static void signals(sigset_t *while_waiting)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction act;
	sigset_t block;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_stop;
	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		sigaction(stops[i], &act, NULL);
		sigaddset(&block, stops[i]);
	}
	/* Delivered only while waiting for a request, so never in the middle of one. */
	sigprocmask(SIG_BLOCK, &block, while_waiting);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		sigdelset(while_waiting, stops[i]);
	signal(SIGPIPE, SIG_IGN);
}

/* Requests until the input ends, the output is not read, or a signal. */
static void serve(struct tune *t, const sigset_t *while_waiting)
{
	struct pollfd in[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = STDOUT_FILENO, .events = 0}};
	char buf[NL_LINE_MAX + 2];
	size_t have = 0;
	int skipping = 0; /* the rest of a line that is too long */

	while (!t->output_lost) {
		ssize_t n;
		char *end;

		if (ppoll(in, 2, NULL, while_waiting) < 0) {
			if (errno != EINTR)
				t->failed = 1;
			if (errno != EINTR || stop_requested)
				return;
			continue;
		}
		if (in[1].revents & (POLLERR | POLLHUP | POLLNVAL))
			return;
		if (!in[0].revents)
			continue;
		n = read(STDIN_FILENO, buf + have, sizeof(buf) - have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return;
		have += (size_t)n;
		while (!t->output_lost && (end = memchr(buf, '\n', have)) != NULL) {
			size_t len = (size_t)(end - buf);

			if (skipping)
				skipping = 0;
			else
				nl_tune_answer(t, buf, len);
			have -= len + 1;
			memmove(buf, end + 1, have);
		}
		if (have == sizeof(buf)) {
			if (!skipping)
				nl_tune_bad(t, NULL, nl_request_message(NL_REQUEST_TOO_LONG));
			skipping = 1;
			have = 0;
		}
	}
}

static void count_one(void *context, int fd, const char *file, struct nl_journal *journal,
		      enum nl_place_match match)
{
	(void)context, (void)fd, (void)file, (void)journal, (void)match;
}

static void send_ready(struct tune *t)
{
	int stale = nl_journal_stale(t->session.dir, &t->session.place, count_one, NULL);
	struct nl_json *j = nl_tune_event(t, "ready");
	char hostname[256] = "";

	gethostname(hostname, sizeof(hostname) - 1);
	nl_json_u64(j, "protocol", 1);
	nl_json_text(j, "version", nl_version());
	nl_json_text(j, "digest", nl_source_digest());
	nl_json_u64(j, "pid", (uint64_t)getpid());
	nl_json_text(j, "hostname", hostname);
	nl_json_bool(j, "may_write", nl_knob_may_write());
	nl_json_u64(j, "stale", stale > 0 ? (uint64_t)stale : 0);
	nl_tune_finish(t);
}

/* 0, or -1 and an answer. */
static int options(struct tune *t, int argc, char **argv, const char **journal)
{
	uint64_t hold_s = HOLD_S;

	*journal = NULL;
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc) {
			nl_tune_bad(t, argv[i], "an option needs a value");
			return -1;
		}
		if (strcmp(argv[i], "--journal") == 0) {
			*journal = argv[i + 1];
		} else if (strcmp(argv[i], "--hold-s") == 0 && nl_knob_is_number(argv[i + 1])) {
			hold_s = strtoull(argv[i + 1], NULL, 10);
		} else {
			nl_tune_bad(t, argv[i], "usage: gensink tune --journal DIR [--hold-s 1..86400]");
			return -1;
		}
	}
	if (!*journal || hold_s < 1 || hold_s > HOLD_S_MAX) {
		nl_tune_bad(t, *journal ? "--hold-s" : "--journal",
		    "usage: gensink tune --journal DIR [--hold-s 1..86400]");
		return -1;
	}
	t->hold_ns = hold_s * NS_PER_S;
	return 0;
}

int nl_tune_main(int argc, char **argv)
{
	static struct tune t; /* large for a stack; the process has one */
	const char *journal;
	struct nl_reason why;
	sigset_t while_waiting;
	int dir;

	nl_json_init(&t.json);
	if (options(&t, argc, argv, &journal) < 0)
		return 2;
	signals(&while_waiting);
	dir = nl_journal_dir(journal, &why);
	if (dir < 0) {
		nl_tune_error(&t, "refused", NULL, why.text);
		return 1;
	}
	if (nl_session_init(&t.session, dir) < 0) {
		nl_reason_errno(&why, "/proc of this host", errno);
		nl_tune_error(&t, "refused", NULL, why.text);
		close(dir);
		return 1;
	}
	send_ready(&t);
	serve(&t, &while_waiting);
	if (t.session.live)
		nl_tune_end_session(&t);
	nl_json_free(&t.json);
	close(dir);
	return t.failed || stop_requested ? 1 : 0;
}
