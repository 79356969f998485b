/* wire: what the two ends of a run send besides the payload, in network byte order. Pure.
 *
 * The first 64 bytes of a data stream: magic "NLHELLO1", u32 version, u32 stream id, u64 run id, 16 bytes
 * of token, of a UDP run the u16 port of the gen's datagrams, and zeros.
 *
 * The first bytes of each datagram of a UDP run: the first four bytes of the token, u16 stream id, u64
 * sequence number, u32 time of sending. They fit the payload of the smallest Ethernet frame over IPv4 (64 B,
 * RFC 2544).
 *
 * The latency probe's questions and answers, which are of one length: magic "NLPROBE1", u32 kind, u32 zero,
 * u64 run id, 16 bytes of token, u64 sequence number, u64 held_ns, u64 arrived_ns. */
#pragma once

#include "netlab.h"

enum nl_hello_code {
	NL_HELLO_OK = 0,
	NL_HELLO_MAGIC, /* or the zero part is not zero, or the port is missing */
	NL_HELLO_VERSION,
	NL_HELLO_RUN,
	NL_HELLO_TOKEN,
	NL_HELLO_STREAM, /* a stream id outside this run */
};

struct nl_hello {
	uint32_t stream; /* or, from the number of streams on, one of the other connections */
	uint16_t port; /* of the gen's datagrams; 0: none */
};

/* The connections of a run beside its streams, by the number that their hello has in place of a stream's. That of
 * every further sender of a sink follows the first one's control connection. */
static inline uint32_t nl_hello_of_probe(const struct nl_run_opts *opts)
{
	return (uint32_t)opts->streams;
}

static inline uint32_t nl_senders(const struct nl_run_opts *opts)
{
	uint32_t count = opts->also_from[0] ? 2 : 1;

	for (const char *at = opts->also_from; *at; at++)
		count += *at == ',';
	return count;
}

static inline uint32_t nl_hello_of_control(const struct nl_run_opts *opts)
{
	return (uint32_t)opts->streams + 1;
}

void nl_hello_write(uint8_t out[NL_HELLO_B], const struct nl_run_opts *opts, const struct nl_hello *hello);

/* Validate a whole hello against a run's options, the token in constant time. *out is set on NL_HELLO_OK
 * only. */
enum nl_hello_code nl_hello_check(const uint8_t in[NL_HELLO_B], const struct nl_run_opts *opts,
				  struct nl_hello *out);

enum { NL_DATAGRAM_B = 18, NL_DATAGRAM_MAX_B = 65507 };

struct nl_datagram {
	uint64_t sequence; /* from 0 */
	uint32_t sent_ns;  /* of the gen's clock; the higher bits are cut */
};

void nl_datagram_write(uint8_t out[NL_DATAGRAM_B], const uint8_t token[NL_TOKEN_B], uint32_t stream,
		       const struct nl_datagram *datagram);

/* Parse the first bytes of a datagram of len bytes. 0, or -1 if it is too short or not of that stream; *out is
 * set on 0 only. */
int nl_datagram_parse(const uint8_t *in, size_t len, const uint8_t token[NL_TOKEN_B], uint32_t stream,
		      struct nl_datagram *out);

enum { NL_PROBE_B = 64 };

enum nl_probe_kind {
	NL_PROBE_QUESTION = 1, /* of a gen; held_ns is 0 */
	NL_PROBE_ANSWER = 2,   /* of a sink, with the sequence number of the question */
	NL_PROBE_DONE = 3,     /* the gen asks no more */
};

struct nl_probe {
	uint32_t kind; /* enum nl_probe_kind */
	uint64_t sequence;
	uint64_t held_ns; /* from the arrival of the question to its answer; UINT64_MAX: unknown */
	uint64_t arrived_ns; /* time of that arrival by the sink's clock */
};

void nl_probe_write(uint8_t out[NL_PROBE_B], const struct nl_run_opts *opts, const struct nl_probe *probe);

/* Parse a probe of len bytes, comparing run and token (in constant time) with opts. 0, or -1 for anything
 * else; *out is set on 0 only. */
int nl_probe_parse(const uint8_t *in, size_t len, const struct nl_run_opts *opts, struct nl_probe *out);
