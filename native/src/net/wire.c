#include "net/wire.h"

#include <endian.h>
#include <string.h>

enum { VERSION = 3 };

/* The layouts, in network byte order. */
struct __attribute__((packed)) hello {
	char magic[8];
	uint32_t version, stream;
	uint64_t run;
	uint8_t token[NL_TOKEN_B];
	uint16_t port;
	uint8_t zero[22];
};

struct __attribute__((packed)) datagram {
	uint8_t mark[4];
	uint16_t stream;
	uint64_t sequence;
	uint32_t sent_ns;
};

struct __attribute__((packed)) probe {
	char magic[8];
	uint32_t kind, zero;
	uint64_t run;
	uint8_t token[NL_TOKEN_B];
	uint64_t sequence, held_ns, arrived_ns;
};

_Static_assert(sizeof(struct hello) == NL_HELLO_B && sizeof(struct datagram) == NL_DATAGRAM_B &&
		       sizeof(struct probe) == NL_PROBE_B,
	       "the layouts of the protocol");

static const char hello_magic[8] = {'N', 'L', 'H', 'E', 'L', 'L', 'O', '1'};
static const char probe_magic[8] = {'N', 'L', 'P', 'R', 'O', 'B', 'E', '1'};

/* Compare in constant time; 0 if they are equal. */
static int token_differs(const uint8_t a[NL_TOKEN_B], const uint8_t b[NL_TOKEN_B])
{
	/* volatile prevents an early exit of the loop by the compiler */
	volatile uint8_t differs = 0;

	for (int i = 0; i < NL_TOKEN_B; i++)
		differs = (uint8_t)(differs | (a[i] ^ b[i]));
	return differs;
}

void nl_hello_write(uint8_t out[NL_HELLO_B], const struct nl_run_opts *opts, const struct nl_hello *hello)
{
	struct hello wire = {.version = htobe32(VERSION), .stream = htobe32(hello->stream),
			     .run = htobe64(opts->run), .port = htobe16(hello->port)};

	memcpy(wire.magic, hello_magic, sizeof(wire.magic));
	memcpy(wire.token, opts->token, sizeof(wire.token));
	memcpy(out, &wire, sizeof(wire));
}

enum nl_hello_code nl_hello_check(const uint8_t in[NL_HELLO_B], const struct nl_run_opts *opts,
				  struct nl_hello *out)
{
	static const struct hello blank;
	struct hello wire;

	memcpy(&wire, in, sizeof(wire));
	if (memcmp(wire.magic, hello_magic, sizeof(wire.magic)) != 0)
		return NL_HELLO_MAGIC;
	if (be32toh(wire.version) != VERSION)
		return NL_HELLO_VERSION;
	if (memcmp(wire.zero, blank.zero, sizeof(wire.zero)) != 0 || (wire.port != 0) != (opts->udp != 0))
		return NL_HELLO_MAGIC;
	if (be64toh(wire.run) != opts->run)
		return NL_HELLO_RUN;
	if (token_differs(wire.token, opts->token))
		return NL_HELLO_TOKEN;
	if (be32toh(wire.stream) >= opts->streams &&
	    be32toh(wire.stream) - nl_hello_of_control(opts) >= nl_senders(opts) &&
	    !(be32toh(wire.stream) == nl_hello_of_probe(opts) && opts->latency_interval_ms &&
	      opts->latency_probe & NL_PROBE_TCP))
		return NL_HELLO_STREAM;
	*out = (struct nl_hello){.stream = be32toh(wire.stream), .port = be16toh(wire.port)};
	return NL_HELLO_OK;
}

void nl_datagram_write(uint8_t out[NL_DATAGRAM_B], const uint8_t token[NL_TOKEN_B], uint32_t stream,
		       const struct nl_datagram *datagram)
{
	struct datagram wire = {.stream = htobe16((uint16_t)stream), .sequence = htobe64(datagram->sequence),
				.sent_ns = htobe32(datagram->sent_ns)};

	memcpy(wire.mark, token, sizeof(wire.mark));
	memcpy(out, &wire, sizeof(wire));
}

int nl_datagram_parse(const uint8_t *in, size_t len, const uint8_t token[NL_TOKEN_B], uint32_t stream,
		      struct nl_datagram *out)
{
	struct datagram wire;

	if (len < sizeof(wire))
		return -1;
	memcpy(&wire, in, sizeof(wire));
	if (memcmp(wire.mark, token, sizeof(wire.mark)) != 0 || be16toh(wire.stream) != stream)
		return -1;
	*out = (struct nl_datagram){.sequence = be64toh(wire.sequence), .sent_ns = be32toh(wire.sent_ns)};
	return 0;
}

void nl_probe_write(uint8_t out[NL_PROBE_B], const struct nl_run_opts *opts, const struct nl_probe *probe)
{
	struct probe wire = {.kind = htobe32(probe->kind), .run = htobe64(opts->run),
			     .sequence = htobe64(probe->sequence), .held_ns = htobe64(probe->held_ns),
			     .arrived_ns = htobe64(probe->arrived_ns)};

	memcpy(wire.magic, probe_magic, sizeof(wire.magic));
	memcpy(wire.token, opts->token, sizeof(wire.token));
	memcpy(out, &wire, sizeof(wire));
}

int nl_probe_parse(const uint8_t *in, size_t len, const struct nl_run_opts *opts, struct nl_probe *out)
{
	struct probe wire;
	uint32_t kind;

	if (len != sizeof(wire))
		return -1;
	memcpy(&wire, in, sizeof(wire));
	kind = be32toh(wire.kind);
	if (memcmp(wire.magic, probe_magic, sizeof(wire.magic)) != 0 || wire.zero != 0 ||
	    kind < NL_PROBE_QUESTION || kind > NL_PROBE_DONE || be64toh(wire.run) != opts->run ||
	    token_differs(wire.token, opts->token))
		return -1;
	*out = (struct nl_probe){.kind = kind, .sequence = be64toh(wire.sequence),
				 .held_ns = be64toh(wire.held_ns), .arrived_ns = be64toh(wire.arrived_ns)};
	return 0;
}
