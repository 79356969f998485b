/* Faulty counters and clocks. Two calls are wrapped at link time, so that a real run sees an
 * interface with 32-bit counters and a clock that is set during the run. */
#include "ends.h"
#include "meter/meter_poll.h"
#include "net/rtnl.h"

#include <stdatomic.h>
#include <time.h>

#define WRAP (UINT64_C(1) << 32)

/* -- faults ------------------------------------------------------------------------ */

static atomic_int narrow;           /* counters have 32 bits and are about to wrap */
static _Atomic int64_t realtime_ns; /* offset of CLOCK_REALTIME */
static atomic_int realtime_reads;   /* how often it was read with the offset */
static _Atomic int64_t bend_ppm;    /* rate error of CLOCK_MONOTONIC_RAW */
static struct nl_interface base;

int __real_nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out);
int __wrap_nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out)
{
	int found = __real_nl_rtnl_interface(name, ifindex, out);

	if (found || !atomic_load(&narrow))
		return found;
	out->rx_bytes = (out->rx_bytes - base.rx_bytes + WRAP - 1000000) % WRAP;
	out->tx_bytes = (out->tx_bytes - base.tx_bytes + WRAP - 1000000) % WRAP;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int failed = __real_clock_gettime(clock, t);
	int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;

	if (clock == CLOCK_REALTIME) {
		ns += atomic_load(&realtime_ns);
		atomic_fetch_add(&realtime_reads, atomic_load(&realtime_ns) != 0);
	}
	if (clock == CLOCK_MONOTONIC_RAW)
		ns += ns / 1000000 * atomic_load(&bend_ppm);
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return failed;
}

/* -- pure ------------------------------------------------------------------------------ */

static struct nl_interface at(uint64_t rx_bytes, uint64_t rx_packets)
{
	return (struct nl_interface){.rx_bytes = rx_bytes, .rx_packets = rx_packets};
}

/* Follow two readings of the same interface. */
static struct nl_counters after(struct nl_interface first, struct nl_interface second)
{
	struct nl_counters c;

	nl_counters_begin(&c, 3, &first);
	nl_counters_follow(&c, 3, &second);
	return c;
}

TEST(growth_is_added)
{
	struct nl_counters c = after(at(100, 1), at(5000, 5));

	CHECK(c.steady.rx_bytes == 5000 && c.steady.rx_packets == 5 && !c.wraps && !c.resets);
	c = after(at(WRAP - 1, 7), at(WRAP + 1499, 8)); /* 64 bits: no wrap */
	CHECK(c.steady.rx_bytes == WRAP + 1499 && !c.wraps && !c.resets);
}

TEST(a_32_bit_wrap_is_corrected)
{
	struct nl_interface now = at(499, 101);
	struct nl_counters c = after(at(WRAP - 1001, 100), now);

	CHECK(c.steady.rx_bytes == WRAP + 499 && c.wraps == 1 && c.resets == 0);
	now = at(WRAP - 5, 3000000);
	nl_counters_follow(&c, 3, &now);
	now = at(95, 3000001);
	nl_counters_follow(&c, 3, &now);
	CHECK(c.steady.rx_bytes == 2 * WRAP + 95 && c.wraps == 2 && c.resets == 0);
	/* packets wrap as well, rarely */
	c = after(at(10 * WRAP, WRAP - 10), at(10 * WRAP + 30000, 10));
	CHECK(c.steady.rx_packets == WRAP + 10 && c.wraps == 1 && c.resets == 0);
}

TEST(a_reset_is_not_a_wrap)
{
	static const struct {
		uint64_t bytes, packets, bytes_now, packets_now;
	} row[] = {
		{3000000000, 2000000, 0, 0},            /* a restarted driver */
		{3000000000, 2000000, 1500000, 1000},   /* and it has counted since */
		{4294967000, 2900000, 100, 1},          /* just before its wrap */
		{5000, 50, 100, 1},
		{5 * WRAP, 20000000, 100, 20000001},    /* 64-bit counters do not wrap there */
		{4000000000, 100, 3999999999, 101},     /* no device has packets of 4 GB */
		{4000000000, 100, 100, 100},            /* bytes without packets */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct nl_counters c = after(at(row[i].bytes, row[i].packets),
					     at(row[i].bytes_now, row[i].packets_now));

		CHECK(c.resets == 1 && c.wraps == 0 && c.steady.rx_bytes == row[i].bytes);
	}
}

TEST(a_reset_of_errors_or_of_the_interface_is_detected)
{
	struct nl_interface bad = {.rx_bytes = 5, .tx_dropped = 9}, good = {.rx_bytes = 6};
	struct nl_counters c = after(bad, good);

	CHECK(c.resets == 1);
	nl_counters_follow(&c, 0, &good); /* gone */
	nl_counters_follow(&c, 0, &good);
	CHECK(c.resets == 2);
	nl_counters_follow(&c, 4, &bad); /* created anew, with larger counters */
	CHECK(c.resets == 3 && c.steady.rx_bytes == 5 && c.wraps == 0);
	good.tx_dropped = 9;
	nl_counters_follow(&c, 4, &good);
	CHECK(c.resets == 3 && c.steady.rx_bytes == 6);
}

