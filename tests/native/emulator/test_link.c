#include "check.h"
#include "emulator/link.h"

#include <linux/virtio_net.h>
#include <netinet/in.h>

#define MS UINT64_C(1000000)

enum { HEAD_B = 40, MTU_B = 1500, GSO_B = MTU_B - HEAD_B };

static void put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* A TCP packet of n full segments; its sequence number is that of its first byte. */
static size_t make(uint8_t *frame, unsigned n, uint32_t number)
{
	unsigned ip_B = HEAD_B + n * GSO_B;
	uint8_t *ip = frame + NL_VNET_B;
	struct virtio_net_hdr vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
				      .gso_type = n > 1 ? VIRTIO_NET_HDR_GSO_TCPV4 : 0,
				      .gso_size = n > 1 ? GSO_B : 0,
				      .csum_start = 20,
				      .csum_offset = 16};

	memset(frame, 0, NL_VNET_B + ip_B);
	memcpy(frame, &vnet, sizeof(vnet));
	ip[0] = 0x45;
	put16(ip + 2, ip_B);
	ip[9] = IPPROTO_TCP;
	put16(ip + 24, number >> 16);
	put16(ip + 26, number);
	ip[32] = 0x50;
	return NL_VNET_B + ip_B;
}

static struct nl_link link;
static uint32_t seq;     /* of the piece taken last */
static unsigned ecn;     /* the same */
static size_t payload_B; /* the same */

static void arrive(uint64_t now_ns, unsigned n, uint32_t number)
{
	uint8_t *room = nl_link_room(&link);

	CHECK(room);
	nl_link_arrive(&link, now_ns, make(room, n, number));
}

/* The same from a sender that takes marks of congestion. */
static void arrive_marking(uint64_t now_ns, unsigned n, uint32_t number)
{
	uint8_t *room = nl_link_room(&link);
	size_t len = make(room, n, number);

	room[NL_VNET_B + 1] = 2;
	nl_link_arrive(&link, now_ns, len);
}

/* Remove the first piece; returns its due time. */
static uint64_t take(void)
{
	uint64_t due_ns = nl_link_next_ns(&link);
	uint8_t head[NL_PIECE_HEAD_MAX_B];
	const uint8_t *ip;
	struct iovec iov[2];
	size_t total_B = 0;
	int parts;

	CHECK(due_ns != UINT64_MAX);
	parts = nl_link_parts(nl_link_first(&link), head, iov);
	for (int i = 0; i < parts; i++)
		total_B += iov[i].iov_len;
	ip = (const uint8_t *)iov[0].iov_base + NL_VNET_B;
	ecn = ip[1] & 3;
	seq = (uint32_t)ip[24] << 24 | (uint32_t)ip[25] << 16 | (uint32_t)ip[26] << 8 | ip[27];
	payload_B = total_B - NL_VNET_B - HEAD_B;
	nl_link_sent(&link, 0);
	return due_ns;
}

static void opened(const struct nl_link_opts *opts)
{
	CHECK(nl_link_open(&link, opts, nl_link_memory_B(opts)) == 0);
}

static void closed(void)
{
	nl_link_close(&link);
}

#define LINK(function) TEST_WITH(function, NULL, closed)

