/* cc_params: what a window law is told when it is loaded; shared by the loader and the BPF side.
 *
 * Shares and segments are in millionths, so that neither side needs fractions. The BPF side sees
 * it as read-only data that is fixed before the kernel verifies the program. */
#ifndef NL_CC_PARAMS_H
#define NL_CC_PARAMS_H

#include <linux/types.h>

enum {
	NL_CC_MILLION = 1000000,
	NL_CC_HIGHSPEED_ROWS = 256, /* a power of two: it is searched by halving */
};

/* From window_segments on, up to the next row. */
struct nl_cc_row {
	__u32 window_segments;
	__u32 increase_millionths; /* segments a round trip */
	__u32 decrease_millionths; /* share given up at a loss */
};

struct nl_cc_params {
	__u32 increase_millionths; /* aimd: segments a round trip; scalable: for each acknowledged */
	__u32 decrease_millionths; /* share of the window given up at a loss */
	__u32 legacy_window_segments; /* scalable: as Reno up to here */
	__u32 max_ssthresh_segments;  /* limited slow start (RFC 3742); 0: none */
	__u32 alpha_packets;          /* fast: packets to keep queued */
	__u32 gamma_millionths;       /* fast: how far to go in one round trip */
	struct nl_cc_row highspeed[NL_CC_HIGHSPEED_ROWS];
};

/* What stands in an object where the algorithm's name goes; 15 characters. */
#define NL_CC_NAME_PLACE "@netlab-cc-name"

#endif
