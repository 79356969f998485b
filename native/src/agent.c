#include "agent.h"

#include "clock.h"
#include "error.h"
#include "netlab.h"
#include "options.h"
#include "outbox.h"
#include "report_json.h"
#include "words.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
	JOBS_MAX = 64,
	JOB_STACK_B = 512 * 1024,
	END_MS = 2500, /* for runs to stop and results to leave; gone within 3 s */
};

struct job {
	struct agent *agent;
	struct nl_run *run; /* NULL: the place is free */
	uint64_t id;
	int role;
};

struct agent {
	int in_fd, out_fd;
	struct nl_outbox *outbox;
	struct nl_json json; /* of the thread that reads requests */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job job[JOBS_MAX];
	unsigned running; /* threads that have something to say */
	char line[NL_LINE_MAX + 2];
	size_t have;
	int overlong; /* skipping to the end of a line that is too long */
	int quit;
};

/* -- answers ------------------------------------------------------------------- */

static void answer_error(struct agent *agent, const char *run, const struct nl_err *err)
{
	nl_json_error(&agent->json, run, err);
	nl_outbox_put(agent->outbox, &agent->json);
}

static void begin_event(struct agent *agent, const char *event)
{
	nl_json_open(&agent->json, NULL);
	nl_json_text(&agent->json, "event", event);
}

static void end_event(struct agent *agent)
{
	nl_json_close(&agent->json);
	nl_outbox_put(agent->outbox, &agent->json);
}

static int may_force_buffers(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), size = 65536, may;

	if (fd < 0)
		return 0;
	may = setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0;
	close(fd);
	return may;
}

static void say_ready(struct agent *agent)
{
	struct nl_json *j = &agent->json;
	struct utsname name;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	uname(&name);
	begin_event(agent, "ready");
	nl_json_u64(j, "protocol", 1);
	nl_json_text(j, "version", nl_version());
	nl_json_text(j, "digest", nl_source_digest());
	nl_json_i64(j, "pid", getpid());
	nl_json_text(j, "hostname", name.nodename);
	nl_json_text(j, "kernel", name.release);
	nl_json_text(j, "machine", name.machine);
	nl_json_i64(j, "cpus", cpus);
	nl_json_bool(j, "may_force_buffers", may_force_buffers());
	nl_json_u64(j, "t_ns", nl_now_ns());
	end_event(agent);
}

/* -- runs ------------------------------------------------------------------------ */

static void *run_job(void *argument)
{
	struct job *job = argument;
	struct agent *agent = job->agent;
	struct nl_run *run = job->run;
	struct nl_json json;
	struct nl_err err;
	int code = nl_run_execute(run, &err);

	/* free the place first: whoever reads the result may start the next run at once */
	pthread_mutex_lock(&agent->lock);
	job->run = NULL;
	pthread_mutex_unlock(&agent->lock);
	nl_json_init(&json);
	if (code) {
		char number[24];

		nl_words_format(number, nl_run_report(run)->run);
		nl_json_error(&json, number, &err);
	} else {
		nl_json_report(&json, nl_run_report(run));
	}
	nl_run_free(run);
	nl_outbox_put(agent->outbox, &json);
	nl_json_free(&json);

	pthread_mutex_lock(&agent->lock);
	agent->running--;
	pthread_cond_broadcast(&agent->changed);
	pthread_mutex_unlock(&agent->lock);
	return NULL;
}

static struct job *claim(struct agent *agent, const struct nl_run_opts *opts, struct nl_run *run,
			 struct nl_err *err)
{
	struct job *free_place = NULL;
	int twice = 0;

	pthread_mutex_lock(&agent->lock);
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &agent->job[i];

		if (!job->run)
			free_place = job;
		else if (job->id == opts->run && job->role == (int)opts->role)
			twice = 1;
	}
	if (free_place && !twice) {
		*free_place = (struct job){agent, run, opts->run, (int)opts->role};
		agent->running++;
	}
	pthread_mutex_unlock(&agent->lock);
	if (twice) {
		nl_fail_key(err, "run", "run %llu is going on already", (unsigned long long)opts->run);
		return NULL;
	}
	if (!free_place)
		nl_fail(err, NL_LIMIT, "%d runs are going on already", JOBS_MAX);
	return free_place;
}

static int launch(struct job *job, struct nl_err *err)
{
	struct agent *agent = job->agent;
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, JOB_STACK_B);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	errnum = pthread_create(&thread, &attributes, run_job, job);
	pthread_attr_destroy(&attributes);
	if (!errnum)
		return NL_OK;
	pthread_mutex_lock(&agent->lock);
	job->run = NULL;
	agent->running--;
	pthread_mutex_unlock(&agent->lock);
	return nl_fail_errno(err, errnum, "thread of the run");
}