LINK(packets_leave_at_the_rate_after_the_delay)
{
	/* 1514 bytes on the link at 1 Gb/s are 12,112 ns */
	uint64_t bytes, packets, due_ns = 0;
	uint32_t expected = 0;

	opened(&(struct nl_link_opts){.rate_bps = 1000000000, .overhead_B = NL_LINK_OVERHEAD_B, .delay_ns = 5 * MS});
	arrive(MS, 1, 0);
	arrive(MS, 43, GSO_B);
	nl_link_queue(&link, MS, &bytes, &packets);
	CHECK(bytes == 44 * 1514 && packets == 44);
	nl_link_queue(&link, MS + 2 * 12112, &bytes, &packets);
	CHECK(bytes == 42 * 1514 && packets == 42);
	nl_link_queue(&link, MS + 2 * 12112 + 1, &bytes, &packets);
	CHECK(packets == 42);
	CHECK(take() == MS + 12112 + 5 * MS && seq == 0);
	while (nl_link_next_ns(&link) != UINT64_MAX) {
		expected += (uint32_t)payload_B;
		due_ns = take();
		CHECK(seq == expected);
		/* a piece is due at the end of its last packet, and is no longer than this */
		CHECK(due_ns == MS + (seq + payload_B) / GSO_B * 12112 + 5 * MS);
		CHECK(payload_B / GSO_B * 12112 < NL_LINK_PIECE_NS + 12112);
	}
	CHECK(due_ns == MS + 44 * 12112 + 5 * MS);
	CHECK(link.count.out_packets == 44 && link.count.out_bytes == 44 * MTU_B);
	CHECK(link.count.reads == 2 && link.count.packets == 44 && link.count.bytes == 44 * MTU_B);
	CHECK(link.ring.used_B == 0);
}

LINK(the_rate_loses_nothing_to_rounding)
{
	uint64_t due_ns = 0, packets = 44 * 20000;

	opened(&(struct nl_link_opts){.rate_bps = 7000000001, .overhead_B = NL_LINK_OVERHEAD_B});
	for (int i = 0; i < 20000; i++) {
		arrive(MS, 44, 0);
		while (nl_link_next_ns(&link) != UINT64_MAX)
			due_ns = take();
	}
	CHECK(due_ns - MS == packets * 1514 * 8 * 1000000000 / 7000000001);
}

TEST(the_tail_is_dropped_at_the_queue_limit)
{
	struct nl_link_opts in_packets = {.rate_bps = 100000000, .queue_packets = 50};
	struct nl_link_opts in_bytes = {.rate_bps = 100000000, .queue_B = 50 * MTU_B + MTU_B - 1};
	struct nl_link_opts *const limits[] = {&in_packets, &in_bytes};
	uint64_t bytes, packets;

	for (int i = 0; i < 2; i++) {
		opened(limits[i]);
		arrive(MS, 44, 0);
		CHECK(link.count.dropped_queue == 0);
		arrive(MS, 44, 0);
		CHECK(link.count.dropped_queue == 38);
		nl_link_queue(&link, MS, &bytes, &packets);
		CHECK(packets == 50 && bytes == 50 * MTU_B);
		CHECK(link.count.max_queue_packets == 50 && link.count.max_queue_B == 50 * MTU_B);
		/* 120 us per packet: after one there is room for one */
		arrive(MS + 120000, 2, 0);
		CHECK(link.count.dropped_queue == 39);
		nl_link_close(&link);
	}
}

LINK(packets_that_meet_a_long_queue_are_marked)
{
	opened(&(struct nl_link_opts){.rate_bps = 100000000, .queue_packets = 50, .mark_above_B = 4 * MTU_B});
	arrive(MS, 4, 0);
	arrive(MS, 1, 0); /* meets no more than may be queued */
	arrive(MS, 44, 0); /* of a sender that takes no marks */
	CHECK(link.count.marked == 0);
	arrive_marking(MS, 4, 0);
	CHECK(link.count.marked == 1 && link.count.dropped_queue == 3);
}

LINK(a_full_bucket_passes_at_once_and_the_rest_leaves_at_the_rate)
{
	uint64_t bytes, packets, due_ns = 0;

	opened(&(struct nl_link_opts){.rate_bps = 100000000, .burst_B = 10 * MTU_B});
	arrive(MS, 44, 0);
	nl_link_queue(&link, MS, &bytes, &packets);
	CHECK(bytes == 34 * MTU_B && packets == 34);
	CHECK(take() == MS && payload_B == 10 * GSO_B);
	while (nl_link_next_ns(&link) != UINT64_MAX)
		due_ns = take();
	CHECK(due_ns == MS + 34 * 120000);
	/* 5 packets of tokens after 600 us without any */
	arrive(due_ns + 600000, 10, 0);
	CHECK(take() == due_ns + 600000 && payload_B == 5 * GSO_B);
	nl_link_queue(&link, due_ns + 600000, &bytes, &packets);
	CHECK(packets == 5 && link.count.dropped_queue == 0);
}

