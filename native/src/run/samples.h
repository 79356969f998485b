/* samples: cumulative byte counts over time, in arrays allocated before the run.
 *
 * The counts are cumulative, so dropping every other sample loses no bytes: a run without a planned
 * end does so when its arrays are full. */
#ifndef NL_SAMPLES_H
#define NL_SAMPLES_H

#include "io/stream.h"

/* Allocate for the run; fills the sample_* and trace_* fields of *report. */
int nl_samples_open(const struct nl_run_opts *opts, struct nl_report *report, struct nl_err *err);
void nl_samples_free(struct nl_report *report);

/* Read all counters and the clock, and append a sample; returns its time. */
uint64_t nl_samples_take(struct nl_report *report, struct nl_stream *stream);

#endif
