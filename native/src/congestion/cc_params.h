/* cc_params: the parameters of a congestion control, shared by the loader and the BPF side.
 *
 * Shares and segments are in millionths, so that neither side needs fractions. The BPF side has
 * them as read-only data, fixed before the kernel verifies the program. */
#pragma once

#include <linux/types.h>

enum {
	NL_CC_MILLION = 1000000,
	NL_CC_HIGHSPEED_ROWS = 256, /* a power of two, for the binary search */
};

/* Valid from window_segments up to the next row. */
struct nl_cc_row {
	__u32 window_segments;
	__u32 increase_millionths; /* segments per round trip */
	__u32 decrease_millionths; /* share of the window per loss */
};

struct nl_cc_params {
	__u32 increase_millionths; /* aimd: segments per round trip; scalable: per segment */
	__u32 decrease_millionths; /* share of the window per loss */
	__u32 legacy_window_segments; /* scalable: as Reno up to this window */
	__u32 max_ssthresh_segments;  /* limited slow start (RFC 3742); 0: none */
	__u32 alpha_packets;          /* fast: packets in the queue at equilibrium */
	__u32 gamma_millionths;       /* fast: gain per round trip */
	struct nl_cc_row highspeed[NL_CC_HIGHSPEED_ROWS];
};

/* Placeholder of the algorithm's name in an object; 15 characters. */
#define NL_CC_NAME_PLACE "@netlab-cc-name"