LINK(what_a_bucket_lets_pass_does_not_count_for_the_limit_of_the_queue)
{
	opened(&(struct nl_link_opts){.rate_bps = 100000000, .burst_B = 10 * MTU_B, .queue_packets = 5});
	arrive(MS, 44, 0);
	CHECK(link.count.dropped_queue == 29);
	nl_link_close(&link);
	opened(&(struct nl_link_opts){.rate_bps = 100000000, .burst_B = 10 * MTU_B, .queue_B = 5 * MTU_B});
	arrive(MS, 44, 0);
	CHECK(link.count.dropped_queue == 29 && link.count.max_queue_B == 5 * MTU_B);
}

LINK(a_policer_passes_its_rate_and_one_bucket_and_queues_nothing)
{
	const uint64_t bucket = 20, seconds = 10;
	uint64_t passed = 0, now_ns = MS;

	opened(&(struct nl_link_opts){.rate_bps = 12000000, .burst_B = bucket * MTU_B, .policer = 1});
	/* twice the rate of 1000 packets a second */
	for (; now_ns < MS + seconds * 1000 * MS; now_ns += MS / 2) {
		uint64_t bytes, packets;

		arrive(now_ns, 1, 0);
		nl_link_queue(&link, now_ns, &bytes, &packets);
		CHECK(bytes == 0 && packets == 0);
		while (nl_link_next_ns(&link) != UINT64_MAX) {
			CHECK(take() == now_ns);
			passed++;
		}
	}
	CHECK(passed <= bucket + seconds * 1000 && passed >= bucket + seconds * 1000 - 1);
	CHECK(link.count.dropped_policer == link.count.packets - passed && link.count.dropped_queue == 0);
}

static struct nl_trace trace_of(uint32_t *ms, uint64_t count)
{
	return (struct nl_trace){.ms = ms, .count = count};
}

LINK(a_trace_lets_a_packet_pass_at_each_opportunity_and_begins_anew)
{
	uint32_t ms[] = {0, 2, 2, 10};
	struct nl_trace trace = trace_of(ms, 4);
	/* the arrival is at 5 ms: opportunities are at 10, 10 (again 0), 12, 12, 20, 20, ... */
	const uint64_t due_ms[] = {10, 10, 12, 12, 20, 20, 22, 22};
	uint64_t bytes, packets;

	opened(&(struct nl_link_opts){.rate_bps = 1000000, .overhead_B = NL_LINK_OVERHEAD_B, .delay_ns = 3 * MS,
				      .trace = &trace});
	nl_link_begin_trace(&link, 7 * MS);
	arrive(12 * MS, 8, 0);
	nl_link_queue(&link, 12 * MS, &bytes, &packets);
	CHECK(bytes == 8 * 1514 && packets == 8);
	nl_link_queue(&link, 19 * MS, &bytes, &packets);
	CHECK(bytes == 4 * 1514 && packets == 4);
	for (uint32_t i = 0; i < 8; i += (uint32_t)(payload_B / GSO_B)) {
		CHECK(take() == (7 + due_ms[i] + 3) * MS && seq == i * GSO_B);
		CHECK(due_ms[i] == due_ms[i + payload_B / GSO_B - 1]);
	}
	CHECK(nl_link_next_ns(&link) == UINT64_MAX && link.ring.used_B == 0);
	/* those of a time without packets are lost, and an arrival meets the next one */
	arrive(107 * MS + 1, 2, 0);
	CHECK(take() == 112 * MS && take() == 112 * MS);
}

