/* report_json: reports as the JSON of PROTOCOL.md. */
#ifndef NL_REPORT_JSON_H
#define NL_REPORT_JSON_H

#include "base/json.h"
#include "netlab.h"

/* Write a sink_result or gen_result, its samples and trace included. */
void nl_json_report(struct nl_json *j, const struct nl_report *report);

/* True if the samples and the trace of a report are too many for one line. */
int nl_report_is_large(const struct nl_report *report);

/* Write the next line of a large report: `samples` events, then the result without samples. *at is 0
 * at first. 1: a line was written, 0: there are no more. */
int nl_json_report_part(struct nl_json *j, const struct nl_report *report, uint64_t *at);

#endif
