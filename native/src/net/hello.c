#include "net/hello.h"

#include <endian.h>
#include <string.h>

static const char magic[8] = {'N', 'L', 'H', 'E', 'L', 'L', 'O', '1'};

enum { VERSION = 2, AT_VERSION = 8, AT_STREAM = 12, AT_RUN = 16, AT_TOKEN = 24, AT_ZERO = 40 };

void nl_hello_write(uint8_t out[NL_HELLO_B], const struct nl_hello *hello)
{
	uint32_t version = htobe32(VERSION), stream = htobe32(hello->stream);
	uint64_t run = htobe64(hello->run);

	memset(out, 0, NL_HELLO_B);
	memcpy(out, magic, sizeof(magic));
	memcpy(out + AT_VERSION, &version, sizeof(version));
	memcpy(out + AT_STREAM, &stream, sizeof(stream));
	memcpy(out + AT_RUN, &run, sizeof(run));
	memcpy(out + AT_TOKEN, hello->token, NL_TOKEN_B);
}

int nl_token_differs(const uint8_t a[NL_TOKEN_B], const uint8_t b[NL_TOKEN_B])
{
	/* volatile prevents an early exit of the loop by the compiler */
	volatile uint8_t differs = 0;

	for (int i = 0; i < NL_TOKEN_B; i++)
		differs = (uint8_t)(differs | (a[i] ^ b[i]));
	return differs;
}

enum nl_hello_code nl_hello_check(const uint8_t in[NL_HELLO_B], uint64_t run,
				  const uint8_t token[NL_TOKEN_B], uint64_t streams,
				  uint32_t *stream)
{
	uint32_t version, id;
	uint64_t hello_run;
	uint8_t set = 0;

	if (memcmp(in, magic, sizeof(magic)) != 0)
		return NL_HELLO_MAGIC;
	memcpy(&version, in + AT_VERSION, sizeof(version));
	memcpy(&id, in + AT_STREAM, sizeof(id));
	memcpy(&hello_run, in + AT_RUN, sizeof(hello_run));
	if (be32toh(version) != VERSION)
		return NL_HELLO_VERSION;
	for (int i = AT_ZERO; i < NL_HELLO_B; i++)
		set |= in[i];
	if (set)
		return NL_HELLO_MAGIC;
	if (be64toh(hello_run) != run)
		return NL_HELLO_RUN;
	if (nl_token_differs(in + AT_TOKEN, token))
		return NL_HELLO_TOKEN;
	id = be32toh(id);
	if (id >= streams)
		return NL_HELLO_STREAM;
	*stream = id;
	return NL_HELLO_OK;
}
