/* datagram: the first bytes of each datagram of a UDP run.
 *
 * Network byte order: the first four bytes of the token, u16 stream id, u64 sequence number, u32 time of
 * sending. They fit the payload of the smallest Ethernet frame over IPv4 (64 B, RFC 2544). Pure. */
#pragma once

#include "netlab.h"

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
