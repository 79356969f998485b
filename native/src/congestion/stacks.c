#include "congestion/stacks.h"

#include "base/error.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/requests.h"
#include "base/signals.h"
#include "congestion/cc_bpf.h"
#include "congestion/cc_laws.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LOADED_MAX = 32 };

struct stacks {
	struct nl_json json;
	struct nl_lines lines;
	struct nl_cc_loaded *loaded[LOADED_MAX]; /* without gaps, in the order of loading */
	int count, out_fd, quit, deaf;
};

/* -- answers ------------------------------------------------------------------------- */

static struct nl_json *event(struct stacks *s, const char *name)
{
	nl_json_open(&s->json, NULL);
	nl_json_text(&s->json, "event", name);
	return &s->json;
}

static void put(struct stacks *s)
{
	if (nl_json_line(&s->json, s->out_fd))
		s->deaf = 1;
	nl_json_reset(&s->json);
}

static void say_ready(struct stacks *s)
{
	char hostname[256] = "", why[NL_MESSAGE_MAX];
	int supported = nl_cc_supported(why);
	struct nl_json *j = event(s, "ready");

	gethostname(hostname, sizeof(hostname) - 1);
	nl_json_u64(j, "protocol", 1);
	nl_json_text(j, "version", nl_version());
	nl_json_text(j, "digest", nl_source_digest());
	nl_json_i64(j, "pid", getpid());
	nl_json_text(j, "hostname", hostname);
	nl_json_bool(j, "supported", supported);
	nl_json_text(j, "reason", supported ? NULL : why);
	nl_json_array(j, "laws");
	for (int i = 0; i < NL_CC_LAWS; i++) {
		nl_json_open(j, NULL);
		nl_json_text(j, "law", nl_cc_law[i].name);
		nl_json_u64(j, "revision", nl_cc_law[i].revision);
		nl_json_text(j, "sha256", nl_cc_sha256(i));
		nl_json_close(j);
	}
	nl_json_array_end(j);
	nl_json_close(j);
	put(s);
}

static void say_unloaded(struct stacks *s, const char *name)
{
	struct nl_json *j = event(s, "unloaded");

	nl_json_text(j, "name", name);
	nl_json_close(j);
	put(s);
}

/* -- requests ------------------------------------------------------------------------ */

static int request_load(void *context, struct nl_words *words, struct nl_err *err)
{
	struct stacks *s = context;
	struct nl_cc_params params;
	struct nl_json *j;
	int law = nl_cc_laws_words(words, &params, err);

	if (law < 0)
		return err->code;
	if (s->count == LOADED_MAX)
		return nl_fail(err, NL_LIMIT, "%d congestion controls are held already", LOADED_MAX);
	s->loaded[s->count] = nl_cc_load(law, &params, err);
	if (!s->loaded[s->count])
		return err->code;
	j = event(s, "loaded");
	nl_json_text(j, "name", nl_cc_name(s->loaded[s->count++]));
	nl_json_text(j, "law", nl_cc_law[law].name);
	nl_json_u64(j, "revision", nl_cc_law[law].revision);
	nl_json_text(j, "sha256", nl_cc_sha256(law));
	for (size_t i = 0; i < nl_cc_law[law].options; i++)
		nl_json_u64(j, nl_cc_law[law].option[i].key,
			    nl_cc_laws_value(&params, &nl_cc_law[law].option[i]));
	nl_json_close(j);
	put(s);
	return NL_OK;
}

static void unload(struct stacks *s, int at)
{
	char name[NL_CC_NAME_MAX + 1] = "";

	strncat(name, nl_cc_name(s->loaded[at]), NL_CC_NAME_MAX);
	nl_cc_unload(s->loaded[at]);
	s->count--;
	memmove(&s->loaded[at], &s->loaded[at + 1],
		(size_t)(s->count - at) * sizeof(s->loaded[0]));
	say_unloaded(s, name);
}

static int request_unload(void *context, struct nl_words *words, struct nl_err *err)
{
	struct stacks *s = context;
	const char *name = nl_words_get(words, "name");

	if (nl_requests_only_known(words, err))
		return err->code;
	for (int i = 0; name && i < s->count; i++) {
		if (strcmp(nl_cc_name(s->loaded[i]), name) == 0) {
			unload(s, i);
			return NL_OK;
		}
	}
	return nl_fail_key(err, "name", "name is one that this process has loaded");
}

static int request_ping(void *context, struct nl_words *words, struct nl_err *err)
{
	struct stacks *s = context;

	if (nl_requests_only_known(words, err))
		return err->code;
	nl_json_close(event(s, "pong"));
	put(s);
	return NL_OK;
}

static int request_quit(void *context, struct nl_words *words, struct nl_err *err)
{
	struct stacks *s = context;

	if (nl_requests_only_known(words, err))
		return err->code;
	s->quit = 1;
	return NL_OK;
}

static const struct nl_request request[] = {
	{"load", request_load},
	{"unload", request_unload},
	{"ping", request_ping},
	{"quit", request_quit},
};

static int hear_line(void *context, const char *line, size_t len)
{
	struct stacks *s = context;
	struct nl_words words;
	struct nl_err err;

	if (nl_requests_take(request, sizeof(request) / sizeof(request[0]), s, line, len, &words,
			     &err)) {
		nl_json_error(&s->json, NULL, &err);
		put(s);
	}
	return s->quit || s->deaf;
}

/* -- life ---------------------------------------------------------------------------- */

/* 0 when asked to end, by the end of input or `quit`. */
static int serve(struct stacks *s, int in_fd, int signal_fd)
{
	enum { IN, OUT, SIGNAL, WATCHED };
	struct pollfd fds[WATCHED] = {
		[IN] = {.fd = in_fd, .events = POLLIN},
		[OUT] = {.fd = s->out_fd}, /* POLLERR comes unasked when nobody reads */
		[SIGNAL] = {.fd = signal_fd, .events = POLLIN},
	};

	while (!s->quit) {
		if (poll(fds, WATCHED, -1) < 0 && errno != EINTR)
			return 1;
		if (fds[SIGNAL].revents || fds[OUT].revents & (POLLERR | POLLHUP | POLLNVAL))
			return 1;
		if (fds[IN].revents && !nl_lines_read(&s->lines, in_fd, hear_line, s))
			return s->deaf;
		if (s->deaf)
			return 1;
	}
	return 0;
}

int nl_stacks_serve(int in_fd, int out_fd)
{
	struct stacks *s = calloc(1, sizeof(*s));
	sigset_t signals;
	int signal_fd, failed = 1;

	if (!s)
		return 1;
	s->out_fd = out_fd;
	nl_signals_block(&signals);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd >= 0) {
		nl_json_init(&s->json);
		say_ready(s);
		failed = serve(s, in_fd, signal_fd);
		while (s->count)
			unload(s, s->count - 1);
		nl_json_free(&s->json);
		close(signal_fd);
	}
	free(s);
	return failed;
}
