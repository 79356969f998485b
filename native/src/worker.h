/* worker: the threads that move a run's bytes, one a stream. */
#ifndef NL_WORKER_H
#define NL_WORKER_H

#include "run.h"

struct nl_worker {
	struct nl_run *run;
	uint64_t id;
	pthread_t thread;
	int errnum; /* why it is not where it belongs, or 0 */
	int ended;  /* under the run's lock */
};

/* Start all and wait until every engine has prepared. On failure *started threads
 * exist and have to be joined. */
int nl_workers_start(struct nl_run *run, struct nl_worker *worker, uint64_t *started,
		     struct nl_err *err);

void nl_workers_release(struct nl_run *run); /* let them transfer */

/* Make them leave: their sockets are shut down, SHUT_WR or SHUT_RDWR. */
void nl_workers_shut(struct nl_run *run, int how);

/* Move the threads after their packets, when that was asked for. */
void nl_workers_follow(struct nl_run *run, struct nl_worker *worker);

void nl_workers_join(struct nl_run *run, struct nl_worker *worker, uint64_t started);

#endif
