/* run_table: the runs of an agent, each in a thread of its own.
 *
 * A run writes its result to the async_out and frees its entry; its thread is detached. All
 * functions are for the one thread that reads requests. */
#ifndef NL_RUN_TABLE_H
#define NL_RUN_TABLE_H

#include "base/async_out.h"
#include "netlab.h"

struct nl_run_table;

struct nl_run_table *nl_run_table_new(struct nl_async_out *out); /* NULL: no memory */

/* Open the run, answer `listening` for a sink, and start it. */
int nl_run_table_start(struct nl_run_table *table, const struct nl_run_opts *opts,
		       struct nl_err *err);

/* Stop the runs of that number, or all if id is NULL. */
void nl_run_table_stop(struct nl_run_table *table, const uint64_t *id);

/* Wait until every run has written its result. 0, or -1 after the deadline. */
int nl_run_table_wait(struct nl_run_table *table, uint64_t deadline_ns);

void nl_run_table_free(struct nl_run_table *table); /* after a successful wait only */

#endif
