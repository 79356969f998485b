/* sockopts: what a run asks of its sockets, set and read back, and what they hold.
 *
 * The kernel is believed only when it says the same back: an option that it takes and
 * does not keep is an error, as is one that it refuses. Both name the option. */
#ifndef NL_SOCKOPTS_H
#define NL_SOCKOPTS_H

#include "netlab.h"

/* Set what must hold before connect or listen, so that what the handshake offers (window
 * scale, MSS, ECN) fits it; the congestion control is that of the stream. */
int nl_sockopts_set(int fd, const struct nl_run_opts *opts, int family, uint64_t stream,
		    struct nl_err *err);

/* Give a socket the stream's turn in the list of congestion controls. */
int nl_sockopts_congestion(int fd, const struct nl_run_opts *opts, uint64_t stream,
			   struct nl_err *err);

/* How many congestion controls the options list; the host's own counts as one. */
uint64_t nl_sockopts_congestions(const struct nl_run_opts *opts);

/* What a connected socket holds, into pacing_Bps, dscp, mss_B, nodelay and busy_poll_us. */
void nl_sockopts_describe(int fd, struct nl_stream_report *out);

#endif
