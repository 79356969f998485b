/* hello: the first 64 bytes of a data stream.
 *
 * Network byte order: magic "NLHELLO1", u32 version, u32 stream id, u64 run id, 16 bytes of token,
 * of a UDP run the u16 port of the gen's datagrams, and zeros. Parsing is pure. */
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
	uint64_t run;
	uint32_t stream; /* the number of streams: the connection of the latency probe */
	uint16_t port; /* of the gen's datagrams; 0: none */
	uint8_t token[NL_TOKEN_B];
};

void nl_hello_write(uint8_t out[NL_HELLO_B], const struct nl_hello *hello);

/* Validate a whole hello against a run's options, the token in constant time. *out is set on NL_HELLO_OK
 * only. */
enum nl_hello_code nl_hello_check(const uint8_t in[NL_HELLO_B], const struct nl_run_opts *opts,
				  struct nl_hello *out);

/* Compare two tokens in constant time; 0 if they are equal. */
int nl_token_differs(const uint8_t a[NL_TOKEN_B], const uint8_t b[NL_TOKEN_B]);
