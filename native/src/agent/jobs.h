/* jobs: the runs an agent has going, each in a thread of its own.
 *
 * A job says its result into the outbox and is gone; nobody joins it. All functions
 * are for the one thread that reads requests. */
#ifndef NL_JOBS_H
#define NL_JOBS_H

#include "base/outbox.h"
#include "netlab.h"

struct nl_jobs;

struct nl_jobs *nl_jobs_new(struct nl_outbox *outbox); /* NULL: no memory */

/* Open the run, say `listening` for a sink, and let it go. */
int nl_jobs_start(struct nl_jobs *jobs, const struct nl_run_opts *opts, struct nl_err *err);

/* Stop the runs of that number, or all when id is NULL. */
void nl_jobs_stop(struct nl_jobs *jobs, const uint64_t *id);

/* Wait until every job has said its result. 0, or -1 when the time is up. */
int nl_jobs_wait(struct nl_jobs *jobs, uint64_t deadline_ns);

void nl_jobs_free(struct nl_jobs *jobs); /* after a successful wait only */

#endif
