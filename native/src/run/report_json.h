/* report_json: reports as the JSON of PROTOCOL.md. */
#pragma once

#include "base/json.h"

/* Write the members of a meter object into an open object. */
void nl_json_span(struct nl_json *j, const struct nl_meter_span *span);

/* Write the members of a snapshot into an open object. */
void nl_json_snapshot(struct nl_json *j, const struct nl_meter *meter);

/* Write the member `others`; null if unknown. */
void nl_json_others(struct nl_json *j, const struct nl_others *others);

/* Write a sink_result or gen_result, its samples and trace included. */
void nl_json_report(struct nl_json *j, const struct nl_report *report);

/* Write the next line of a report: the whole of it, or, if its samples and trace are too many for one line,
 * `samples` events and then the result without samples. *at is 0 at first. 1: a line was written, 0: there
 * are no more. */
int nl_json_report_part(struct nl_json *j, const struct nl_report *report, uint64_t *at);
