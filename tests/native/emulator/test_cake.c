#include "check.h"
#include "emulator/aqm.h"

#define MS UINT64_C(1000000)

enum { PACKET_B = 1500, FLOWS_MAX = 16 };

static struct nl_aqm queue;
static uint64_t now_ns, waited_ns[FLOWS_MAX]; /* the longest of each flow */
static uint32_t drops[FLOWS_MAX], early, left[FLOWS_MAX];

static void dropped(void *context, const struct nl_aqm_packet *packet, enum nl_aqm_drop why)
{
	(void)context;
	drops[packet->segment]++;
	early += why == NL_DROP_EARLY;
}

/* CAKE at 12 Mb/s, at which a packet takes a ms. */
static void opened(uint64_t limit_packets)
{
	const struct nl_aqm_opts opts = {.discipline = NL_CAKE, .target_ns = 5 * MS, .interval_ns = 100 * MS,
					 .rate_bps = 12000000, .limit_packets = limit_packets, .seed = 3, .ecn = 1};

	CHECK(nl_aqm_init(&queue, &opts, dropped, NULL) == 0);
	now_ns = MS;
	early = 0;
	memset(drops, 0, sizeof(drops));
	memset(left, 0, sizeof(left));
	memset(waited_ns, 0, sizeof(waited_ns));
}

static void closed(void)
{
	nl_aqm_free(&queue);
}

#define QUEUE(function) TEST_WITH(function, NULL, closed)

/* segment: a number of the test for the flow, beside its hash */
static void put(uint32_t number, uint32_t hash, uint32_t source, uint32_t destination)
{
	struct nl_aqm_packet packet = {.arrived_ns = now_ns, .weight_B = PACKET_B, .segment = number, .flow = hash,
				       .source = source, .destination = destination};

	nl_aqm_put(&queue, &packet, now_ns);
}

/* A packet leaves; the number of its flow. */
static uint32_t take(void)
{
	struct nl_aqm_packet packet;

	CHECK(nl_aqm_take(&queue, &packet, now_ns));
	left[packet.segment]++;
	if (now_ns - packet.arrived_ns > waited_ns[packet.segment])
		waited_ns[packet.segment] = now_ns - packet.arrived_ns;
	return packet.segment;
}

static int near(uint64_t value, uint64_t expected, uint64_t within)
{
	return value + within >= expected && value <= expected + within;
}

QUEUE(unequal_flows_have_equal_parts_and_a_sparse_one_goes_first)
{
	opened(1000);
	for (int ms = 0; ms < 20000; ms++, now_ns += MS) {
		for (int i = 0; i < 3; i++)
			put(0, 100, 1, 2);
		put(1, 200, 1, 2);
		if (ms % 10 == 0)
			put(2, 300, 1, 2);
		take();
		CHECK(queue.flows.packets <= 1000);
	}
	/* the sparse one waits for no more than a packet of each of the others */
	CHECK(drops[2] == 0 && left[2] >= 1999 && waited_ns[2] <= 2 * MS);
	CHECK(near(left[0], 9000, 90) && near(left[1], 9000, 90));
	CHECK(drops[0] > drops[1]);
}

QUEUE(a_flow_has_a_queue_of_its_own_among_eight_of_its_set)
{
	/* eight flows of one place send each ms, and a ninth; FQ-CoDel has one queue for all of them */
	opened(4000);
	for (int ms = 0; ms < 9000; ms++, now_ns += MS) {
		for (uint32_t i = 0; i < 8; i++)
			put(i, 5 + 1024 * i, 1, 2);
		take();
	}
	for (uint32_t i = 0; i < 8; i++)
		CHECK(near(left[i], 9000 / 8, 60));
	nl_aqm_free(&queue);
	/* the ninth shares the queue of its place, and the other seven have theirs */
	opened(4000);
	for (int ms = 0; ms < 9000; ms++, now_ns += MS) {
		for (uint32_t i = 0; i < 9; i++)
			put(i, 5 + 1024 * i, 1, 2);
		take();
	}
	CHECK(near(left[0] + left[8], 9000 / 8, 60));
	for (uint32_t i = 1; i < 8; i++)
		CHECK(near(left[i], 9000 / 8, 60));
}

