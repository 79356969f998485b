#include "check.h"
#include "emulator/aqm.h"

#define MS UINT64_C(1000000)

enum { PACKET_B = 1500, DROPS_MAX = 4096 };

static struct nl_aqm queue;
static uint64_t now_ns, drop_ns[DROPS_MAX];
static uint32_t drops, early, drops_of[4];
static int takes_marks; /* the senders */

static void dropped(void *context, const struct nl_aqm_packet *packet, enum nl_aqm_drop why)
{
	(void)context;
	if (drops < DROPS_MAX)
		drop_ns[drops] = now_ns;
	drops++;
	early += why == NL_DROP_EARLY;
	drops_of[packet->flow]++;
}

static void opened(struct nl_aqm_opts opts)
{
	CHECK(nl_aqm_init(&queue, &opts, dropped, NULL) == 0);
	now_ns = MS;
	drops = early = 0;
	takes_marks = 0;
	memset(drops_of, 0, sizeof(drops_of));
}

static void closed(void)
{
	nl_aqm_free(&queue);
}

static void put(uint32_t flow)
{
	struct nl_aqm_packet packet = {.arrived_ns = now_ns, .weight_B = PACKET_B, .flow = flow,
				       .takes_marks = (uint8_t)takes_marks};

	nl_aqm_put(&queue, &packet, now_ns);
}

#define CODEL_TIMES .target_ns = 5 * MS, .interval_ns = 100 * MS
#define CODEL .discipline = NL_CODEL, CODEL_TIMES
#define AQM(function) TEST_WITH(function, NULL, closed)

static int near(uint64_t value, uint64_t expected, uint64_t within)
{
	return value + within >= expected && value <= expected + within;
}

AQM(codel_drops_an_interval_after_the_target_is_exceeded_then_at_its_roots)
{
	/* A packet leaves each ms and two come, so the delay grows by a ms each 2 ms. It is above 5 ms from the
	 * packet on that left at 11 ms. */
	struct nl_aqm_packet packet;
	uint64_t expected = 0, above_ns = 0;

	opened((struct nl_aqm_opts){CODEL});
	for (int i = 0; i < 1000; i++, now_ns += MS) {
		put(0);
		put(0);
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
		if (!above_ns && now_ns - packet.arrived_ns >= 5 * MS)
			above_ns = now_ns;
	}
	CHECK(drops > 10 && early == drops);
	CHECK(near(drop_ns[0], above_ns + 100 * MS, MS));
	/* 100 ms over the square roots of 1, 2, 3 .. */
	static const double root[] = {1, 1.41421, 1.73205, 2, 2.23607, 2.44949, 2.64575, 2.82843};
	expected = drop_ns[0];
	for (uint32_t i = 0; i < 8; i++) {
		expected += (uint64_t)(100e6 / root[i]);
		CHECK(near(drop_ns[i + 1], expected, MS));
	}
}

AQM(codel_drops_nothing_below_its_target_and_no_last_packet)
{
	struct nl_aqm_packet packet;

	opened((struct nl_aqm_opts){CODEL});
	/* a standing queue of 4 ms, for 10 s */
	for (int i = 0; i < 4; i++)
		put(0);
	for (int i = 0; i < 10000; i++, now_ns += MS) {
		put(0);
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
	}
	CHECK(drops == 0);
	/* a slow link: 20 ms a packet, with never more than one behind it */
	for (int i = 0; i < 500; i++, now_ns += 20 * MS) {
		while (queue.flows.packets < 2)
			put(0);
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
	}
	CHECK(drops == 0);
}

/* A sender of TCP's kind: as many packets in flight as its window, which grows by one a round trip and is
 * halved by a loss, once a round trip. Its round trip beside the queue is RTT_MS. */
enum { RTT_MS = 100, FLIGHT_MAX = 8192 };

struct sender {
	double window;
	uint32_t flying, marks;
	uint64_t halved_ns;
	uint64_t back_ns[FLIGHT_MAX]; /* times of acknowledgements */
	uint32_t first, count;
};

static struct sender s;

/* Run the sender over a link of a packet a ms; mean delay of the queue in ms from from_ms to to_ms. A mark halves
 * its window as a loss does. */