static int start_run(struct agent *agent, int role, struct nl_words *words, struct nl_err *err)
{
	struct nl_run_opts opts;
	struct nl_run *run;
	struct job *job;
	int code = nl_options_from_words(&opts, role, words, err);

	if (!code)
		code = nl_run_open(&opts, &run, err);
	if (code)
		return code;
	job = claim(agent, &opts, run, err);
	if (!job) {
		nl_run_free(run);
		return err->code;
	}
	if (role == NL_SINK) {
		/* said before the thread starts: a result never comes first */
		begin_event(agent, "listening");
		nl_json_u64(&agent->json, "run", opts.run);
		nl_json_u64(&agent->json, "port", nl_run_port(run));
		end_event(agent);
	}
	code = launch(job, err);
	if (code)
		nl_run_free(run);
	return code;
}

static int request_sink(struct agent *agent, struct nl_words *words, struct nl_err *err)
{
	return start_run(agent, NL_SINK, words, err);
}

static int request_gen(struct agent *agent, struct nl_words *words, struct nl_err *err)
{
	return start_run(agent, NL_GEN, words, err);
}

static void stop_runs(struct agent *agent, const uint64_t *id)
{
	pthread_mutex_lock(&agent->lock);
	for (int i = 0; i < JOBS_MAX; i++)
		if (agent->job[i].run && (!id || agent->job[i].id == *id))
			nl_run_stop(agent->job[i].run);
	pthread_mutex_unlock(&agent->lock);
}

/* -- the other requests ------------------------------------------------------------ */

static int only_keys(const struct nl_words *words, struct nl_err *err)
{
	const char *key = nl_words_untaken(words);

	return key ? nl_fail_key(err, key, "%s has no key %s", words->verb, key) : NL_OK;
}

static int request_stop(struct agent *agent, struct nl_words *words, struct nl_err *err)
{
	uint64_t id;

	if (nl_words_u64(words, "run", 0, UINT64_MAX, &id))
		return nl_fail_key(err, "run", "stop wants the number of a run");
	if (only_keys(words, err))
		return err->code;
	stop_runs(agent, &id);
	return NL_OK;
}

static int request_meter(struct agent *agent, struct nl_words *words, struct nl_err *err)
{
	const char *interface = nl_words_get(words, "interface");
	struct nl_meter *meter;
	struct nl_meter_span *work;
	int code = only_keys(words, err);

	if (code)
		return code;
	meter = malloc(sizeof(*meter));
	work = malloc(sizeof(*work));
	if (!meter || !work)
		code = nl_fail_errno(err, ENOMEM, "memory for a meter snapshot");
	else
		code = nl_meter_read(interface, meter, err);
	if (!code) {
		begin_event(agent, "meter");
		nl_json_snapshot(&agent->json, meter, work);
		end_event(agent);
	}
	free(meter);
	free(work);
	return code;
}

static int request_ping(struct agent *agent, struct nl_words *words, struct nl_err *err)
{
	if (only_keys(words, err))
		return err->code;
	begin_event(agent, "pong");
	nl_json_u64(&agent->json, "t_ns", nl_now_ns());
	end_event(agent);
	return NL_OK;
}

static int request_quit(struct agent *agent, struct nl_words *words, struct nl_err *err)
{
	if (only_keys(words, err))
		return err->code;
	agent->quit = 1;
	return NL_OK;
}

static const struct {
	const char *verb;
	int (*handle)(struct agent *, struct nl_words *, struct nl_err *);
} request[] = {
	{"sink", request_sink},   {"gen", request_gen},	  {"stop", request_stop},
	{"meter", request_meter}, {"ping", request_ping}, {"quit", request_quit},
};

static void handle_line(struct agent *agent, const char *line, size_t len)
{
	struct nl_words words;
	struct nl_err err;
	enum nl_words_code parsed = nl_words_parse(&words, line, len);
	int code = -1;

	if (parsed != NL_WORDS_OK) {
		nl_fail_key(&err, words.bad_key, "%s", nl_words_message(parsed));
		answer_error(agent, NULL, &err);
		return;
	}
	for (size_t i = 0; i < sizeof(request) / sizeof(request[0]); i++)
		if (strcmp(request[i].verb, words.verb) == 0)
			code = request[i].handle(agent, &words, &err);
	if (code < 0)
		code = nl_fail(&err, NL_BAD_REQUEST, "there is no request %s", words.verb);
	if (code)
		answer_error(agent, nl_words_get(&words, "run"), &err);
}

