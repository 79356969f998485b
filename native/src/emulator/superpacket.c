#include "emulator/superpacket.h"

#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <string.h>

enum {
	IPV4_CHECK_AT = 10,
	IPV4_MIN_B = 20, IPV6_B = 40, TCP_MIN_B = 20, UDP_B = 8,
	TCP_SEQ_AT = 4, TCP_FLAGS_AT = 13, TCP_CHECK_AT = 16,
	FIN = 0x01, PSH = 0x08, CWR = 0x80,
	MORE_FRAGMENTS_OR_OFFSET = 0x3fff,
};

_Static_assert(sizeof(struct virtio_net_hdr) == NL_VNET_B, "the header as the kernel has it");

static uint32_t be16_get(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static void be16_put(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static uint32_t be32_get(const uint8_t *p)
{
	return be16_get(p) << 16 | be16_get(p + 2);
}

static void be32_put(uint8_t *p, uint32_t value)
{
	be16_put(p, value >> 16);
	be16_put(p + 2, value);
}

static uint32_t checksum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The bits for marks lie in the second byte; IPv6 has them four to the left. */
static unsigned int ecn_shift(const uint8_t *ip)
{
	return ip[0] >> 4 == 4 ? 0 : 4;
}

unsigned int nl_superpacket_ecn(const uint8_t *frame)
{
	const uint8_t *ip = frame + NL_VNET_B;

	return ip[1] >> ecn_shift(ip) & NL_ECN_CE;
}

int nl_superpacket_mark(uint8_t *frame)
{
	uint8_t *ip = frame + NL_VNET_B;
	unsigned int shift = ecn_shift(ip), field = nl_superpacket_ecn(frame);

	if (field == 0 || field == NL_ECN_CE)
		return 0;
	ip[1] |= (uint8_t)(NL_ECN_CE << shift);
	if (ip[0] >> 4 == 4) /* the header's checksum grows as its word does (RFC 1624) */
		be16_put(ip + IPV4_CHECK_AT, ~checksum_fold((uint16_t)~be16_get(ip + IPV4_CHECK_AT) + NL_ECN_CE - field));
	return 1;
}

/* Bytes of TCP or UDP payload of a single packet; 0 for anything else, fragments included. */
static int carries_data(const uint8_t *ip, uint32_t len, uint32_t transport_at, int protocol)
{
	if (protocol == IPPROTO_UDP)
		return len > transport_at + UDP_B;
	if (protocol != IPPROTO_TCP || len < transport_at + TCP_MIN_B)
		return 0;
	return len > transport_at + (uint32_t)(ip[transport_at + 12] >> 4) * 4;
}

static enum nl_superpacket_code read_ip(struct nl_superpacket *out, const uint8_t *ip, uint32_t len,
					uint32_t *transport_at, int *protocol)
{
	if (len < 1)
		return NL_SUPERPACKET_SHORT;
	out->version = ip[0] >> 4;
	if (out->version != 4 && out->version != 6)
		return NL_SUPERPACKET_VERSION;
	if (len < (out->version == 4 ? IPV4_MIN_B : IPV6_B))
		return NL_SUPERPACKET_SHORT;
	*transport_at = out->version == 4 ? (ip[0] & 15u) * 4 : IPV6_B;
	if (*transport_at < IPV4_MIN_B || *transport_at > len)
		return NL_SUPERPACKET_SHORT;
	if (len != (out->version == 4 ? be16_get(ip + 2) : be16_get(ip + 4) + IPV6_B))
		return NL_SUPERPACKET_LENGTH;
	if (out->version == 6)
		*protocol = ip[6];
	else
		*protocol = be16_get(ip + 6) & MORE_FRAGMENTS_OR_OFFSET ? IPPROTO_NONE : ip[9];
	return NL_SUPERPACKET_OK;
}

enum nl_superpacket_code nl_superpacket_read(struct nl_superpacket *out, const uint8_t *frame,
					     size_t len)
{
	const uint8_t *ip = frame + NL_VNET_B;
	enum nl_superpacket_code code;
	struct virtio_net_hdr vnet;
	uint32_t transport_at = 0;
	int protocol = IPPROTO_NONE, type;

	memset(out, 0, sizeof(*out));
	if (len < NL_VNET_B)
		return NL_SUPERPACKET_SHORT;
	memcpy(&vnet, frame, NL_VNET_B);
	out->ip_B = (uint32_t)(len - NL_VNET_B);
	code = read_ip(out, ip, out->ip_B, &transport_at, &protocol);
	if (code != NL_SUPERPACKET_OK)
		return code;
	if (vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM &&
	    (uint32_t)vnet.csum_start + vnet.csum_offset + 2 > out->ip_B)
		return NL_SUPERPACKET_CHECKSUM;
	out->segments = 1;
	out->data = (uint8_t)carries_data(ip, out->ip_B, transport_at, protocol);
	out->udp = out->data && protocol == IPPROTO_UDP;
	type = vnet.gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
	if (type == VIRTIO_NET_HDR_GSO_NONE)
		return NL_SUPERPACKET_OK;
	if (type != (out->version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6))
		return NL_SUPERPACKET_GSO_TYPE;
	if (!(vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || vnet.csum_start < transport_at ||
	    vnet.csum_offset != TCP_CHECK_AT)
		return NL_SUPERPACKET_CHECKSUM;
	if (out->version == 4 && (protocol != IPPROTO_TCP || vnet.csum_start != transport_at))
		return NL_SUPERPACKET_GSO_TYPE;
	/* as reported by the kernel: no need to parse extension headers */
	transport_at = vnet.csum_start;
	if (transport_at > 60 + 40 || out->ip_B < transport_at + TCP_MIN_B)
		return NL_SUPERPACKET_SHORT;
	out->head_B = transport_at + (uint32_t)(ip[transport_at + 12] >> 4) * 4;
	if (out->head_B < transport_at + TCP_MIN_B || out->head_B > out->ip_B)
		return NL_SUPERPACKET_SHORT;
	out->payload_B = out->ip_B - out->head_B;
	if (!vnet.gso_size || !out->payload_B)
		return NL_SUPERPACKET_GSO_SIZE;
	out->data = 1;
	out->tcp_at = (uint16_t)transport_at;
	out->gso_B = vnet.gso_size;
	out->segments = (out->payload_B + out->gso_B - 1) / out->gso_B;
	return NL_SUPERPACKET_OK;
}

/* FNV-1a of bytes, begun or continued. */
static uint64_t flow_hash(uint64_t hash, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
	return hash;
}

static uint64_t flow_hash_begin(uint64_t seed)
{
	return (UINT64_C(14695981039346656037) ^ seed) * UINT64_C(1099511628211);
}

static uint32_t flow_hash_end(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t nl_superpacket_flow(const struct nl_superpacket *sp, const uint8_t *frame, uint64_t seed)
{
	const uint8_t *ip = frame + NL_VNET_B;
	int v4 = sp->version == 4;
	uint8_t protocol = v4 ? ip[9] : ip[6];
	uint32_t from = v4 ? 12 : 8, to = v4 ? 20 : IPV6_B, at = v4 ? (ip[0] & 15u) * 4 : IPV6_B;
	int whole = !v4 || !(be16_get(ip + 6) & MORE_FRAGMENTS_OR_OFFSET);
	uint64_t hash = flow_hash(flow_hash_begin(seed), ip + from, to - from);

	hash = flow_hash(hash, &protocol, 1);
	if (whole && (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && sp->ip_B >= at + 4)
		hash = flow_hash(hash, ip + at, 4);
	return flow_hash_end(hash);
}

void nl_superpacket_hosts(const struct nl_superpacket *sp, const uint8_t *frame, uint64_t seed, uint32_t *source,
			  uint32_t *destination)
{
	const uint8_t *ip = frame + NL_VNET_B;
	uint32_t len = sp->version == 4 ? 4 : 16, from = sp->version == 4 ? 12 : 8;

	*source = flow_hash_end(flow_hash(flow_hash_begin(seed), ip + from, len));
	*destination = flow_hash_end(flow_hash(flow_hash_begin(seed), ip + from + len, len));
}

int nl_superpacket_tcp_ports(const struct nl_superpacket *sp, const uint8_t *frame, uint16_t port[2])
{
	const uint8_t *ip = frame + NL_VNET_B;
	int v4 = sp->version == 4;
	uint32_t at = v4 ? (ip[0] & 15u) * 4 : IPV6_B;

	if ((v4 ? ip[9] : ip[6]) != IPPROTO_TCP || (v4 && be16_get(ip + 6) & MORE_FRAGMENTS_OR_OFFSET) ||
	    sp->ip_B < at + 4)
		return 0;
	port[0] = (uint16_t)be16_get(ip + at);
	port[1] = (uint16_t)be16_get(ip + at + 2);
	return 1;
}

static uint32_t payload_at(const struct nl_superpacket *sp, uint32_t segment)
{
	return segment < sp->segments ? segment * sp->gso_B : sp->payload_B;
}

uint32_t nl_superpacket_segment_B(const struct nl_superpacket *sp, uint32_t i)
{
	if (sp->segments == 1)
		return sp->ip_B;
	return sp->head_B + payload_at(sp, i + 1) - payload_at(sp, i);
}

static void patch_ip(const struct nl_superpacket *sp, uint8_t *ip, uint32_t ip_B, uint32_t first)
{
	uint32_t sum = 0, header_B;

	if (sp->version == 6) {
		be16_put(ip + 4, ip_B - IPV6_B);
		return;
	}
	be16_put(ip + 2, ip_B);
	be16_put(ip + 4, be16_get(ip + 4) + first);
	be16_put(ip + IPV4_CHECK_AT, 0);
	header_B = (ip[0] & 15u) * 4;
	for (uint32_t i = 0; i < header_B; i += 2)
		sum += be16_get(ip + i);
	be16_put(ip + IPV4_CHECK_AT, ~checksum_fold(sum));
}

int nl_superpacket_piece(const struct nl_superpacket *sp, const uint8_t *frame, uint32_t first,
			 uint32_t count, uint8_t *head, struct iovec iov[2])
{
	uint8_t *ip = head + NL_VNET_B, *tcp = ip + sp->tcp_at;
	struct virtio_net_hdr vnet;
	uint32_t from, to, ip_B;

	if (first == 0 && count == sp->segments) {
		iov[0] = (struct iovec){(void *)(uintptr_t)frame, NL_VNET_B + sp->ip_B};
		return 1;
	}
	from = payload_at(sp, first);
	to = payload_at(sp, first + count);
	ip_B = sp->head_B + to - from;
	memcpy(head, frame, NL_VNET_B + sp->head_B);
	memcpy(&vnet, head, NL_VNET_B);
	if (count == 1) {
		vnet.gso_type = VIRTIO_NET_HDR_GSO_NONE;
		vnet.gso_size = 0;
	}
	vnet.hdr_len = (uint16_t)sp->head_B;
	memcpy(head, &vnet, NL_VNET_B);
	patch_ip(sp, ip, ip_B, first);
	be32_put(tcp + TCP_SEQ_AT, be32_get(tcp + TCP_SEQ_AT) + from);
	if (first + count < sp->segments)
		tcp[TCP_FLAGS_AT] &= (uint8_t)~(FIN | PSH);
	if (first)
		tcp[TCP_FLAGS_AT] &= (uint8_t)~CWR;
	/* The field contains the pseudo header's sum, of which only the length has changed. */
	be16_put(tcp + TCP_CHECK_AT,
		 checksum_fold(be16_get(tcp + TCP_CHECK_AT) + (to - from) + (0xffff - sp->payload_B)));
	iov[0] = (struct iovec){head, NL_VNET_B + sp->head_B};
	iov[1] = (struct iovec){(void *)(uintptr_t)(frame + NL_VNET_B + sp->head_B + from), to - from};
	return 2;
}
