#include "net/datagram.h"

#include <endian.h>
#include <string.h>

enum { MARK_B = 4, AT_STREAM = 4, AT_SEQUENCE = 6, AT_SENT = 14 };

void nl_datagram_write(uint8_t out[NL_DATAGRAM_B], const uint8_t token[NL_TOKEN_B], uint32_t stream,
		       const struct nl_datagram *datagram)
{
	uint16_t id = htobe16((uint16_t)stream);
	uint64_t sequence = htobe64(datagram->sequence);
	uint32_t sent_ns = htobe32(datagram->sent_ns);

	memcpy(out, token, MARK_B);
	memcpy(out + AT_STREAM, &id, sizeof(id));
	memcpy(out + AT_SEQUENCE, &sequence, sizeof(sequence));
	memcpy(out + AT_SENT, &sent_ns, sizeof(sent_ns));
}

int nl_datagram_parse(const uint8_t *in, size_t len, const uint8_t token[NL_TOKEN_B], uint32_t stream,
		      struct nl_datagram *out)
{
	uint16_t id;

	if (len < NL_DATAGRAM_B || memcmp(in, token, MARK_B) != 0)
		return -1;
	memcpy(&id, in + AT_STREAM, sizeof(id));
	if (be16toh(id) != stream)
		return -1;
	memcpy(&out->sequence, in + AT_SEQUENCE, sizeof(out->sequence));
	memcpy(&out->sent_ns, in + AT_SENT, sizeof(out->sent_ns));
	out->sequence = be64toh(out->sequence);
	out->sent_ns = be32toh(out->sent_ns);
	return 0;
}