/* -- input --------------------------------------------------------------------------- */

static void too_long(struct agent *agent)
{
	struct nl_err err;

	nl_fail(&err, NL_BAD_REQUEST, "%s", nl_words_message(NL_WORDS_TOO_LONG));
	answer_error(agent, NULL, &err);
}

static void take_lines(struct agent *agent)
{
	char *start = agent->line, *end = agent->line + agent->have, *newline;

	while (!agent->quit && (newline = memchr(start, '\n', (size_t)(end - start)))) {
		if (!agent->overlong)
			handle_line(agent, start, (size_t)(newline - start));
		agent->overlong = 0;
		start = newline + 1;
	}
	agent->have = (size_t)(end - start);
	memmove(agent->line, start, agent->have);
	if (agent->have > NL_LINE_MAX) {
		if (!agent->overlong)
			too_long(agent);
		agent->overlong = 1;
		agent->have = 0;
	}
}

/* 1 while there may be more to read. */
static int read_some(struct agent *agent)
{
	ssize_t n = read(agent->in_fd, agent->line + agent->have, sizeof(agent->line) - agent->have);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return 0;
	agent->have += (size_t)n;
	take_lines(agent);
	return 1;
}

static void serve_requests(struct agent *agent)
{
	for (;;) {
		/* an output nobody reads shows as POLLERR without being asked for */
		struct pollfd fds[] = {{.fd = agent->in_fd, .events = POLLIN},
				       {.fd = nl_outbox_broken_fd(agent->outbox), .events = POLLIN},
				       {.fd = agent->out_fd}};

		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return;
		if (fds[1].revents || (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)))
			return;
		if (fds[0].revents && !read_some(agent))
			return;
		if (agent->quit)
			return;
	}
}

/* -- life ------------------------------------------------------------------------------ */

/* 0 when every run has said its result before the deadline. */
static int end_runs(struct agent *agent, uint64_t deadline_ns)
{
	struct timespec deadline = nl_timespec(deadline_ns);
	int left;

	stop_runs(agent, NULL);
	pthread_mutex_lock(&agent->lock);
	while (agent->running)
		if (pthread_cond_timedwait(&agent->changed, &agent->lock, &deadline) == ETIMEDOUT)
			break;
	left = agent->running != 0;
	pthread_mutex_unlock(&agent->lock);
	return left;
}

static int take_lock(int *fd, struct nl_err *err)
{
	static const char name[] = "\0netlab-agent"; /* abstract: scoped to the network namespace */
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name) - 1);

	memcpy(address.sun_path, name, sizeof(name) - 1);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return nl_fail_errno(err, errno, "socket");
	if (bind(*fd, (struct sockaddr *)&address, len) == 0)
		return NL_OK;
	if (errno == EADDRINUSE)
		nl_fail(err, NL_IN_USE, "another agent serves this network namespace");
	else
		nl_fail_errno(err, errno, "bind @netlab-agent");
	close(*fd);
	return err->code;
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct agent *agent_new(int in_fd, int out_fd)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	pthread_condattr_t attributes;

	if (!agent)
		return NULL;
	agent->in_fd = in_fd;
	agent->out_fd = out_fd;
	agent->outbox = nl_outbox_new(out_fd);
	if (!agent->outbox) {
		free(agent);
		return NULL;
	}
	nl_json_init(&agent->json);
	pthread_mutex_init(&agent->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&agent->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return agent;
}

int nl_agent_serve(int in_fd, int out_fd)
{
	struct agent *agent = agent_new(in_fd, out_fd);
	struct nl_err err;
	uint64_t deadline_ns;
	int lock_fd = -1, code, busy;

	if (!agent)
		return 1;
	raise_file_limit();
	code = take_lock(&lock_fd, &err);
	if (code) {
		answer_error(agent, NULL, &err);
	} else {
		say_ready(agent);
		serve_requests(agent);
	}
	deadline_ns = nl_now_ns() + END_MS * NL_NS_PER_MS;
	busy = end_runs(agent, deadline_ns);
	busy |= nl_outbox_flush(agent->outbox, deadline_ns) != 0;
	if (busy) /* a thread is stuck, in a write most likely: nothing may be freed under it */
		_exit(1);
	nl_outbox_free(agent->outbox);
	nl_json_free(&agent->json);
	if (lock_fd >= 0)
		close(lock_fd);
	pthread_cond_destroy(&agent->changed);
	pthread_mutex_destroy(&agent->lock);
	free(agent);
	return code ? 1 : 0;
}