LINK(an_opportunity_carries_the_bytes_of_a_frame_of_small_packets_and_parts_of_large_ones)
{
	uint32_t ms[] = {1};
	struct nl_trace trace = trace_of(ms, 1);
	uint64_t due_ns = 0;

	/* 1514 bytes on the link each ms; a packet has 1500 and these */
	opened(&(struct nl_link_opts){.rate_bps = 1000000, .overhead_B = 257, .trace = &trace});
	nl_link_begin_trace(&link, 0);
	for (uint32_t i = 0; i < 40; i++)
		arrive(1, 1, i);
	for (uint32_t i = 0; i < 40; i++)
		due_ns = take();
	/* 40 * 1757 bytes take 46.4 opportunities */
	CHECK(due_ns == 47 * MS);
	nl_link_close(&link);
	opened(&(struct nl_link_opts){.rate_bps = 1000000, .queue_packets = 5, .trace = &trace});
	nl_link_begin_trace(&link, 0);
	arrive(1, 9, 0);
	CHECK(link.count.dropped_queue == 4);
	nl_link_close(&link);
	opened(&(struct nl_link_opts){.rate_bps = 1000000, .queue_B = 5 * MTU_B, .trace = &trace});
	nl_link_begin_trace(&link, 0);
	arrive(1, 9, 0);
	CHECK(link.count.dropped_queue == 4 && link.count.max_queue_B == 5 * MTU_B);
}

LINK(a_discipline_is_served_by_the_opportunities_of_a_trace)
{
	uint32_t ms[] = {4, 4, 10};
	struct nl_trace trace = trace_of(ms, 3);
	uint64_t now_ns = 0, taken = 0;

	opened(&(struct nl_link_opts){.rate_bps = 1000000, .overhead_B = NL_LINK_OVERHEAD_B, .discipline = NL_FIFO,
				      .queue_packets = 100, .trace = &trace});
	nl_link_begin_trace(&link, 0);
	arrive(0, 30, 0);
	for (; now_ns <= 100 * MS; now_ns += MS / 10) {
		nl_link_serve(&link, now_ns);
		while (nl_link_first(&link) && nl_link_first(&link)->depart_ns <= now_ns) {
			uint64_t due_ms = take() / MS;

			CHECK(due_ms % 10 == 4 || due_ms % 10 == 0);
			taken += payload_B / GSO_B;
		}
		CHECK(taken <= now_ns / MS / 10 * 3 + 2);
	}
	CHECK(taken == 30 && link.ring.used_B == 0);
}

LINK(a_discipline_serves_at_the_rate_and_holds_no_memory_of_what_it_drops)
{
	const uint64_t disciplines[] = {NL_FIFO, NL_CODEL, NL_FQ_CODEL, NL_PIE, NL_CAKE};

	for (size_t d = 0; d < sizeof(disciplines) / sizeof(disciplines[0]); d++) {
		uint64_t now_ns = MS, due_ns, before_ns = 0, pieces_B = 0, end_ns = 2000 * MS;

		/* a packet takes 120 us; a super-packet of 10 comes each ms, and is 1.2 ms */
		opened(&(struct nl_link_opts){.rate_bps = 100000000, .delay_ns = 5 * MS, .queue_packets = 200,
					      .discipline = disciplines[d], .target_ns = 5 * MS,
					      .interval_ns = 100 * MS});
		for (; now_ns < end_ns; now_ns += MS) {
			nl_link_serve(&link, now_ns);
			while (nl_link_first(&link) && nl_link_first(&link)->depart_ns <= now_ns) {
				due_ns = take();
				CHECK(due_ns >= before_ns && due_ns >= 5 * MS);
				before_ns = due_ns;
				pieces_B += payload_B;
			}
			arrive(now_ns, 10, 0);
			/* it is asked again before anything is due */
			CHECK(nl_link_next_ns(&link) > now_ns);
		}
		/* never idle: as much left as the rate takes from the first arrival on, less what is on its way */
		CHECK(pieces_B / GSO_B <= (end_ns - 6 * MS) / 120000 + 1);
		CHECK(pieces_B / GSO_B + 10 >= (end_ns - 8 * MS) / 120000);
		CHECK(link.count.dropped_queue + link.count.dropped_early > 1000);
		while (nl_link_next_ns(&link) != UINT64_MAX) {
			now_ns += MS;
			nl_link_serve(&link, now_ns);
			while (nl_link_first(&link) && nl_link_first(&link)->depart_ns <= now_ns)
				take();
		}
		CHECK(link.count.packets == link.count.out_packets + nl_link_dropped(&link));
		CHECK(link.ring.used_B == 0 && link.unsent_packets == 0);
		nl_link_close(&link);
	}
	opened(&(struct nl_link_opts){.rate_bps = 1000000});
}

