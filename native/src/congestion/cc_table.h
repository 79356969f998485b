/* cc_table: netlab's BPF congestion controls and their options.
 *
 * Pure: parses a request into parameters. The programs are in congestion/bpf; cc_bpf registers
 * them. */
#pragma once

#include "base/request.h"
#include "congestion/cc_params.h"

enum { NL_CC_COUNT = 4 };

struct nl_cc_option {
	const char *key;
	uint32_t min, max, otherwise; /* default */
	size_t at;                    /* in struct nl_cc_params */
};

struct nl_cc {
	const char *name;
	unsigned revision; /* number of changes of behaviour */
	size_t options;
	struct nl_cc_option option[4];
};

extern const struct nl_cc nl_cc_table[NL_CC_COUNT];

/* Parse the congestion control named by `cc=` and its options. The index into nl_cc_table, or -1
 * and *err. */
int nl_cc_from_request(struct nl_request *request, struct nl_cc_params *params, struct nl_err *err);

uint32_t nl_cc_option_value(const struct nl_cc_params *params, const struct nl_cc_option *option);