static double greedy(uint64_t from_ms, uint64_t to_ms)
{
	double sum = 0;
	uint64_t taken = 0;

	memset(&s, 0, sizeof(s));
	s.window = 10;
	for (uint64_t ms = 0; ms < to_ms; ms++, now_ns += MS) {
		struct nl_aqm_packet packet;
		uint32_t lost = drops, marked = s.marks;

		while (s.count && s.back_ns[s.first] <= now_ns) {
			s.first = (s.first + 1) % FLIGHT_MAX;
			s.count--;
			s.flying--;
			s.window += 1 / s.window;
		}
		while (s.flying < (uint32_t)s.window) {
			put(0);
			s.flying++;
		}
		if (nl_aqm_take(&queue, &packet, now_ns)) {
			s.back_ns[(s.first + s.count++) % FLIGHT_MAX] = now_ns + RTT_MS * MS;
			s.marks += packet.marked;
			if (ms >= from_ms) {
				sum += (double)(now_ns - packet.arrived_ns) / 1e6;
				taken++;
			}
		}
		s.flying -= drops - lost;
		if ((drops > lost || s.marks > marked) && now_ns >= s.halved_ns + RTT_MS * MS) {
			s.window = s.window / 2 > 2 ? s.window / 2 : 2;
			s.halved_ns = now_ns;
		}
	}
	/* a window that is halved at a short queue fills three quarters of the link in the mean */
	CHECK(taken > (to_ms - from_ms) * 7 / 10);
	return sum / (double)taken;
}

AQM(a_greedy_flow_stands_at_the_limit_of_a_plain_queue)
{
	opened((struct nl_aqm_opts){.discipline = NL_FIFO, .limit_packets = 1000});
	CHECK(greedy(60000, 120000) > 300);
	CHECK(early == 0);
}

AQM(a_greedy_flow_stands_at_the_target_of_codel)
{
	opened((struct nl_aqm_opts){CODEL, .limit_packets = 1000});
	CHECK(greedy(20000, 60000) < 3 * 5);
	CHECK(early == drops && drops > 5);
}

AQM(a_greedy_flow_stands_at_the_target_of_cake)
{
	opened((struct nl_aqm_opts){.discipline = NL_CAKE, CODEL_TIMES, .limit_packets = 1000, .rate_bps = 12000000});
	CHECK(greedy(20000, 60000) < 3 * 5);
	CHECK(early == drops && drops > 5);
}

AQM(a_greedy_flow_stands_at_the_reference_delay_of_pie)
{
	double ms;

	opened((struct nl_aqm_opts){.discipline = NL_PIE, .target_ns = 15 * MS, .interval_ns = 15 * MS,
				    .limit_packets = 1000, .seed = 3});
	ms = greedy(20000, 60000);
	CHECK(ms > 3 && ms < 2 * 15);
	CHECK(early == drops && drops > 5);
}

AQM(a_flow_that_takes_marks_stands_at_the_target_without_a_loss)
{
	const struct nl_aqm_opts disciplines[] = {
		{CODEL, .limit_packets = 1000, .ecn = 1},
		{.discipline = NL_FQ_CODEL, CODEL_TIMES, .limit_packets = 1000, .ecn = 1},
		{.discipline = NL_CAKE, CODEL_TIMES, .limit_packets = 1000, .rate_bps = 12000000, .ecn = 1},
		{.discipline = NL_PIE, .target_ns = 15 * MS, .interval_ns = 15 * MS, .limit_packets = 1000,
		 .seed = 3, .ecn = 1},
	};
	const size_t last = sizeof(disciplines) / sizeof(disciplines[0]) - 1;

	for (size_t d = 0; d <= last; d++) {
		opened(disciplines[d]);
		takes_marks = 1;
		CHECK(greedy(20000, 60000) < (disciplines[d].discipline == NL_PIE ? 2 * 15 : 3 * 5));
		CHECK(drops == 0 && s.marks > 5);
		nl_aqm_free(&queue);
		/* a sender that takes no marks is dropped as without ecn */
		opened(disciplines[d]);
		greedy(20000, 60000);
		CHECK(early == drops && drops > 5 && s.marks == 0);
		nl_aqm_free(&queue);
		/* and without ecn nobody is marked */
		opened(disciplines[d]);
		queue.opts.ecn = 0;
		takes_marks = 1;
		greedy(20000, 60000);
		CHECK(early == drops && drops > 5 && s.marks == 0);
		if (d < last)
			nl_aqm_free(&queue);
	}
}