LINK(a_discipline_marks_single_segments_of_a_super_packet)
{
	/* a packet takes 1 ms, and a super-packet of 10 comes each 9 ms, so that CoDel meets more than its target */
	uint64_t segments[2] = {0}, now_ns = MS, end_ns = 3000 * MS, next_ns = MS;

	opened(&(struct nl_link_opts){.rate_bps = 12000000, .queue_packets = 1000, .discipline = NL_CODEL,
				      .target_ns = 5 * MS, .interval_ns = 100 * MS, .ecn = 1});
	for (; now_ns < end_ns || nl_link_next_ns(&link) != UINT64_MAX; now_ns += MS / 2) {
		nl_link_serve(&link, now_ns);
		while (nl_link_first(&link) && nl_link_first(&link)->depart_ns <= now_ns) {
			take();
			CHECK(ecn == 2 || ecn == 3);
			segments[ecn == 3] += payload_B / GSO_B;
		}
		if (now_ns >= next_ns && now_ns < end_ns) {
			arrive_marking(now_ns, 10, 0);
			next_ns += 9 * MS;
		}
	}
	CHECK(nl_link_dropped(&link) == 0 && link.ring.used_B == 0);
	/* as many as were counted left marked, and no neighbour of theirs */
	CHECK(segments[1] == link.count.marked && segments[1] > 20);
	CHECK(segments[0] + segments[1] == link.count.packets && segments[0] > 10 * segments[1]);
}

LINK(what_another_link_has_marked_is_no_new_mark)
{
	opened(&(struct nl_link_opts){.rate_bps = 12000000, .queue_packets = 1000, .discipline = NL_CODEL,
				      .target_ns = 5 * MS, .interval_ns = 100 * MS, .ecn = 1});
	for (int i = 0; i < 1000; i++) {
		uint8_t *room = nl_link_room(&link);
		size_t len = make(room, 1, 0);

		room[NL_VNET_B + 1] = 3;
		nl_link_arrive(&link, MS + (uint64_t)i * MS / 2, len);
	}
	nl_link_serve(&link, 2000 * MS);
	while (nl_link_next_ns(&link) != UINT64_MAX) {
		take();
		CHECK(ecn == 3);
	}
	CHECK(link.count.marked == 0 && nl_link_dropped(&link) == 0 && link.count.out_packets == 1000);
}

static uint64_t lost_of(uint64_t seed, uint64_t jitter_ns, uint64_t *first_lost)
{
	uint32_t expected = 0;
	uint64_t lost;

	opened(&(struct nl_link_opts){.loss_ppb = 10000000, .seed = seed, .jitter_ns = jitter_ns});
	*first_lost = UINT64_MAX;
	for (uint32_t i = 0; i < 2500; i++) {
		arrive(MS, 40, i * 40 * GSO_B);
		while (nl_link_next_ns(&link) != UINT64_MAX) {
			take();
			if (seq != expected && *first_lost == UINT64_MAX)
				*first_lost = expected / GSO_B;
			CHECK(seq - expected < UINT32_MAX / 2);
			expected = seq + (uint32_t)payload_B;
		}
	}
	lost = link.count.dropped_loss;
	CHECK(link.count.packets == 100000 && link.count.out_packets == 100000 - lost);
	CHECK(link.ring.used_B == 0);
	nl_link_close(&link);
	return lost;
}

