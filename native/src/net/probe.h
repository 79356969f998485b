/* probe: the datagrams of the latency probe.
 *
 * Network byte order: magic "NLPROBE1", u32 kind, u32 zero, u64 run id, 16 bytes of token, u64 sequence
 * number, u64 held_ns. An answer is as long as its question. Pure. */
#pragma once

#include "netlab.h"

enum { NL_PROBE_B = 56 };

enum nl_probe_kind {
	NL_PROBE_QUESTION = 1, /* of a gen; held_ns is 0 */
	NL_PROBE_ANSWER = 2,   /* of a sink, with the sequence number of the question */
	NL_PROBE_DONE = 3,     /* the gen asks no more */
};

struct nl_probe {
	uint32_t kind; /* enum nl_probe_kind */
	uint64_t sequence;
	uint64_t held_ns; /* from the arrival of the question to its answer; UINT64_MAX: unknown */
};

void nl_probe_write(uint8_t out[NL_PROBE_B], const struct nl_run_opts *opts, const struct nl_probe *probe);

/* Parse a datagram of len bytes, comparing run and token (in constant time) with opts. 0, or -1 for any other
 * datagram; *out is set on 0 only. */
int nl_probe_parse(const uint8_t *in, size_t len, const struct nl_run_opts *opts, struct nl_probe *out);
