/* superpacket: frames of a TUN device with virtio headers: an IP packet, or a TCP super-packet of
 * several segments that differ in sequence number only.
 *
 *	virtio_net_hdr (10 bytes) | IP header | TCP header | payload of n segments
 *
 * A segment has gso_size bytes of payload, the last one the rest. Reading and cutting are pure
 * functions over a bounded buffer, without allocation. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	NL_VNET_B = 10,
	NL_FRAME_MAX_B = NL_VNET_B + 65536,
	NL_PIECE_HEAD_MAX_B = NL_VNET_B + 60 + 40 + 60, /* virtio, IP with options, TCP */
};

enum nl_superpacket_code {
	NL_SUPERPACKET_OK = 0,
	NL_SUPERPACKET_SHORT,    /* ends within a header */
	NL_SUPERPACKET_VERSION,  /* neither IPv4 nor IPv6 */
	NL_SUPERPACKET_LENGTH,   /* the length in the IP header differs from the bytes read */
	NL_SUPERPACKET_GSO_TYPE, /* segments of another protocol than TCP over its IP version */
	NL_SUPERPACKET_GSO_SIZE, /* segments without payload */
	NL_SUPERPACKET_CHECKSUM, /* a checksum offset outside the packet, or not TCP's */
};

struct nl_superpacket {
	uint32_t ip_B;      /* the IP packet as read */
	uint32_t head_B;    /* IP and TCP headers that every segment repeats; 0 when segments is 1 */
	uint32_t payload_B; /* after them */
	uint32_t gso_B;     /* payload of a segment; 0 when segments is 1 */
	uint32_t segments;
	uint16_t tcp_at; /* offset of the TCP header in the IP packet; of a super-packet only */
	uint8_t version; /* 4 or 6 */
	uint8_t data;    /* carries TCP or UDP payload */
	uint8_t udp;     /* of UDP */
	uint8_t flow_delay; /* 0, or 1 + the delay of its flow; the link's */
};

/* Parse frame: a virtio header and an IP packet. On failure *out is unusable. */
enum nl_superpacket_code nl_superpacket_read(struct nl_superpacket *out, const uint8_t *frame,
					     size_t len);

/* The two bits of RFC 3168 of an IP packet that was read: 0 if its sender takes no marks of congestion. */
enum { NL_ECN_CE = 3 };
unsigned int nl_superpacket_ecn(const uint8_t *frame);

/* Mark an IP packet that was read, with all its segments, as one that met congestion (CE of RFC 3168), if
 * its sender takes such marks. 1: marked now. */
int nl_superpacket_mark(uint8_t *frame);

/* A hash of the flow of an IP packet that was read: addresses, protocol and ports, those of fragments and
 * behind extension headers left out. */
uint32_t nl_superpacket_flow(const struct nl_superpacket *sp, const uint8_t *frame, uint64_t seed);

/* Hashes of the addresses of an IP packet that was read. */
void nl_superpacket_hosts(const struct nl_superpacket *sp, const uint8_t *frame, uint64_t seed, uint32_t *source,
			  uint32_t *destination);

/* Source and destination port of an IP packet of TCP that was read. 0: of another protocol, a fragment, or
 * behind extension headers. */
int nl_superpacket_tcp_ports(const struct nl_superpacket *sp, const uint8_t *frame, uint16_t port[2]);

/* Bytes of segment i as an IP packet of its own. */
uint32_t nl_superpacket_segment_B(const struct nl_superpacket *sp, uint32_t i);

/* Segments first .. first + count - 1 of frame for writev: a head built in
 * head[NL_PIECE_HEAD_MAX_B], and payload in place. A whole frame is written as it was read. Returns
 * the number of parts in iov, 1 or 2. */
int nl_superpacket_piece(const struct nl_superpacket *sp, const uint8_t *frame, uint32_t first,
			 uint32_t count, uint8_t *head, struct iovec iov[2]);