TEST(loss_has_its_probability_and_is_reproducible)
{
	uint64_t first, again, other;
	uint64_t lost = lost_of(1, 0, &first);

	/* 1 % of 100,000: 1000, standard deviation 31.5 */
	CHECK(lost > 1000 - 4 * 32 && lost < 1000 + 4 * 32);
	CHECK(lost_of(1, 0, &again) == lost && again == first);
	CHECK(lost_of(1, 1000, &again) == lost && again == first);
	lost_of(2, 0, &other);
	CHECK(other != first);
}

/* Loss and mean length of a run of losses, of a million packets. */
static void lose(const struct nl_link_opts *opts, double *loss, double *burst)
{
	const uint32_t packets = 1000000;
	uint64_t before = 0, lost, bursts = 0;
	int in_burst = 0;

	opened(opts);
	for (uint32_t i = 0; i < packets; i++) {
		arrive(MS, 1, i);
		lost = link.count.dropped_loss;
		bursts += lost > before && !in_burst;
		in_burst = lost > before;
		before = lost;
		while (nl_link_next_ns(&link) != UINT64_MAX)
			take();
	}
	*loss = (double)before / packets;
	*burst = bursts ? (double)before / (double)bursts : 0;
	nl_link_close(&link);
}

TEST(losses_come_in_bursts_of_their_mean_length_and_mean_loss)
{
	/* the bad state lasts 1 / r packets, and has p / (p + r) of them */
	struct nl_link_opts gilbert = {.enter_bad_ppb = 2500000, .leave_bad_ppb = 125000000,
				       .bad_loss_ppb = NL_PPB, .seed = 5};
	struct nl_link_opts elliott = {.enter_bad_ppb = 10000000, .leave_bad_ppb = 100000000, .loss_ppb = 1000000,
				       .bad_loss_ppb = 500000000, .seed = 6};
	double loss, burst;

	lose(&gilbert, &loss, &burst);
	/* 2,450 bursts: standard deviation of loss 3 %, of the mean length 2 % */
	CHECK(loss > 0.0196 * 0.9 && loss < 0.0196 * 1.1);
	CHECK(burst > 8 * 0.92 && burst < 8 * 1.08);
	lose(&elliott, &loss, &burst);
	CHECK(loss > 0.0464 * 0.92 && loss < 0.0464 * 1.08);
	/* independent losses of that probability have runs of 1.05 */
	lose(&(struct nl_link_opts){.loss_ppb = 46400000, .seed = 6}, &loss, &burst);
	CHECK(burst < 1.07);
}

LINK(jitter_stays_in_bounds_and_keeps_the_order)
{
	uint64_t due_ns, before_ns = 0, least = UINT64_MAX, most = 0, now_ns;

	opened(&(struct nl_link_opts){.delay_ns = 10 * MS, .jitter_ns = 2 * MS, .seed = 3});
	for (uint32_t i = 0; i < 2000; i++)
		arrive((uint64_t)i * 100000, 1, i);
	for (uint32_t i = 0; i < 2000; i++) {
		now_ns = (uint64_t)i * 100000;
		due_ns = take();
		CHECK(seq == i && due_ns >= before_ns);
		CHECK(due_ns >= now_ns + 8 * MS && due_ns <= now_ns + 12 * MS);
		least = due_ns - now_ns < least ? due_ns - now_ns : least;
		most = due_ns - now_ns > most ? due_ns - now_ns : most;
		before_ns = due_ns;
	}
	CHECK(most > 11900000 && least < 11 * MS);
}

