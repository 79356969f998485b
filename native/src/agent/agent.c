/* agent: the subcommand of gensink for a controller; see PROTOCOL.md. */
#include "agent/lease.h"
#include "base/async_out.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/host_lock.h"
#include "base/process.h"
#include "base/serve.h"
#include "commands.h"
#include "meter/processes.h"
#include "run/report_json.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { UNREAD_MAX_B = 1 << 20 }; /* of unread answers; results come on top */
enum { END_MS = 2500 }; /* for runs to stop and results to be written; gone within 3 s */
enum { RUNS_MAX = 64, RUN_STACK_B = 512 * 1024 };

/* A run, in a detached thread of its own, which writes the result and frees the entry. */
struct entry {
	struct agent *agent;
	struct nl_run *run; /* NULL: the entry is free */
	uint64_t id;
	int role;
};

struct agent {
	struct nl_async_out *out;
	struct nl_serve serve;
	struct nl_host_lock lock;
	struct nl_process_scan others; /* of the last request for them */
	struct nl_meter meter; /* large for a stack */

	pthread_mutex_t table_lock; /* guards the fields below */
	pthread_cond_t changed;
	struct entry entry[RUNS_MAX];
	unsigned running; /* threads whose result is not written yet */
};

/* -- runs -------------------------------------------------------------------------- */

/* Say how far the start of a run is. */
static void put_step(void *context, const char *step)
{
	struct entry *entry = context;
	struct nl_json json = {0};

	nl_json_event(&json, step);
	nl_json_u64(&json, "run", entry->id);
	nl_json_close(&json);
	nl_async_out_put(entry->agent->out, &json, 0);
	nl_json_free(&json);
}

static void *execute_entry(void *argument)
{
	struct entry *entry = argument;
	struct agent *agent = entry->agent;
	struct nl_run *run = entry->run;
	struct nl_json json = {0};
	struct nl_err err;
	int code = nl_run_execute(run, &err);
	uint64_t at = 0;

	/* free the entry first: the reader of the result may start the next run at once */
	pthread_mutex_lock(&agent->table_lock);
	entry->run = NULL;
	pthread_mutex_unlock(&agent->table_lock);
	if (code) {
		char number[24];

		nl_decimal_format(number, run->report.run);
		nl_json_error(&json, number, &err);
		nl_async_out_put(agent->out, &json, 1);
	}
	while (!code && nl_json_report_part(&json, &run->report, &at))
		nl_async_out_put(agent->out, &json, 1);
	nl_run_free(run);
	nl_json_free(&json);

	pthread_mutex_lock(&agent->table_lock);
	agent->running--;
	pthread_cond_broadcast(&agent->changed);
	pthread_mutex_unlock(&agent->table_lock);
	return NULL;
}

static struct entry *claim_entry(struct agent *agent, const struct nl_run_opts *opts, struct nl_run *run,
				 struct nl_err *err)
{
	struct entry *free_entry = NULL;
	int twice = 0;

	pthread_mutex_lock(&agent->table_lock);
	for (struct entry *entry = agent->entry; entry < agent->entry + RUNS_MAX; entry++) {
		if (!entry->run)
			free_entry = entry;
		else if (entry->id == opts->run && entry->role == (int)opts->role)
			twice = 1;
	}
	if (free_entry && !twice) {
		*free_entry = (struct entry){agent, run, opts->run, (int)opts->role};
		run->on_step = put_step;
		run->step_context = free_entry;
		agent->running++;
	}
	pthread_mutex_unlock(&agent->table_lock);
	if (twice) {
		nl_fail_key(err, "run", "run %" PRIu64 " exists already", opts->run);
		return NULL;
	}
	if (!free_entry)
		nl_fail(err, NL_LIMIT, "limit of %d concurrent runs reached", RUNS_MAX);
	return free_entry;
}

static int launch_run(struct entry *entry, struct nl_err *err)
{
	struct agent *agent = entry->agent;
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, RUN_STACK_B);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	errnum = pthread_create(&thread, &attributes, execute_entry, entry);
	pthread_attr_destroy(&attributes);
	if (!errnum)
		return NL_OK;
	pthread_mutex_lock(&agent->table_lock);
	entry->run = NULL;
	agent->running--;
	pthread_mutex_unlock(&agent->table_lock);
	return nl_fail_errno(err, errnum, "thread of the run");
}

