#include "emulator/link.h"
#include "emulator/superpacket.h"
#include "fuzz.h"

/* Any run of segments is a valid frame, with as many segments and bytes. */
static void cut(const struct nl_superpacket *sp, const uint8_t *frame, uint32_t first,
		uint32_t count)
{
	static uint8_t piece[NL_FRAME_MAX_B];
	uint8_t head[NL_PIECE_HEAD_MAX_B];
	struct nl_superpacket again;
	struct iovec iov[2];
	size_t len = 0, B = 0;
	int parts = nl_superpacket_piece(sp, frame, first, count, head, iov);

	want(parts == 1 || parts == 2);
	for (int i = 0; i < parts; i++) {
		want(len + iov[i].iov_len <= sizeof(piece));
		memcpy(piece + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	want(nl_superpacket_read(&again, piece, len) == NL_SUPERPACKET_OK);
	want(again.segments == count && again.version == sp->version);
	/* the payload behind IPv6's extension headers is known for super-packets only */
	want(again.data == sp->data || sp->version == 6);
	for (uint32_t i = 0; i < count; i++) {
		want(nl_superpacket_segment_B(&again, i) == nl_superpacket_segment_B(sp, first + i));
		B += nl_superpacket_segment_B(&again, i);
	}
	want(len == NL_VNET_B + B - (count - 1) * (size_t)again.head_B);
}

/* Packets that enter a link leave it or are counted as dropped; their memory is released. */
static void forward(const uint8_t *frame, size_t len)
{
	struct nl_link_opts opts = {.rate_bps = 100000000, .queue_packets = 20, .delay_ns = 1000000,
				    .jitter_ns = 500000, .loss_ppb = NL_PPB / 4,
				    .reorder_ppb = NL_PPB / 4, .reorder_ns = 2000000};
	uint8_t head[NL_PIECE_HEAD_MAX_B];
	const struct nl_link_count *c;
	struct nl_link link;
	struct iovec iov[2];

	want(nl_link_open(&link, &opts, 1 << 20) == 0);
	c = &link.count;
	for (uint64_t i = 1; i <= 3; i++) {
		uint8_t *room = nl_link_room(&link);

		want(room != NULL);
		memcpy(room, frame, len);
		nl_link_arrive(&link, i * 50000, len);
	}
	while (nl_link_next_ns(&link) != UINT64_MAX) {
		nl_link_parts(nl_link_first(&link), head, iov);
		nl_link_sent(&link, 0);
	}
	want(c->packets == c->out_packets + c->dropped_loss + c->dropped_queue +
				   c->dropped_memory + c->dropped_malformed);
	want(link.ring.used_B == 0);
	nl_link_close(&link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_superpacket sp;

	if (len > NL_FRAME_MAX_B)
		return 0;
	forward(data, len);
	if (nl_superpacket_read(&sp, data, len) != NL_SUPERPACKET_OK)
		return 0;
	want(sp.segments > 0 && sp.ip_B == len - NL_VNET_B);
	cut(&sp, data, 0, sp.segments);
	if (sp.segments == 1)
		return 0;
	for (uint32_t i = 0; i < sp.segments && i < 40; i++)
		cut(&sp, data, i, 1);
	cut(&sp, data, sp.segments / 2, sp.segments - sp.segments / 2);
	cut(&sp, data, 0, sp.segments / 2);
	return 0;
}
