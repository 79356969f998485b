/* sockopts: set the socket options of a run, read them back, and report the values in force.
 *
 * Every value is read back: an option that the kernel refuses or does not keep is an error that
 * names the option. */
#pragma once

#include "netlab.h"

#include <netinet/udp.h>

/* missing in headers older than the kernel */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Set the options that the handshake depends on (window scale, MSS, ECN), before connect or listen;
 * the congestion control is the stream's. */
int nl_sockopts_set(int fd, const struct nl_run_opts *opts, int family, uint64_t stream,
		    struct nl_err *err);

/* Set the options of a datagram socket of a UDP run. */
int nl_sockopts_datagrams(int fd, const struct nl_run_opts *opts, int family, struct nl_err *err);

/* Set the stream's congestion control from the list. */
int nl_sockopts_congestion(int fd, const struct nl_run_opts *opts, uint64_t stream,
			   struct nl_err *err);

/* Set the code point of the packets; 0: none. An error names the option dscp. */
int nl_sockopts_dscp(int fd, uint64_t dscp, int family, struct nl_err *err);

/* The value of an option that is one number; 0 without it. */
uint64_t nl_sockopts_number(int fd, int level, int name);

/* Read a connected socket's pacing_Bps, dscp, mss_B, nodelay and busy_poll_us. */
void nl_sockopts_describe(int fd, struct nl_stream_report *out);
