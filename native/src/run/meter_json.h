/* meter_json: meters, and what a host did beside a run, as the JSON of PROTOCOL.md. */
#ifndef NL_METER_JSON_H
#define NL_METER_JSON_H

#include "base/json.h"
#include "netlab.h"

#include <stddef.h>

struct nl_json_member {
	const char *key;
	uint64_t value;
};

/* Write unsigned members into an open object. */
void nl_json_members(struct nl_json *j, const struct nl_json_member *member, size_t count);

#define PUT_MEMBERS(j, ...)                                                                        \
	do {                                                                                       \
		const struct nl_json_member list_[] = {__VA_ARGS__};                                       \
		nl_json_members(j, list_, sizeof(list_) / sizeof(list_[0]));                           \
	} while (0)

/* Write the members of a meter object into an open object. */
void nl_json_span(struct nl_json *j, const struct nl_meter_span *span);

/* Write the members of a snapshot into an open object; *work is scratch. */
void nl_json_snapshot(struct nl_json *j, const struct nl_meter *meter, struct nl_meter_span *work);

/* Write the member `others` or `card`; null if unknown. */
void nl_json_others(struct nl_json *j, const struct nl_others *others);
void nl_json_card(struct nl_json *j, const struct nl_card *card);

#endif