/* `sink` or `gen`: open the run, answer `listening` for a sink, and start it. */
static int request_run(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;
	int role = strcmp(request->verb, "sink") == 0 ? NL_SINK : NL_GEN;
	struct nl_run_opts opts;
	struct nl_run *run;
	struct entry *entry;

	if (nl_options_from_request(&opts, role, request, err) || nl_run_open(&opts, &run, err))
		return err->code;
	entry = claim_entry(agent, &opts, run, err);
	if (entry && role == NL_SINK) { /* before the thread starts: a result never comes first */
		nl_serve_event(&agent->serve, "listening");
		PUT_MEMBERS(&agent->serve.json, {"run", opts.run}, {"port", run->port});
		nl_serve_finish(&agent->serve);
	}
	if (entry && launch_run(entry, err) == NL_OK)
		return NL_OK;
	nl_run_free(run);
	return err->code;
}

/* Stop the runs of that number, or all if id is NULL. */
static void stop_runs(struct agent *agent, const uint64_t *id)
{
	pthread_mutex_lock(&agent->table_lock);
	/* Mark all runs before any of them wakes: otherwise one sees its peer close and reports a
	 * lost peer. */
	for (int wake = 0; wake < 2; wake++)
		for (struct entry *entry = agent->entry; entry < agent->entry + RUNS_MAX; entry++)
			if (entry->run && (!id || entry->id == *id)) {
				atomic_store(&entry->run->stop_requested, 1);
				if (wake)
					nl_run_stop(entry->run);
			}
	pthread_mutex_unlock(&agent->table_lock);
}

/* Start the sinks of that number; one that has ended meanwhile answers by its result. */
static void start_runs(struct agent *agent, uint64_t id)
{
	pthread_mutex_lock(&agent->table_lock);
	for (struct entry *entry = agent->entry; entry < agent->entry + RUNS_MAX; entry++)
		if (entry->run && entry->id == id && entry->role == NL_SINK)
			nl_run_start(entry->run);
	pthread_mutex_unlock(&agent->table_lock);
}

/* Wait until every run has written its result. 0, or -1 after the deadline. */
static int wait_for_runs(struct agent *agent, uint64_t deadline_ns)
{
	struct timespec deadline = nl_timespec(deadline_ns);
	int left;

	pthread_mutex_lock(&agent->table_lock);
	while (agent->running)
		if (pthread_cond_timedwait(&agent->changed, &agent->table_lock, &deadline) == ETIMEDOUT)
			break;
	left = agent->running != 0;
	pthread_mutex_unlock(&agent->table_lock);
	return left ? -1 : 0;
}

/* -- requests --------------------------------------------------------------------- */

static int may_force_buffers(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int may = setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &(int){65536}, sizeof(int)) == 0;

	nl_close(&fd);
	return may;
}