AQM(pie_drops_those_that_ignore_its_marks)
{
	struct nl_aqm_packet packet;
	uint32_t marks = 0;

	opened((struct nl_aqm_opts){.discipline = NL_PIE, .target_ns = 15 * MS, .interval_ns = 15 * MS, .seed = 3,
				    .ecn = 1});
	takes_marks = 1;
	for (int ms = 0; ms < 5000; ms++, now_ns += MS) {
		for (int i = 0; i < 2; i++) {
			uint32_t before = drops;

			put(0);
			CHECK(drops == before || queue.pie.probability > 0.1);
		}
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
		marks += packet.marked;
	}
	CHECK(marks > 0 && drops > 4000);
}

AQM(codel_marks_at_the_times_at_which_it_would_drop)
{
	struct nl_aqm_packet packet;
	uint64_t mark_ns[16], expected;
	uint32_t marks = 0;

	opened((struct nl_aqm_opts){CODEL, .ecn = 1});
	takes_marks = 1;
	for (int i = 0; i < 1000; i++, now_ns += MS) {
		put(0);
		put(0);
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
		if (packet.marked && marks < 16)
			mark_ns[marks++] = now_ns;
	}
	CHECK(drops == 0 && marks == 16);
	static const double root[] = {1, 1.41421, 1.73205, 2, 2.23607, 2.44949, 2.64575, 2.82843};
	expected = mark_ns[0];
	for (uint32_t i = 0; i < 8; i++) {
		expected += (uint64_t)(100e6 / root[i]);
		CHECK(near(mark_ns[i + 1], expected, MS));
	}
}

AQM(pie_lets_a_first_burst_of_150_ms_pass)
{
	struct nl_aqm_packet packet;

	opened((struct nl_aqm_opts){.discipline = NL_PIE, .target_ns = 15 * MS, .interval_ns = 15 * MS, .seed = 3});
	for (int ms = 0; ms < 2000; ms++, now_ns += MS) {
		for (int i = 0; i < 3; i++)
			put(0);
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
		CHECK(ms >= 150 || drops == 0);
	}
	/* more comes than leaves for two seconds: most of the surplus is dropped in the end */
	CHECK(drops > 500);
}

AQM(fq_codel_shares_a_link_between_unequal_flows)
{
	/* a packet leaves each ms; of three flows two send 3 and 1 a ms, and one every fifth ms */
	struct nl_aqm_packet packet;
	uint32_t of[3] = {0};
	uint64_t longest_ns = 0;

	opened((struct nl_aqm_opts){.discipline = NL_FQ_CODEL, .target_ns = 5 * MS, .interval_ns = 100 * MS,
				    .limit_packets = 1000});
	for (int ms = 0; ms < 20000; ms++, now_ns += MS) {
		for (int i = 0; i < 3; i++)
			put(0);
		put(1);
		if (ms % 5 == 0)
			put(2);
		CHECK(nl_aqm_take(&queue, &packet, now_ns));
		of[packet.flow]++;
		if (packet.flow == 2 && now_ns - packet.arrived_ns > longest_ns)
			longest_ns = now_ns - packet.arrived_ns;
		CHECK(queue.flows.packets <= 1000);
	}
	/* the light one has what it sends, and waits for one turn of the others, which have two packets where a
	 * quantum of 1514 B has left enough; they have halves of what is left */
	CHECK(drops_of[2] == 0 && of[2] >= 3999 && longest_ns <= 4 * MS);
	CHECK(near(of[0], 8000, 80) && near(of[1], 8000, 80));
	CHECK(drops_of[0] > drops_of[1]);
}

AQM(a_full_queue_drops_the_last_and_fq_codel_the_longest)
{
	opened((struct nl_aqm_opts){.discipline = NL_FIFO, .limit_B = 10 * PACKET_B});
	for (int i = 0; i < 12; i++)
		put(0);
	CHECK(drops == 2 && early == 0 && queue.flows.packets == 10 && queue.flows.bytes == 10 * PACKET_B);
	nl_aqm_free(&queue);
	opened((struct nl_aqm_opts){.discipline = NL_FQ_CODEL, .target_ns = 5 * MS, .interval_ns = 100 * MS,
				    .limit_packets = 100});
	put(1);
	for (int i = 0; i < 100; i++)
		put(0);
	CHECK(drops_of[0] == 50 && drops_of[1] == 0 && queue.flows.packets == 51);
}
