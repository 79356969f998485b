#include "net/datagram.h"

#include <endian.h>
#include <string.h>

struct __attribute__((packed)) wire {
	uint8_t mark[4];
	uint16_t stream;
	uint64_t sequence;
	uint32_t sent_ns;
};

_Static_assert(sizeof(struct wire) == NL_DATAGRAM_B, "the layout of the protocol");

void nl_datagram_write(uint8_t out[NL_DATAGRAM_B], const uint8_t token[NL_TOKEN_B], uint32_t stream,
		       const struct nl_datagram *datagram)
{
	struct wire wire = {.stream = htobe16((uint16_t)stream), .sequence = htobe64(datagram->sequence),
			    .sent_ns = htobe32(datagram->sent_ns)};

	memcpy(wire.mark, token, sizeof(wire.mark));
	memcpy(out, &wire, sizeof(wire));
}

int nl_datagram_parse(const uint8_t *in, size_t len, const uint8_t token[NL_TOKEN_B], uint32_t stream,
		      struct nl_datagram *out)
{
	struct wire wire;

	if (len < sizeof(wire))
		return -1;
	memcpy(&wire, in, sizeof(wire));
	if (memcmp(wire.mark, token, sizeof(wire.mark)) != 0 || be16toh(wire.stream) != stream)
		return -1;
	*out = (struct nl_datagram){.sequence = be64toh(wire.sequence), .sent_ns = be32toh(wire.sent_ns)};
	return 0;
}
