#include "net/hello.h"

#include <endian.h>
#include <string.h>

static const char magic[8] = {'N', 'L', 'H', 'E', 'L', 'L', 'O', '1'};

enum { VERSION = 2, AT_VERSION = 8, AT_STREAM = 12, AT_RUN = 16, AT_TOKEN = 24, AT_PORT = 40, AT_ZERO = 42 };

void nl_hello_write(uint8_t out[NL_HELLO_B], const struct nl_hello *hello)
{
	uint32_t version = htobe32(VERSION), stream = htobe32(hello->stream);
	uint64_t run = htobe64(hello->run);
	uint16_t port = htobe16(hello->port);

	memset(out, 0, NL_HELLO_B);
	memcpy(out, magic, sizeof(magic));
	memcpy(out + AT_VERSION, &version, sizeof(version));
	memcpy(out + AT_STREAM, &stream, sizeof(stream));
	memcpy(out + AT_RUN, &run, sizeof(run));
	memcpy(out + AT_TOKEN, hello->token, NL_TOKEN_B);
	memcpy(out + AT_PORT, &port, sizeof(port));
}

int nl_token_differs(const uint8_t a[NL_TOKEN_B], const uint8_t b[NL_TOKEN_B])
{
	/* volatile prevents an early exit of the loop by the compiler */
	volatile uint8_t differs = 0;

	for (int i = 0; i < NL_TOKEN_B; i++)
		differs = (uint8_t)(differs | (a[i] ^ b[i]));
	return differs;
}

enum nl_hello_code nl_hello_check(const uint8_t in[NL_HELLO_B], const struct nl_run_opts *opts,
				  struct nl_hello *out)
{
	uint32_t version, id;
	uint64_t run;
	uint16_t port;
	uint8_t set = 0;

	if (memcmp(in, magic, sizeof(magic)) != 0)
		return NL_HELLO_MAGIC;
	memcpy(&version, in + AT_VERSION, sizeof(version));
	memcpy(&id, in + AT_STREAM, sizeof(id));
	memcpy(&run, in + AT_RUN, sizeof(run));
	memcpy(&port, in + AT_PORT, sizeof(port));
	if (be32toh(version) != VERSION)
		return NL_HELLO_VERSION;
	for (int i = AT_ZERO; i < NL_HELLO_B; i++)
		set |= in[i];
	if (set || (port != 0) != (opts->udp != 0))
		return NL_HELLO_MAGIC;
	if (be64toh(run) != opts->run)
		return NL_HELLO_RUN;
	if (nl_token_differs(in + AT_TOKEN, opts->token))
		return NL_HELLO_TOKEN;
	id = be32toh(id);
	if (id >= opts->streams + (opts->latency_interval_ms && opts->latency_probe & NL_PROBE_TCP))
		return NL_HELLO_STREAM;
	*out = (struct nl_hello){.run = opts->run, .stream = id, .port = be16toh(port)};
	memcpy(out->token, opts->token, NL_TOKEN_B);
	return NL_HELLO_OK;
}