LINK(reordered_packets_are_overtaken)
{
	uint64_t overtaken = 0, before_ns = 0, due_ns;
	uint32_t highest = 0;

	opened(&(struct nl_link_opts){.delay_ns = MS, .reorder_ppb = 100000000, .reorder_ns = 500000, .seed = 4});
	for (uint32_t i = 0; i < 1000; i++)
		arrive((uint64_t)i * 10000, 1, i);
	for (uint32_t i = 0; i < 1000; i++) {
		due_ns = take();
		CHECK(due_ns >= before_ns);
		before_ns = due_ns;
		if (seq < highest)
			overtaken++;
		else
			highest = seq;
	}
	CHECK(link.count.reordered > 60 && link.count.reordered < 140);
	CHECK(overtaken > link.count.reordered - 5 && overtaken <= link.count.reordered);
	CHECK(link.count.out_packets == 1000 && link.ring.used_B == 0);
}

LINK(a_forced_drop_takes_one_data_packet)
{
	opened(&(struct nl_link_opts){.delay_ns = MS});
	nl_drop_plan_numbers(&link.drop_plan, (uint64_t[]){5}, 1);
	arrive(0, 10, 0);
	CHECK(link.count.dropped_forced == 1);
	take();
	CHECK(seq == 0 && payload_B == 4 * GSO_B);
	take();
	CHECK(seq == 5 * GSO_B && payload_B == 5 * GSO_B);
	arrive(MS, 40, 0);
	CHECK(link.count.dropped_forced == 1);
}

LINK(each_number_of_a_drop_plan_is_dropped_once)
{
	static const uint64_t first[] = {1, 2, 20}, second[] = {3};
	opened(&(struct nl_link_opts){.delay_ns = MS});
	nl_drop_plan_numbers(&link.drop_plan, first, 3);
	arrive(0, 10, 0);
	take();
	CHECK(seq == 2 * GSO_B && payload_B == 8 * GSO_B);
	arrive(0, 9, 0);
	CHECK(link.count.dropped_forced == 2);
	arrive(7, 1, 0);
	CHECK(link.count.dropped_forced == 3 && link.drop_plan.last_ns == 7);
	/* a new plan counts from its own start and replaces the old one */
	nl_drop_plan_numbers(&link.drop_plan, first, 3);
	nl_drop_plan_numbers(&link.drop_plan, second, 1);
	arrive(0, 2, 0);
	CHECK(link.count.dropped_forced == 3);
	arrive(0, 30, 0);
	CHECK(link.count.dropped_forced == 4);
}

LINK(a_moment_is_counted_from_the_first_data_packet)
{
	opened(&(struct nl_link_opts){.delay_ns = MS});
	nl_drop_plan_moment(&link.drop_plan, 10 * MS);
	arrive(100 * MS, 2, 0);
	arrive(109 * MS, 2, 0);
	CHECK(link.count.dropped_forced == 0);
	arrive(111 * MS, 3, 0);
	arrive(112 * MS, 3, 0);
	CHECK(link.count.dropped_forced == 1 && link.drop_plan.last_ns == 111 * MS);
}

/* A packet of a flow by its ports. */
static void arrive_of(uint64_t now_ns, unsigned from, unsigned to, uint32_t number)
{
	uint8_t *room = nl_link_room(&link);
	size_t len = make(room, 1, number);

	put16(room + NL_VNET_B + 20, from);
	put16(room + NL_VNET_B + 22, to);
	nl_link_arrive(&link, now_ns, len);
}

static const struct nl_link_opts two_round_trips = {
	.rate_bps = 1000000000, .overhead_B = NL_LINK_OVERHEAD_B, .delay_ns = MS, .flows = 2,
	.flow = {{100, 199, 5 * MS}, {200, 299, 25 * MS}},
};

LINK(flows_have_delays_of_their_own_behind_one_rate)
{
	const uint64_t one_ns = 12112;

	opened(&two_round_trips);
	arrive_of(0, 200, 7, 1);
	arrive_of(0, 7, 199, 2); /* as its answers: the port of the other end */
	arrive_of(0, 7, 300, 3); /* of neither */
	arrive_of(0, 299, 7, 4);
	CHECK(take() == 3 * one_ns + MS && seq == 3);
	CHECK(take() == 2 * one_ns + 5 * MS && seq == 2);
	CHECK(take() == one_ns + 25 * MS && seq == 1);
	CHECK(take() == 4 * one_ns + 25 * MS && seq == 4);
	CHECK(nl_link_next_ns(&link) == UINT64_MAX && link.ring.used_B == 0);
}

