/* The serve loop, over pipes: each reason to end, and errors as answers. */
#include "base/serve.h"
#include "check.h"
#include "netlab.h"

#include <fcntl.h>
#include <unistd.h>

#define ERROR "{\"event\":\"error\",\"run\":"

static struct {
	int in[2], out[2], signal[2];
	unsigned handled, errors;
	int has_run; /* the last error names run 7 */
	struct nl_serve serve;
} s;

static int request_add(void *context, struct nl_request *request, struct nl_err *err)
{
	(void)context;
	if (nl_request_only_known(request, err))
		return err->code;
	s.handled++;
	return NL_OK;
}

static const struct nl_verb verbs[] = {{"add", request_add, 0}, {"quit", NULL, 1}, {NULL, NULL, 0}};

static void open_pipes(void)
{
	memset(&s, 0, sizeof(s));
	CHECK(pipe2(s.in, O_CLOEXEC) == 0 && pipe2(s.out, O_CLOEXEC) == 0);
	CHECK(pipe2(s.signal, O_CLOEXEC) == 0);
	s.serve = (struct nl_serve){.verbs = verbs, .context = &s, .in_fd = s.in[0],
				    .out_fd = s.out[1], .signal_fd = s.signal[0]};
}

static void close_pipes(void)
{
	nl_json_free(&s.serve.json);
	for (int i = 0; i < 2; i++) {
		close(s.in[i]);
		close(s.out[i]);
		close(s.signal[i]);
	}
}

#define PIPED(function) TEST_WITH(function, open_pipes, close_pipes)

static void write_input(const char *text)
{
	CHECK(write(s.in[1], text, strlen(text)) == (ssize_t)strlen(text));
}

/* Serve, and count the errors among the answers, which are all of this test's. */
static enum nl_serve_end serve(void)
{
	enum nl_serve_end end = nl_serve_run(&s.serve);
	char text[4096], *line = text;
	ssize_t n;

	fcntl(s.out[0], F_SETFL, O_NONBLOCK);
	n = read(s.out[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	for (char *newline; (newline = strchr(line, '\n')); line = newline + 1) {
		*newline = '\0';
		CHECK(strncmp(line, ERROR, strlen(ERROR)) == 0 && strstr(line, "\"code\":\"bad_request\""));
		s.has_run = strncmp(line + strlen(ERROR), "7,", 2) == 0;
		s.errors++;
	}
	return end;
}

/* Serve all of an input. */
static enum nl_serve_end serve_all(const char *text)
{
	write_input(text);
	close(s.in[1]);
	s.in[1] = -1;
	return serve();
}

PIPED(it_ends_with_the_input)
{
	CHECK(serve_all("add\nadd\nad") == NL_SERVE_INPUT_ENDED);
	CHECK(s.handled == 2 && s.errors == 0);
}

PIPED(a_failed_request_is_answered_and_the_next_one_handled)
{
	CHECK(serve_all("subtract run=7\nadd x=1\nadd a\nadd\n") == NL_SERVE_INPUT_ENDED);
	CHECK(s.handled == 1 && s.errors == 3 && !s.has_run);
}

PIPED(an_error_has_the_run_of_its_request)
{
	serve_all("subtract run=7\n");
	CHECK(s.errors == 1 && s.has_run);
}

PIPED(a_malformed_line_has_no_run)
{
	serve_all("add run=7 run=8\n");
	CHECK(s.errors == 1 && !s.has_run);
}

PIPED(an_overlong_line_is_one_error)
{
	static char line[3 * NL_LINE_MAX];

	memset(line, 'a', sizeof(line) - 1);
	write_input(line);
	CHECK(serve_all("\nadd\n") == NL_SERVE_INPUT_ENDED);
	CHECK(s.handled == 1 && s.errors == 1);
}

PIPED(a_handler_stops_it_before_the_next_line)
{
	write_input("add\nquit\nadd\n");
	CHECK(serve() == NL_SERVE_STOPPED);
	CHECK(s.handled == 1);
}

PIPED(it_ends_when_nobody_reads_the_output)
{
	close(s.out[0]);
	s.out[0] = -1;
	CHECK(serve() == NL_SERVE_OUTPUT_LOST);
}

PIPED(a_signal_comes_before_input)
{
	write_input("add\n");
	CHECK(write(s.signal[1], "", 1) == 1);
	CHECK(serve() == NL_SERVE_SIGNALLED);
	CHECK(s.handled == 0);
}

PIPED(it_ends_after_the_silence)
{
	uint64_t began = nl_now_ns();

	s.serve.silence_ns = 50 * UINT64_C(1000000);
	write_input("add\n");
	CHECK(serve() == NL_SERVE_SILENT);
	CHECK(s.handled == 1 && nl_now_ns() - began >= s.serve.silence_ns);
}

PIPED(an_empty_line_has_no_answer)
{
	CHECK(serve_all("\n\nadd\n\n") == NL_SERVE_INPUT_ENDED);
	CHECK(s.handled == 1 && s.errors == 0);
}
