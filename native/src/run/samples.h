/* samples: growing byte counts over time, kept in arrays allocated before the run.
 *
 * The counts are cumulative, so dropping every other sample loses no bytes: a run
 * without a known end keeps going when its arrays are full by doing just that. */
#ifndef NL_SAMPLES_H
#define NL_SAMPLES_H

#include "io/stream.h"

/* Allocate for the run; fills the sample_* and trace_* fields of *report. */
int nl_samples_open(const struct nl_run_opts *opts, struct nl_report *report, struct nl_err *err);
void nl_samples_free(struct nl_report *report);

/* Read all counters next to the clock and append; returns the time. */
uint64_t nl_samples_take(struct nl_report *report, struct nl_stream *stream);

#endif
