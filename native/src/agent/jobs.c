#include "agent/jobs.h"
#include "run/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/error_json.h"
#include "base/words.h"
#include "run/report_json.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { JOBS_MAX = 64, JOB_STACK_B = 512 * 1024 };

struct job {
	struct nl_jobs *jobs;
	struct nl_run *run; /* NULL: the place is free */
	uint64_t id;
	int role;
};

struct nl_jobs {
	struct nl_outbox *outbox;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job job[JOBS_MAX];
	unsigned running; /* threads that have something to say */
};

struct nl_jobs *nl_jobs_new(struct nl_outbox *outbox)
{
	struct nl_jobs *jobs = calloc(1, sizeof(*jobs));
	pthread_condattr_t attributes;

	if (!jobs)
		return NULL;
	jobs->outbox = outbox;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&jobs->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return jobs;
}

void nl_jobs_free(struct nl_jobs *jobs)
{
	pthread_cond_destroy(&jobs->changed);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

static void *run_job(void *argument)
{
	struct job *job = argument;
	struct nl_jobs *jobs = job->jobs;
	struct nl_run *run = job->run;
	struct nl_json json;
	struct nl_err err;
	int code = nl_run_execute(run, &err);

	/* free the place first: whoever reads the result may start the next run at once */
	pthread_mutex_lock(&jobs->lock);
	job->run = NULL;
	pthread_mutex_unlock(&jobs->lock);
	nl_json_init(&json);
	if (code) {
		char number[24];

		nl_words_format(number, nl_run_report(run)->run);
		nl_json_error(&json, number, &err);
	} else {
		nl_json_report(&json, nl_run_report(run));
	}
	nl_run_free(run);
	nl_outbox_put(jobs->outbox, &json);
	nl_json_free(&json);

	pthread_mutex_lock(&jobs->lock);
	jobs->running--;
	pthread_cond_broadcast(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

static struct job *claim(struct nl_jobs *jobs, const struct nl_run_opts *opts, struct nl_run *run,
			 struct nl_err *err)
{
	struct job *free_place = NULL;
	int twice = 0;

	pthread_mutex_lock(&jobs->lock);
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &jobs->job[i];

		if (!job->run)
			free_place = job;
		else if (job->id == opts->run && job->role == (int)opts->role)
			twice = 1;
	}
	if (free_place && !twice) {
		*free_place = (struct job){jobs, run, opts->run, (int)opts->role};
		jobs->running++;
	}
	pthread_mutex_unlock(&jobs->lock);
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
	struct nl_jobs *jobs = job->jobs;
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
	pthread_mutex_lock(&jobs->lock);
	job->run = NULL;
	jobs->running--;
	pthread_mutex_unlock(&jobs->lock);
	return nl_fail_errno(err, errnum, "thread of the run");
}

static void say_listening(struct nl_jobs *jobs, const struct nl_run *run, uint64_t id)
{
	struct nl_json json;

	nl_json_init(&json);
	nl_json_open(&json, NULL);
	nl_json_text(&json, "event", "listening");
	nl_json_u64(&json, "run", id);
	nl_json_u64(&json, "port", nl_run_port(run));
	nl_json_close(&json);
	nl_outbox_put(jobs->outbox, &json);
	nl_json_free(&json);
}

int nl_jobs_start(struct nl_jobs *jobs, const struct nl_run_opts *opts, struct nl_err *err)
{
	struct nl_run *run;
	struct job *job;
	int code = nl_run_open(opts, &run, err);

	if (code)
		return code;
	job = claim(jobs, opts, run, err);
	if (!job) {
		nl_run_free(run);
		return err->code;
	}
	/* said before the thread starts: a result never comes first */
	if (opts->role == NL_SINK)
		say_listening(jobs, run, opts->run);
	code = launch(job, err);
	if (code)
		nl_run_free(run);
	return code;
}

void nl_jobs_stop(struct nl_jobs *jobs, const uint64_t *id)
{
	pthread_mutex_lock(&jobs->lock);
	/* All are told before one is woken: else a run sees the other end of itself close,
	 * and calls that a peer that vanished. */
	for (int i = 0; i < JOBS_MAX; i++)
		if (jobs->job[i].run && (!id || jobs->job[i].id == *id))
			atomic_store(&jobs->job[i].run->told_to_stop, 1);
	for (int i = 0; i < JOBS_MAX; i++)
		if (jobs->job[i].run && (!id || jobs->job[i].id == *id))
			nl_run_stop(jobs->job[i].run);
	pthread_mutex_unlock(&jobs->lock);
}

int nl_jobs_wait(struct nl_jobs *jobs, uint64_t deadline_ns)
{
	struct timespec deadline = nl_timespec(deadline_ns);
	int left;

	pthread_mutex_lock(&jobs->lock);
	while (jobs->running)
		if (pthread_cond_timedwait(&jobs->changed, &jobs->lock, &deadline) == ETIMEDOUT)
			break;
	left = jobs->running != 0;
	pthread_mutex_unlock(&jobs->lock);
	return left ? -1 : 0;
}
