/* udp_end: how the stream of a UDP run ends, and what it reports.
 *
 * Its TCP connection, which proved the token and releases it as ever, carries the gen's last word: how many
 * datagrams it sent (u64, network byte order), once the kernel has sent them. The sink then waits until all have
 * arrived, or nothing has for the silence of the flow: what has not arrived by then is lost. */
#pragma once

#include "io/stream.h"

enum { NL_UDP_ENDING_MS = 5 }; /* between two looks at streams that are ending */

/* Gen: send the number. 0 or errno; -1: datagrams wait in the socket's buffer, call again. */
int nl_udp_end_send(struct nl_stream *stream, uint64_t now_ns);

/* Sink: read the number, and begin the silence. 0 or errno, also of a gen that closes without one; -1: it has not
 * come yet. */
int nl_udp_end_receive(struct nl_stream *stream, const struct nl_run_opts *opts);

/* Sink: something has arrived meanwhile. */
void nl_udp_end_postpone(struct nl_flow *flow);

/* Sink: true if all have arrived, or nothing arrives any more. */
int nl_udp_end_reached(const struct nl_flow *flow);
