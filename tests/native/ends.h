/* ends: a gen and a sink of this process, each executed by a thread of its own. */
#pragma once

#include "check.h"
#include "netlab.h"

struct end {
	struct nl_run *run;
	struct nl_err err;
	int code;
	int marked; /* a test may tell its thread by this */
	pthread_t thread;
};

static _Thread_local const struct end *this_end; /* NULL in other threads */

static inline void *execute_end(void *argument)
{
	struct end *end = argument;

	this_end = end;
	end->code = nl_run_execute(end->run, &end->err);
	return NULL;
}

/* Defaults, with an address of this machine, a congestion control of every kernel, and a token. */
static inline struct nl_run_opts end_options(int role, const char *address)
{
	struct nl_run_opts opts;
	struct nl_err err;

	nl_run_opts_init(&opts, role);
	CHECK(nl_run_opts_set(&opts, role == NL_SINK ? "bind" : "to", address, &err) == NL_OK);
	CHECK(nl_run_opts_set(&opts, "congestion", "cubic", &err) == NL_OK);
	opts.token[3] = 77;
	return opts;
}

static inline void start_end(struct end *end, const struct nl_run_opts *opts)
{
	CHECK(nl_run_open(opts, &end->run, &end->err) == NL_OK);
	CHECK(pthread_create(&end->thread, NULL, execute_end, end) == 0);
}
