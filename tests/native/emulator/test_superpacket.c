#include "check.h"
#include "emulator/superpacket.h"

#include <linux/virtio_net.h>
#include <netinet/in.h>

enum { IP4_B = 20, IP6_B = 40, TCP_B = 32, FIN_PSH_ACK_CWR = 0x99 };

static void put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint8_t frame[NL_FRAME_MAX_B], head[NL_PIECE_HEAD_MAX_B];
static struct nl_superpacket sp;
static struct virtio_net_hdr vnet;
static struct iovec iov[2];

static unsigned sum16(const uint8_t *p, size_t len, unsigned sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += get16(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The checksum field of a NEEDS_CSUM packet: sum of addresses, protocol, length. */
static unsigned pseudo(int version, const uint8_t *ip, unsigned tcp_and_payload_B)
{
	unsigned sum = version == 4 ? sum16(ip + 12, 8, 0) : sum16(ip + 8, 32, 0);

	sum += IPPROTO_TCP + tcp_and_payload_B;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Make the frame a TCP super-packet; returns its length. */
static size_t make(int version, unsigned gso_B, unsigned payload_B)
{
	unsigned ip_header_B = version == 4 ? IP4_B : IP6_B;
	unsigned ip_B = ip_header_B + TCP_B + payload_B;
	uint8_t *ip = frame + NL_VNET_B, *tcp = ip + ip_header_B;

	vnet = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6,
		.gso_size = (uint16_t)gso_B,
		.csum_start = (uint16_t)ip_header_B,
		.csum_offset = 16,
	};
	memset(frame, 0, NL_VNET_B + ip_header_B + TCP_B);
	memcpy(frame, &vnet, sizeof(vnet));
	if (version == 4) {
		ip[0] = 0x45;
		put16(ip + 2, ip_B);
		put16(ip + 4, 0xfffe);
		ip[8] = 64;
		ip[9] = IPPROTO_TCP;
		memcpy(ip + 12, "\306\022\0\1\306\022\0\2", 8);
		put16(ip + 10, ~sum16(ip, IP4_B, 0) & 0xffff);
	} else {
		ip[0] = 0x60;
		put16(ip + 4, ip_B - IP6_B);
		ip[6] = IPPROTO_TCP;
		ip[8] = 0x20;
		ip[23] = 1;
		ip[24] = 0x20;
		ip[39] = 2;
	}
	put16(tcp + 4, 0xffff);
	put16(tcp + 6, 0xff00);
	tcp[12] = TCP_B / 4 << 4;
	tcp[13] = FIN_PSH_ACK_CWR;
	put16(tcp + 16, pseudo(version, ip, TCP_B + payload_B));
	for (unsigned i = 0; i < payload_B; i++)
		tcp[TCP_B + i] = (uint8_t)(i * 7 + i / 256);
	return NL_VNET_B + ip_B;
}

TEST(a_mark_is_for_those_that_take_it_and_leaves_the_checksum_right)
{
	static const int taken[4] = {0, 1, 1, 0}; /* not ECT, ECT(1), ECT(0), marked before */

	for (unsigned field = 0; field < 4; field++) {
		uint8_t *ip = frame + NL_VNET_B;

		make(4, 1000, 3500);
		ip[1] = (uint8_t)(0xb8 | field);
		put16(ip + 10, 0);
		put16(ip + 10, ~sum16(ip, IP4_B, 0) & 0xffff);
		CHECK(nl_superpacket_ecn(frame) == field);
		CHECK(nl_superpacket_mark(frame) == taken[field]);
		CHECK(ip[1] == (0xb8 | (field ? 3 : 0)) && sum16(ip, IP4_B, 0) == 0xffff);
		make(6, 1000, 3500);
		ip[1] = (uint8_t)(0x8f | field << 4);
		CHECK(nl_superpacket_ecn(frame) == field);
		CHECK(nl_superpacket_mark(frame) == taken[field]);
		CHECK(ip[0] == 0x60 && ip[1] == (0x8f | (field ? 3 : 0) << 4));
	}
}

static void check_segments(int version)
{
	unsigned ip_header_B = version == 4 ? IP4_B : IP6_B, at = 0;
	size_t len = make(version, 1000, 3500);
	uint8_t *ip = head + NL_VNET_B, *tcp = ip + ip_header_B;

	CHECK(nl_superpacket_read(&sp, frame, len) == NL_SUPERPACKET_OK);
	CHECK(sp.segments == 4 && sp.gso_B == 1000 && sp.data && sp.version == version);
	for (uint32_t i = 0; i < 4; i++) {
		unsigned payload_B = i < 3 ? 1000 : 500, seq = 0xffffff00u + 1000 * i;

		CHECK(nl_superpacket_segment_B(&sp, i) == ip_header_B + TCP_B + payload_B);
		CHECK(nl_superpacket_piece(&sp, frame, i, 1, head, iov) == 2);
		CHECK(iov[0].iov_len == NL_VNET_B + ip_header_B + TCP_B);
		CHECK(iov[1].iov_len == payload_B);
		CHECK(memcmp(iov[1].iov_base, frame + iov[0].iov_len + at, payload_B) == 0);
		memcpy(&vnet, head, sizeof(vnet));
		CHECK(vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE && vnet.gso_size == 0);
		CHECK(vnet.flags == VIRTIO_NET_HDR_F_NEEDS_CSUM && vnet.csum_start == ip_header_B);
		if (version == 4) {
			CHECK(get16(ip + 2) == IP4_B + TCP_B + payload_B);
			CHECK(get16(ip + 4) == ((0xfffe + i) & 0xffff));
			CHECK(sum16(ip, IP4_B, 0) == 0xffff);
		} else {
			CHECK(get16(ip + 4) == TCP_B + payload_B);
		}
		CHECK((get16(tcp + 4) << 16 | get16(tcp + 6)) == seq);
		CHECK(get16(tcp + 16) == pseudo(version, ip, TCP_B + payload_B));
		/* FIN and PSH belong to the last segment, CWR to the first */
		CHECK(tcp[13] == (i == 0 ? 0x90 : i == 3 ? 0x19 : 0x10));
		at += payload_B;
	}
	CHECK(at == 3500);
}

TEST(each_segment_is_a_packet_of_its_own)
{
	check_segments(4);
	check_segments(6);
}

TEST(adjacent_segments_stay_a_superpacket)
{
	size_t len = make(4, 1000, 3500);

	CHECK(nl_superpacket_read(&sp, frame, len) == NL_SUPERPACKET_OK);
	CHECK(nl_superpacket_piece(&sp, frame, 1, 3, head, iov) == 2);
	CHECK(iov[1].iov_len == 2500);
	memcpy(&vnet, head, sizeof(vnet));
	CHECK(vnet.gso_type == VIRTIO_NET_HDR_GSO_TCPV4 && vnet.gso_size == 1000);
	CHECK(nl_superpacket_piece(&sp, frame, 0, 4, head, iov) == 1);
	CHECK(iov[0].iov_base == frame && iov[0].iov_len == len);
}

TEST(a_plain_packet_counts_once)
{
	const size_t len = NL_VNET_B + IP4_B + TCP_B + 10;

	CHECK(make(4, 1000, 10) == len);
	frame[1] = VIRTIO_NET_HDR_GSO_NONE;
	CHECK(nl_superpacket_read(&sp, frame, len) == NL_SUPERPACKET_OK);
	CHECK(sp.segments == 1 && sp.data && nl_superpacket_segment_B(&sp, 0) == IP4_B + TCP_B + 10);
	/* an acknowledgement has no data */
	CHECK(make(4, 1000, 0) == len - 10);
	frame[1] = VIRTIO_NET_HDR_GSO_NONE;
	CHECK(nl_superpacket_read(&sp, frame, len - 10) == NL_SUPERPACKET_OK);
	CHECK(sp.segments == 1 && !sp.data);
}

TEST(every_truncated_or_wrong_header_is_rejected)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum nl_superpacket_code code;
	} changed[] = {
		{NL_VNET_B, 0x55, NL_SUPERPACKET_VERSION},
		{1, VIRTIO_NET_HDR_GSO_TCPV6, NL_SUPERPACKET_GSO_TYPE},
		{7, 0xff, NL_SUPERPACKET_CHECKSUM}, /* csum_start */
		{8, 200, NL_SUPERPACKET_CHECKSUM},  /* csum_offset: in the payload */
		{6, 24, NL_SUPERPACKET_GSO_TYPE},   /* csum_start: after the TCP header's first bytes */
		{NL_VNET_B + 9, IPPROTO_UDP, NL_SUPERPACKET_GSO_TYPE},
	};
	size_t len;

	for (int version = 4; version <= 6; version += 2) {
		len = make(version, 1000, 3500);
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *exact = malloc(cut ? cut : 1); /* exact length, for the sanitizer */

			CHECK(exact);
			memcpy(exact, frame, cut);
			CHECK(nl_superpacket_read(&sp, exact, cut) != NL_SUPERPACKET_OK);
			free(exact);
		}
	}
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		len = make(4, 1000, 3500);
		frame[changed[i].at] = changed[i].value;
		CHECK(nl_superpacket_read(&sp, frame, len) == changed[i].code);
	}
	len = make(4, 0, 3500);
	CHECK(nl_superpacket_read(&sp, frame, len) == NL_SUPERPACKET_GSO_SIZE);
	len = make(4, 1000, 3500);
	frame[NL_VNET_B + IP4_B + 12] = 0xf0;
	CHECK(nl_superpacket_read(&sp, frame, len) == NL_SUPERPACKET_OK && sp.head_B == 80);
	frame[NL_VNET_B + IP4_B + 12] = 0x40;
	CHECK(nl_superpacket_read(&sp, frame, len) == NL_SUPERPACKET_SHORT);
}