/* -- in a meter and in a run --------------------------------------------------------------- */

TEST(snapshots_show_drift_and_steps)
{
	static struct nl_meter before, now;
	static struct nl_meter_span span;

	memset(&before, 0, sizeof(before));
	before.clocks = (struct nl_clocks){.raw_behind_ns = 500, .unsure_ns = 30};
	now = before;
	now.clocks = (struct nl_clocks){.realtime_ahead_ns = -7000000, .raw_behind_ns = -4500,
					.unsure_ns = 20};
	nl_meter_diff(&before, &now, &span);
	CHECK(span.clock_drift_ns == -5000 && span.clock_unsure_ns == 50);
	CHECK(span.clock_steps == 1 && span.clock_step_ns == -7000000);
	/* there and back again: visible to a poll in between only */
	now.clocks.realtime_ahead_ns = 0;
	now.clock_steps = 2;
	now.clock_step_ns = 9000000;
	nl_meter_diff(&before, &now, &span);
	CHECK(span.clock_steps == 2 && span.clock_step_ns == 9000000);
}

TEST(the_clocks_of_this_machine_are_read)
{
	struct nl_clocks one, two;

	nl_clocks_read(&one);
	atomic_store(&realtime_ns, 5000000000);
	nl_clocks_read(&two);
	atomic_store(&realtime_ns, 0);
	CHECK(one.realtime_ahead_ns > 0 && one.unsure_ns > 0);
	CHECK(llabs(two.realtime_ahead_ns - one.realtime_ahead_ns - 5000000000) < 1000000000);
}

static void open_end(struct end *end, int role, uint64_t port)
{
	struct nl_run_opts opts = end_options(role, "127.0.0.1");
	struct nl_err err;

	CHECK(nl_run_opts_set(&opts, "interface", "lo", &err) == NL_OK);
	opts.port = port;
	opts.window_ms = 60000; /* until it is stopped */
	opts.interval_ms = 60000; /* the findings come from polls, not from samples */
	if (role == NL_GEN)
		opts.pacing_Bps = 10000000;
	start_end(end, &opts);
}

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000};

	nanosleep(&t, NULL);
}

TEST(a_run_corrects_wraps_and_detects_a_clock_set_and_set_back)
{
	struct end sink, gen;
	const struct nl_meter_span *total;
	const struct nl_report *report;
	uint64_t moved = 0;
	int32_t ifindex;

	CHECK(__real_nl_rtnl_interface("lo", &ifindex, &base) == 0);
	atomic_store(&narrow, 1);
	open_end(&sink, NL_SINK, 0);
	open_end(&gen, NL_GEN, nl_run_port(sink.run));
	while (moved < 3000000) {
		sleep_ms(10);
		moved = nl_run_progress(sink.run, NULL);
	}
	atomic_store(&realtime_ns, 2000000000);
	sleep_ms(800); /* a busy machine polls late, but it polls */
	while (atomic_load(&realtime_reads) < 50)
		sleep_ms(10);
	atomic_store(&realtime_ns, 0);
	nl_run_stop(sink.run);
	nl_run_stop(gen.run);
	pthread_join(gen.thread, NULL);
	pthread_join(sink.thread, NULL);
	CHECK(gen.code == NL_OK && sink.code == NL_OK);
	atomic_store(&narrow, 0);
	report = nl_run_report(sink.run);
	total = &report->meter_total;
	CHECK(report->status == NL_STATUS_STOPPED && report->total_bytes > 2000000);
	CHECK(total->wraps >= 2 && !total->reset); /* rx and tx of the loopback */
	CHECK(total->interface.rx_bytes > report->total_bytes);
	CHECK(total->interface.rx_bytes < 2 * report->total_bytes + 10000000);
	CHECK(total->clock_steps >= 1 && llabs(llabs(total->clock_step_ns) - 2000000000) < 100000000);
	CHECK(llabs(total->clock_drift_ns) < 10000000);
	nl_run_free(gen.run);
	nl_run_free(sink.run);
}

TEST(a_clock_with_a_rate_error_drifts)
{
	static struct nl_meter before, now;
	static struct nl_meter_span span;
	struct nl_err err;

	atomic_store(&bend_ppm, -50000);
	CHECK(nl_meter_read(NULL, &before, &err) == NL_OK);
	sleep_ms(300);
	CHECK(nl_meter_read(NULL, &now, &err) == NL_OK);
	atomic_store(&bend_ppm, 0);
	nl_meter_diff(&before, &now, &span);
	CHECK(span.clock_drift_ns > (int64_t)(span.t1_ns - span.t0_ns) / 30);
	CHECK(span.clock_drift_ns < (int64_t)(span.t1_ns - span.t0_ns) / 10);
	CHECK(span.clock_steps == 0);
}
