/* jobs: the runs an agent has going, each in a thread of its own.
 *
 * A job says its result into the out and is gone; nobody joins it. All functions
 * are for the one thread that reads requests. */
#ifndef NL_RUN_TABLE_H
#define NL_RUN_TABLE_H

#include "base/async_out.h"
#include "netlab.h"

struct nl_run_table;

struct nl_run_table *nl_run_table_new(struct nl_async_out *out); /* NULL: no memory */

/* Open the run, say `listening` for a sink, and let it go. */
int nl_run_table_start(struct nl_run_table *table, const struct nl_run_opts *opts, struct nl_err *err);

/* Stop the runs of that number, or all when id is NULL. */
void nl_run_table_stop(struct nl_run_table *table, const uint64_t *id);

/* Wait until every job has said its result. 0, or -1 when the time is up. */
int nl_run_table_wait(struct nl_run_table *table, uint64_t deadline_ns);

void nl_run_table_free(struct nl_run_table *table); /* after a successful wait only */

#endif