QUEUE(hosts_have_equal_parts_where_their_flows_are_unequal)
{
	/* three flows of one source to three destinations, and one of another to a fourth */
	opened(4000);
	for (int ms = 0; ms < 20000; ms++, now_ns += MS) {
		for (uint32_t i = 0; i < 3; i++)
			put(i, 100 * (1 + i), 1, 10 + i);
		put(3, 400, 2, 13);
		take();
	}
	CHECK(near(left[3], 10000, 200));
	for (uint32_t i = 0; i < 3; i++)
		CHECK(near(left[i], 10000 / 3, 100));
	nl_aqm_free(&queue);
	/* to one destination they count by flows */
	opened(4000);
	for (int ms = 0; ms < 20000; ms++, now_ns += MS) {
		for (uint32_t i = 0; i < 3; i++)
			put(i, 100 * (1 + i), 1, 10);
		put(3, 400, 2, 10);
		take();
	}
	for (uint32_t i = 0; i < 4; i++)
		CHECK(near(left[i], 5000, 100));
}

QUEUE(flows_that_have_ended_leave_no_hosts_behind)
{
	opened(4000);
	for (uint32_t round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < 40; i++)
			for (int n = 0; n < 4; n++)
				put(0, 1000003 * (round * 40 + i) + 17, round * 40 + i, round);
		while (queue.flows.packets) {
			take();
			now_ns += MS;
		}
		now_ns += 1000 * MS;
	}
	/* a flow alone visits those that decay, one a packet */
	for (int i = 0; i < 20000; i++, now_ns += MS) {
		put(1, 99, 7, 8);
		take();
	}
	for (int end = 0; end < 2; end++)
		for (int i = 0; i < NL_CAKE_FLOWS; i++)
			CHECK(queue.cake->host[end][i].bulk <= 1);
	CHECK(nl_flow_list_empty(&queue.cake->decaying));
}

QUEUE(a_flood_is_dropped_by_blue_and_leaves_others_alone)
{
	uint64_t flood_of_late = 0;

	/* five times the rate, which nothing slows down, beside a flow of a tenth of it */
	opened(500);
	for (int ms = 0; ms < 60000; ms++, now_ns += MS) {
		uint32_t before = early;

		for (int i = 0; i < 5; i++)
			put(0, 100, 1, 2);
		if (ms % 10 == 0)
			put(1, 200, 1, 2);
		take();
		if (ms >= 30000)
			flood_of_late += early - before;
	}
	CHECK(drops[1] == 0 && left[1] >= 5999 && waited_ns[1] <= 2 * MS);
	CHECK(near(left[0], 54000, 60));
	/* in the end early drops take what the limit took in the beginning: four packets a ms, of which no more than
	 * some overflow again when the probability has shrunk */
	CHECK(flood_of_late > 30000 * 4 * 8 / 10);
}

QUEUE(the_limit_drops_at_the_head_of_the_longest_queue)
{
	opened(100);
	put(1, 200, 1, 2);
	for (int i = 0; i < 150; i++, now_ns += MS)
		put(0, 100, 1, 2);
	CHECK(drops[0] == 51 && drops[1] == 0 && early == 0 && queue.flows.packets == 100);
	/* the first one of the rest came 99 ms before the last */
	CHECK(take() == 1);
	while (queue.flows.packets)
		take();
	CHECK(waited_ns[0] <= 100 * MS);
}

QUEUE(a_last_packet_is_never_dropped_and_a_slow_rate_has_a_longer_target)
{
	/* 120 kb/s: a packet takes 100 ms, and the target is 150 ms */
	const struct nl_aqm_opts opts = {.discipline = NL_CAKE, .target_ns = 5 * MS, .interval_ns = 100 * MS,
					 .rate_bps = 120000, .seed = 3};

	opened(0);
	queue.opts = opts;
	for (int i = 0; i < 3; i++)
		put(0, 100, 1, 2);
	for (int i = 0; i < 1000; i++, now_ns += 100 * MS) {
		put(0, 100, 1, 2);
		take(); /* waits for 300 ms, which is no more than four packets */
	}
	CHECK(drops[0] == 0);
	/* signals that are due find no second packet */
	while (queue.flows.packets)
		take();
	for (int i = 0; i < 100; i++) {
		put(0, 100, 1, 2);
		now_ns += 900 * MS;
		take();
	}
	CHECK(drops[0] == 0);
}
