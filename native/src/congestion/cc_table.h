/* cc_laws: the window laws that netlab brings itself, and what each may be told.
 *
 * Pure: words in, parameters out. The laws are in native/cc; cc_bpf gives them to the kernel. */
#ifndef NL_CC_TABLE_H
#define NL_CC_TABLE_H

#include "base/request.h"
#include "congestion/cc_params.h"
#include "netlab.h"

enum { NL_CC_COUNT = 4 };

struct nl_cc_option {
	const char *key;
	uint32_t min, max, otherwise; /* what it is unless given */
	size_t at;                    /* in struct nl_cc_params */
};

struct nl_cc {
	const char *name;
	unsigned revision; /* counts changes of the law's behaviour */
	size_t options;
	struct nl_cc_option option[4];
};

extern const struct nl_cc nl_cc_table[NL_CC_COUNT];

/* The law that `law=` names, and its parameters. Index into nl_cc_table, or -1 and *err. */
int nl_cc_from_request(struct nl_request *request, struct nl_cc_params *params, struct nl_err *err);

/* The value of an option in parameters. */
uint32_t nl_cc_option_value(const struct nl_cc_params *params, const struct nl_cc_option *option);

/* RFC 3649, section 5: a(w) and b(w) in millionths, at windows that grow in equal ratios from
 * Low_Window to beyond High_Window. The first row stands for all windows below the second. */
void nl_cc_highspeed_rows(struct nl_cc_row row[NL_CC_HIGHSPEED_ROWS]);

#endif
