/* meter_json: meters, and what a host did beside a run, as the JSON of PROTOCOL.md. */
#ifndef NL_METER_JSON_H
#define NL_METER_JSON_H

#include "base/json.h"
#include "netlab.h"

#include <stddef.h>

/* Write the members of a meter object into an open object. */
void nl_json_span(struct nl_json *j, const struct nl_meter_span *span);

/* Write the members of a snapshot into an open object; *work is scratch. */
void nl_json_snapshot(struct nl_json *j, const struct nl_meter *meter, struct nl_meter_span *work);

/* Write the member `others` or `card`; null if unknown. */
void nl_json_others(struct nl_json *j, const struct nl_others *others);
void nl_json_card(struct nl_json *j, const struct nl_card *card);

#endif