static void send_agent_ready(struct agent *agent)
{
	struct nl_json *j = nl_serve_ready(&agent->serve);
	struct utsname name;

	uname(&name);
	nl_json_text(j, "kernel", name.release);
	nl_json_text(j, "machine", name.machine);
	nl_json_i64(j, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	nl_json_bool(j, "may_force_buffers", may_force_buffers());
	nl_json_u64(j, "t_ns", nl_now_ns());
	nl_serve_finish(&agent->serve);
}

/* The number of the run that a request names and nothing else. */
static int named_run(struct nl_request *request, uint64_t *id, struct nl_err *err)
{
	if (nl_request_u64(request, "run", 0, UINT64_MAX, id))
		return nl_fail_key(err, "run", "run: expected the number of a run");
	return nl_request_only_known(request, err);
}

static int request_stop(void *agent, struct nl_request *request, struct nl_err *err)
{
	uint64_t id;

	if (named_run(request, &id, err))
		return err->code;
	stop_runs(agent, &id);
	return NL_OK;
}

static int request_start(void *agent, struct nl_request *request, struct nl_err *err)
{
	uint64_t id;

	if (named_run(request, &id, err))
		return err->code;
	start_runs(agent, id);
	return NL_OK;
}

static int request_meter(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;
	const char *interface = nl_request_get(request, "interface");
	struct nl_others others;
	uint64_t asked = 0;

	if (nl_request_number(request, "others", 0, 1, &asked, err) ||
	    nl_request_only_known(request, err) || nl_meter_read(interface, &agent->meter, err))
		return err->code;
	nl_serve_event(&agent->serve, "meter");
	nl_json_snapshot(&agent->serve.json, &agent->meter);
	if (asked) {
		nl_process_since(&agent->others, &others);
		nl_json_others(&agent->serve.json, &others);
		nl_process_scan_free(&agent->others);
		nl_process_scan(&agent->others, NL_SCAN_FIRST);
	}
	return nl_serve_finish(&agent->serve);
}

static int request_lease(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;
	struct nl_lease_request lease = {
		.directory = nl_request_get(request, "directory"),
		.controller = nl_request_get(request, "controller"),
	};
	uint64_t previous;

	if (nl_request_u64(request, "number", 1, UINT64_MAX, &lease.number))
		return nl_fail_key(err, "number", "number: expected a number from 1");
	if (!lease.directory)
		return nl_fail_key(err, "directory", "directory: required");
	if (!lease.controller)
		return nl_fail_key(err, "controller", "controller: required");
	if (nl_request_only_known(request, err) || nl_lease_take(&lease, &previous, err))
		return err->code;
	nl_host_lock_note(&agent->lock, lease.controller, lease.number);
	nl_serve_event(&agent->serve, "lease");
	PUT_MEMBERS(&agent->serve.json, {"number", lease.number}, {"previous", previous});
	return nl_serve_finish(&agent->serve);
}

static const struct nl_verb verbs[] = {
	{"sink", request_run, 0},      {"gen", request_run, 0},     {"stop", request_stop, 0},
	{"start", request_start, 0},   {"meter", request_meter, 0}, {"lease", request_lease, 0},
	{"ping", NULL, 1},             {"quit", NULL, 1},           {NULL, NULL, 0},
};

/* -- start and end ------------------------------------------------------------------- */

int nl_agent_serve(int in_fd, int out_fd, uint64_t silence_ns)
{
	static const struct nl_host_lock_kind lock = {"agent", "another agent serves", 1};
	struct agent *agent = calloc(1, sizeof(*agent));
	struct nl_err err;
	uint64_t deadline_ns;
	int code, busy;

	if (agent)
		agent->out = nl_async_out_new(out_fd);
	if (!agent || !agent->out) {
		free(agent);
		return 1;
	}
	pthread_mutex_init(&agent->table_lock, NULL);
	nl_condition_init(&agent->changed);
	agent->serve = (struct nl_serve){.verbs = verbs, .context = agent, .async_out = agent->out,
					 .in_fd = in_fd, .out_fd = out_fd, .signal_fd = -1,
					 .unread_max_B = UNREAD_MAX_B, .silence_ns = silence_ns};
	nl_fd_limit_raise();
	code = nl_host_lock_take(&agent->lock, &lock, &err);
	if (code) {
		nl_serve_error(&agent->serve, NULL, &err);
	} else {
		send_agent_ready(agent);
		if (nl_serve_run(&agent->serve) == NL_SERVE_SILENT)
			code = nl_fail(&err, NL_TIMEOUT, "no input within the silence limit");
	}
	deadline_ns = nl_now_ns() + END_MS * NL_NS_PER_MS;
	stop_runs(agent, NULL);
	busy = wait_for_runs(agent, deadline_ns) != 0;
	busy |= nl_async_out_flush(agent->out, deadline_ns) != 0;
	nl_host_lock_release(&agent->lock);
	if (busy) /* a thread is blocked, probably in a write: leave its memory allocated */
		_exit(1);
	nl_async_out_free(agent->out);
	nl_json_free(&agent->serve.json);
	pthread_cond_destroy(&agent->changed);
	pthread_mutex_destroy(&agent->table_lock);
	nl_process_scan_free(&agent->others);
	free(agent);
	return code ? 1 : 0;
}
