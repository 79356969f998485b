/* report_json: reports and meters as the JSON of PROTOCOL.md. */
#ifndef NL_REPORT_JSON_H
#define NL_REPORT_JSON_H

#include "base/json.h"
#include "netlab.h"

/* One object: a sink_result or gen_result. */
void nl_json_report(struct nl_json *j, const struct nl_report *report);

/* The members of a meter object, into one that is open. */
void nl_json_span(struct nl_json *j, const struct nl_meter_span *span);

/* The members of one snapshot, into an object that is open; *work is scratch. */
void nl_json_snapshot(struct nl_json *j, const struct nl_meter *meter, struct nl_meter_span *work);

#endif
