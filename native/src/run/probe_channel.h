/* probe_channel: one way of asking and answering the latency probe: by datagrams, or over a TCP connection.
 *
 * A datagram is a probe or none, comes from anywhere, and may be lost. A stream has one peer; its probes follow
 * one another, so that a byte that is not of one ends it, and so does the peer. The fd may be set by another
 * thread; all else is the probing thread's. */
#pragma once

#include "base/clock_steps.h"
#include "net/sock.h"
#include "net/wire.h"

#include <stdatomic.h>

struct nl_probe_arrival {
	struct sockaddr_storage from;
	socklen_t from_len;
	uint64_t t_ns; /* 0: not known */
	struct nl_probe probe;
};

enum nl_probe_read {
	NL_PROBE_NONE,    /* nothing has arrived, or not all of a probe */
	NL_PROBE_OTHER,   /* something else, which is counted */
	NL_PROBE_ARRIVED,
};

struct nl_probe_transport;

struct nl_probe_channel {
	const struct nl_probe_transport *transport;
	const struct nl_run_opts *opts;
	const struct nl_address *from; /* len 0: any */
	struct nl_stamps *stamps;      /* of all channels: they share a clock */
	struct nl_latency *report;
	_Atomic int fd;            /* -1: not asked for, or of a sink's stream not yet connected */
	int is_over, is_closed;    /* stream: no more probes; of these, by its peer */
	uint64_t latest_ns;        /* stream: the last byte is delivered when all before it have arrived */
	uint32_t have_B, unsent_B; /* stream: read of `in`, and left of `out` */
	uint8_t in[NL_PROBE_B + 1], out[NL_PROBE_B]; /* a longer datagram shows */
};

/* Receive makes one read; send is 1, or 0: what the kernel refuses is lost. `to`: whose question it answers,
 * or NULL. */
struct nl_probe_transport {
	enum nl_probe_read (*receive)(struct nl_probe_channel *channel, struct nl_probe_arrival *out);
	int (*send)(struct nl_probe_channel *channel, const struct nl_probe *probe,
		    const struct nl_probe_arrival *to);
};

extern const struct nl_probe_transport nl_probe_datagrams, nl_probe_stream;

/* -1 while the channel is not open, and after its end. */
static inline int nl_probe_fd(const struct nl_probe_channel *channel)
{
	return channel->is_over ? -1 : atomic_load(&channel->fd);
}

/* The next question or answer of the run, in at most *budget reads. 0: none has arrived. */
int nl_probe_receive(struct nl_probe_channel *channel, int *budget, struct nl_probe_arrival *out);
