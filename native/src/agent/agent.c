#include "commands.h"

#include "agent/lease.h"
#include "agent/run_table.h"
#include "base/async_out.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/host_lock.h"
#include "base/serve.h"
#include "meter/processes.h"
#include "netlab.h"
#include "run/run.h"
#include "run/report_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { UNREAD_MAX_B = 1 << 20 }; /* of unread answers; results come on top */
enum { END_MS = 2500 }; /* for runs to stop and results to be written; gone within 3 s */

struct agent {
	struct nl_async_out *out;
	struct nl_run_table *table;
	struct nl_serve serve;
	struct nl_host_lock lock;
	struct nl_process_scan others; /* of the last request for them */
	struct nl_meter meter; /* these two are large for a stack */
	struct nl_meter_span work;
};

/* -- answers ------------------------------------------------------------------- */

static int may_force_buffers(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), size = 65536, may;

	if (fd < 0)
		return 0;
	may = setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0;
	close(fd);
	return may;
}

static void send_ready(struct agent *agent)
{
	struct nl_json *j = nl_serve_ready(&agent->serve);
	struct utsname name;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	uname(&name);
	nl_json_text(j, "kernel", name.release);
	nl_json_text(j, "machine", name.machine);
	nl_json_i64(j, "cpus", cpus);
	nl_json_bool(j, "may_force_buffers", may_force_buffers());
	nl_json_u64(j, "t_ns", nl_now_ns());
	nl_serve_finish(&agent->serve);
}

/* -- requests --------------------------------------------------------------------- */

static int start_run(struct agent *agent, int role, struct nl_request *request, struct nl_err *err)
{
	struct nl_run_opts opts;
	int code = nl_options_from_request(&opts, role, request, err);

	return code ? code : nl_run_table_start(agent->table, &opts, err);
}

static int request_sink(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;

	return start_run(agent, NL_SINK, request, err);
}

static int request_gen(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;

	return start_run(agent, NL_GEN, request, err);
}

static int request_stop(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;
	uint64_t id;

	if (nl_request_u64(request, "run", 0, UINT64_MAX, &id))
		return nl_fail_key(err, "run", "run: expected the number of a run");
	if (nl_request_only_known(request, err))
		return err->code;
	nl_run_table_stop(agent->table, &id);
	return NL_OK;
}

static int request_meter(void *context, struct nl_request *request, struct nl_err *err)
{
	struct agent *agent = context;
	const char *interface = nl_request_get(request, "interface");
	struct nl_others others;
	uint64_t asked = 0;

	if (nl_request_u64(request, "others", 0, 1, &asked) < 0)
		return nl_fail_key(err, "others", "others: expected 0 or 1");
	if (nl_request_only_known(request, err) || nl_meter_read(interface, &agent->meter, err))
		return err->code;
	nl_serve_event(&agent->serve, "meter");
	nl_json_snapshot(&agent->serve.json, &agent->meter, &agent->work);
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
	int code;

	if (nl_request_u64(request, "number", 1, UINT64_MAX, &lease.number))
		return nl_fail_key(err, "number", "number: expected a number from 1");
	if (!lease.directory)
		return nl_fail_key(err, "directory", "directory: required");
	if (!lease.controller)
		return nl_fail_key(err, "controller", "controller: required");
	if (nl_request_only_known(request, err))
		return err->code;
	code = nl_lease_take(&lease, &previous, err);
	if (code)
		return code;
	nl_host_lock_note(&agent->lock, lease.controller, lease.number);
	nl_serve_event(&agent->serve, "lease");
	nl_json_u64(&agent->serve.json, "number", lease.number);
	nl_json_u64(&agent->serve.json, "previous", previous);
	return nl_serve_finish(&agent->serve);
}

static const struct nl_verb verbs[] = {
	{"sink", request_sink, 0},   {"gen", request_gen, 0},     {"stop", request_stop, 0},
	{"meter", request_meter, 0}, {"lease", request_lease, 0}, {"ping", NULL, 1},
	{"quit", NULL, 1},           {NULL, NULL, 0},
};

/* -- start and end ------------------------------------------------------------------- */

static struct agent *agent_new(int in_fd, int out_fd)
{
	struct agent *agent = calloc(1, sizeof(*agent));

	if (!agent)
		return NULL;
	agent->out = nl_async_out_new(out_fd);
	if (!agent->out) {
		free(agent);
		return NULL;
	}
	agent->table = nl_run_table_new(agent->out);
	if (!agent->table) {
		nl_async_out_free(agent->out);
		free(agent);
		return NULL;
	}
	agent->serve = (struct nl_serve){.verbs = verbs,
					 .context = agent,
					 .async_out = agent->out,
					 .in_fd = in_fd,
					 .out_fd = out_fd,
					 .signal_fd = -1,
					 .unread_max_B = UNREAD_MAX_B};
	return agent;
}

int nl_agent_serve(int in_fd, int out_fd, uint64_t silence_ns)
{
	static const struct nl_host_lock_kind lock = {"agent", "another agent serves", 1};
	struct agent *agent = agent_new(in_fd, out_fd);
	struct nl_err err;
	uint64_t deadline_ns;
	int code, busy;

	if (!agent)
		return 1;
	nl_fd_limit_raise();
	code = nl_host_lock_take(&agent->lock, &lock, &err);
	if (code) {
		nl_serve_error(&agent->serve, NULL, &err);
	} else {
		send_ready(agent);
		agent->serve.silence_ns = silence_ns;
		if (nl_serve_run(&agent->serve) == NL_SERVE_SILENT)
			code = nl_fail(&err, NL_TIMEOUT, "no input within the silence limit");
	}
	deadline_ns = nl_now_ns() + END_MS * NL_NS_PER_MS;
	nl_run_table_stop(agent->table, NULL);
	busy = nl_run_table_wait(agent->table, deadline_ns) != 0;
	busy |= nl_async_out_flush(agent->out, deadline_ns) != 0;
	nl_host_lock_release(&agent->lock);
	if (busy) /* a thread is blocked, probably in a write: leave its memory allocated */
		_exit(1);
	nl_async_out_free(agent->out);
	nl_json_free(&agent->serve.json);
	nl_run_table_free(agent->table);
	nl_process_scan_free(&agent->others);
	free(agent);
	return code ? 1 : 0;
}