LINK(flows_behind_a_discipline_have_their_delays)
{
	struct nl_link_opts opts = two_round_trips;

	opts.discipline = NL_FQ_CODEL;
	opts.target_ns = 5 * MS;
	opts.interval_ns = 100 * MS;
	opened(&opts);
	arrive_of(0, 200, 7, 1);
	arrive_of(0, 100, 7, 2);
	nl_link_serve(&link, 2 * MS);
	CHECK(take() == 2 * 12112 + 5 * MS && seq == 2);
	CHECK(take() == 12112 + 25 * MS && seq == 1);
	CHECK(link.ring.used_B == 0);
}

LINK(packets_on_their_way_keep_their_delay_when_flows_change)
{
	struct nl_link_opts opts = two_round_trips;

	opened(&opts);
	arrive_of(0, 200, 7, 1);
	opts.flows = 0;
	nl_link_set(&link, &opts);
	arrive_of(0, 200, 7, 2);
	CHECK(take() == 2 * 12112 + MS && seq == 2);
	CHECK(take() == 12112 + 25 * MS && seq == 1);
	CHECK(link.ring.used_B == 0);
}

LINK(datagrams_have_the_delay_of_the_link)
{
	uint8_t *room;
	size_t len;

	opened(&two_round_trips);
	room = nl_link_room(&link);
	len = make(room, 1, 1);
	room[NL_VNET_B + 9] = IPPROTO_UDP;
	put16(room + NL_VNET_B + 20, 200);
	nl_link_arrive(&link, 0, len);
	CHECK(take() == 12112 + MS);
}

LINK(memory_is_bounded_and_overflow_is_counted)
{
	static uint8_t spare[NL_FRAME_MAX_B];
	struct nl_link_opts opts = {.delay_ns = 100 * MS};
	uint64_t arrived = 0, sent = 0, frames = 0;
	uint32_t expected = 0;

	CHECK(nl_link_open(&link, &opts, 1 << 20) == 0);
	for (uint64_t now_ns = 0; now_ns < 2000 * MS; now_ns += MS) {
		unsigned n = 1 + (unsigned)(now_ns / MS * 7 % 44);
		uint8_t *room = nl_link_room(&link);

		while (nl_link_next_ns(&link) <= now_ns) {
			take();
			CHECK(seq >= expected);
			expected = seq + 1;
			sent++;
		}
		room = nl_link_room(&link);
		frames++;
		if (room) {
			nl_link_arrive(&link, now_ns, make(room, n, (uint32_t)frames));
			arrived++;
		} else {
			nl_link_overflow(&link, spare, make(spare, n, (uint32_t)frames));
		}
		CHECK(link.ring.used_B <= 1 << 20);
	}
	CHECK(arrived < frames && link.count.dropped_memory > 0 && link.count.reads == frames);
	while (nl_link_next_ns(&link) != UINT64_MAX) {
		take();
		sent++;
	}
	CHECK(sent == arrived && link.ring.used_B == 0);
	CHECK(link.count.packets == link.count.out_packets + link.count.dropped_memory);
}

TEST(the_default_memory_fits_the_packets_in_flight)
{
	struct nl_link_opts fat = {.rate_bps = 5000000000, .delay_ns = 183 * MS};
	struct nl_link_opts absurd = {.rate_bps = 1000000000000, .delay_ns = 10000 * MS};

	CHECK(nl_link_memory_B(&fat) > 2 * 114000000 && nl_link_memory_B(&fat) < 300000000);
	CHECK(nl_link_memory_B(&absurd) == NL_LINK_MEMORY_MAX_B);
	fat.delay_ns = 0;
	fat.flow_delay_max_ns = 183 * MS;
	CHECK(nl_link_memory_B(&fat) > 2 * 114000000);
}
