#include "agent/run_table.h"
#include "run/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/request.h"
#include "run/report_json.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { RUNS_MAX = 64, RUN_STACK_B = 512 * 1024 };

struct entry {
	struct nl_run_table *table;
	struct nl_run *run; /* NULL: the entry is free */
	uint64_t id;
	int role;
};

struct nl_run_table {
	struct nl_async_out *out;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct entry entry[RUNS_MAX];
	unsigned running; /* threads whose result is not written yet */
};

struct nl_run_table *nl_run_table_new(struct nl_async_out *out)
{
	struct nl_run_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->out = out;
	pthread_mutex_init(&table->lock, NULL);
	nl_condition_init(&table->changed);
	return table;
}

void nl_run_table_free(struct nl_run_table *table)
{
	pthread_cond_destroy(&table->changed);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static void *execute_entry(void *argument)
{
	struct entry *entry = argument;
	struct nl_run_table *table = entry->table;
	struct nl_run *run = entry->run;
	struct nl_json json = {0};
	struct nl_err err;
	int code = nl_run_execute(run, &err);
	uint64_t at = 0;

	/* free the entry first: the reader of the result may start the next run at once */
	pthread_mutex_lock(&table->lock);
	entry->run = NULL;
	pthread_mutex_unlock(&table->lock);
	if (code) {
		char number[24];

		nl_decimal_format(number, run->report.run);
		nl_json_error(&json, number, &err);
		nl_async_out_put(table->out, &json, 1);
	}
	while (!code && nl_json_report_part(&json, &run->report, &at))
		nl_async_out_put(table->out, &json, 1);
	nl_run_free(run);
	nl_json_free(&json);

	pthread_mutex_lock(&table->lock);
	table->running--;
	pthread_cond_broadcast(&table->changed);
	pthread_mutex_unlock(&table->lock);
	return NULL;
}

static struct entry *claim(struct nl_run_table *table, const struct nl_run_opts *opts,
			   struct nl_run *run, struct nl_err *err)
{
	struct entry *free_entry = NULL;
	int twice = 0;

	pthread_mutex_lock(&table->lock);
	for (int i = 0; i < RUNS_MAX; i++) {
		struct entry *entry = &table->entry[i];

		if (!entry->run)
			free_entry = entry;
		else if (entry->id == opts->run && entry->role == (int)opts->role)
			twice = 1;
	}
	if (free_entry && !twice) {
		*free_entry = (struct entry){table, run, opts->run, (int)opts->role};
		table->running++;
	}
	pthread_mutex_unlock(&table->lock);
	if (twice) {
		nl_fail_key(err, "run", "run %llu exists already", (unsigned long long)opts->run);
		return NULL;
	}
	if (!free_entry)
		nl_fail(err, NL_LIMIT, "limit of %d concurrent runs reached", RUNS_MAX);
	return free_entry;
}

static int launch(struct entry *entry, struct nl_err *err)
{
	struct nl_run_table *table = entry->table;
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
	pthread_mutex_lock(&table->lock);
	entry->run = NULL;
	table->running--;
	pthread_mutex_unlock(&table->lock);
	return nl_fail_errno(err, errnum, "thread of the run");
}

static void send_listening(struct nl_run_table *table, const struct nl_run *run, uint64_t id)
{
	struct nl_json json = {0};

	nl_json_event(&json, "listening");
	nl_json_u64(&json, "run", id);
	nl_json_u64(&json, "port", nl_run_port(run));
	nl_json_close(&json);
	nl_async_out_put(table->out, &json, 0);
	nl_json_free(&json);
}

int nl_run_table_start(struct nl_run_table *table, const struct nl_run_opts *opts,
		       struct nl_err *err)
{
	struct nl_run *run;
	struct entry *entry;
	int code = nl_run_open(opts, &run, err);

	if (code)
		return code;
	entry = claim(table, opts, run, err);
	if (!entry) {
		nl_run_free(run);
		return err->code;
	}
	/* before the thread starts: a result never comes first */
	if (opts->role == NL_SINK)
		send_listening(table, run, opts->run);
	code = launch(entry, err);
	if (code)
		nl_run_free(run);
	return code;
}

void nl_run_table_stop(struct nl_run_table *table, const uint64_t *id)
{
	pthread_mutex_lock(&table->lock);
	/* Mark all runs before any of them wakes: otherwise one sees its peer close and reports a
	 * lost peer. */
	for (int i = 0; i < RUNS_MAX; i++)
		if (table->entry[i].run && (!id || table->entry[i].id == *id))
			atomic_store(&table->entry[i].run->stop_requested, 1);
	for (int i = 0; i < RUNS_MAX; i++)
		if (table->entry[i].run && (!id || table->entry[i].id == *id))
			nl_run_stop(table->entry[i].run);
	pthread_mutex_unlock(&table->lock);
}

int nl_run_table_wait(struct nl_run_table *table, uint64_t deadline_ns)
{
	struct timespec deadline = nl_timespec(deadline_ns);
	int left;

	pthread_mutex_lock(&table->lock);
	while (table->running)
		if (pthread_cond_timedwait(&table->changed, &table->lock, &deadline) == ETIMEDOUT)
			break;
	left = table->running != 0;
	pthread_mutex_unlock(&table->lock);
	return left ? -1 : 0;
}
