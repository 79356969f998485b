#include "net/probe.h"

#include "net/hello.h"

#include <endian.h>
#include <string.h>

static const char magic[8] = {'N', 'L', 'P', 'R', 'O', 'B', 'E', '1'};

enum { AT_KIND = 8, AT_RUN = 16, AT_TOKEN = 24, AT_SEQUENCE = 40, AT_HELD = 48 };

static uint64_t take_u64(const uint8_t *in)
{
	uint64_t value;

	memcpy(&value, in, sizeof(value));
	return be64toh(value);
}

static void put_u64(uint8_t *out, uint64_t value)
{
	value = htobe64(value);
	memcpy(out, &value, sizeof(value));
}

void nl_probe_write(uint8_t out[NL_PROBE_B], const struct nl_run_opts *opts, const struct nl_probe *probe)
{
	memcpy(out, magic, sizeof(magic));
	put_u64(out + AT_KIND, (uint64_t)probe->kind << 32);
	put_u64(out + AT_RUN, opts->run);
	memcpy(out + AT_TOKEN, opts->token, NL_TOKEN_B);
	put_u64(out + AT_SEQUENCE, probe->sequence);
	put_u64(out + AT_HELD, probe->held_ns);
}

int nl_probe_parse(const uint8_t *in, size_t len, const struct nl_run_opts *opts, struct nl_probe *out)
{
	uint64_t kind;

	if (len != NL_PROBE_B || memcmp(in, magic, sizeof(magic)) != 0)
		return -1;
	kind = take_u64(in + AT_KIND);
	if ((uint32_t)kind != 0 || kind >> 32 < NL_PROBE_QUESTION || kind >> 32 > NL_PROBE_DONE ||
	    take_u64(in + AT_RUN) != opts->run || nl_token_differs(in + AT_TOKEN, opts->token))
		return -1;
	*out = (struct nl_probe){.kind = (uint32_t)(kind >> 32), .sequence = take_u64(in + AT_SEQUENCE),
				 .held_ns = take_u64(in + AT_HELD)};
	return 0;
}
