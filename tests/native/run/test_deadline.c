/* The thread that controls a run gets no CPU for a while: it is held at a sample, which is wrapped at
 * link time. A gen ends in time all the same, and no sooner than its sink's window. */
#include "base/clock.h"
#include "ends.h"
#include "io/worker.h"
#include "run/run.h"

enum { STREAMS = 3, WINDOW_MS = 100, TAIL_MS = 50, HELD_MS = 600, LATE_MS = 350, RUNS = 3 };

/* Samples: at go, at the end of the window, and after the streams. */
enum held { FREE, IN_WINDOW, PAST_WINDOW };

uint64_t __real_nl_samples_take(struct nl_report *report, struct nl_stream *stream);
uint64_t __wrap_nl_samples_take(struct nl_report *report, struct nl_stream *stream);

uint64_t __wrap_nl_samples_take(struct nl_report *report, struct nl_stream *stream)
{
	int held = report->sample_count == 1 && this_end ? this_end->marked : FREE;
	uint64_t t_ns;

	if (held == IN_WINDOW)
		nl_sleep_ms(HELD_MS);
	t_ns = __real_nl_samples_take(report, stream);
	if (held == PAST_WINDOW)
		nl_sleep_ms(HELD_MS);
	return t_ns;
}

static void start(struct end *end, int role, uint64_t engine, uint32_t port)
{
	struct nl_run_opts opts = end_options(role, "127.0.0.1");

	opts.streams = STREAMS;
	opts.window_ms = WINDOW_MS;
	opts.interval_ms = WINDOW_MS;
	opts.engine = engine;
	if (role == NL_GEN) {
		opts.port = port;
		opts.tail_ms = TAIL_MS;
		if (engine != NL_ENGINE_PLAIN)
			opts.yield_B = UINT64_MAX;
	}
	start_end(end, &opts);
}

/* Time from go to the end of the gen's last stream, in ms. */
static uint64_t sent_ms(uint64_t engine, enum held gen_held, enum held sink_held)
{
	struct end sink = {.marked = sink_held}, gen = {.marked = gen_held};
	const struct nl_report *from, *to;
	uint64_t ms;

	start(&sink, NL_SINK, engine, 0);
	start(&gen, NL_GEN, engine, nl_run_port(sink.run));
	pthread_join(gen.thread, NULL);
	pthread_join(sink.thread, NULL);
	from = nl_run_report(gen.run);
	to = nl_run_report(sink.run);
	CHECK(gen.code == NL_OK && from->status == NL_STATUS_OK);
	CHECK(sink.code == NL_OK && to->status == NL_STATUS_OK);
	CHECK(from->total_bytes > 0 && from->total_bytes == to->total_bytes);
	CHECK(from->interval_sum_bytes == from->total_bytes);
	CHECK(from->window_t1_ns >= from->window_t0_ns + WINDOW_MS * NL_NS_PER_MS);
	CHECK(from->window_t1_ns <= from->t_last_byte_ns && to->window_t1_ns <= to->t_last_byte_ns);
	CHECK(sink_held != IN_WINDOW || to->window_t1_ns <= from->t_last_byte_ns);
	ms = (from->t_last_byte_ns - from->t_go_ns) / NL_NS_PER_MS;
	nl_run_free(gen.run);
	nl_run_free(sink.run);
	return ms;
}

/* The median of the runs is in time: other programs may use the CPUs. None is early. */
static int is_in_time(uint64_t engine, enum held gen_held, enum held sink_held, uint64_t least_ms,
		      uint64_t due_ms)
{
	int in_time = 0;

	for (int run = 0; run < RUNS; run++) {
		uint64_t ms = sent_ms(engine, gen_held, sink_held);

		CHECK(ms >= least_ms);
		in_time += ms < due_ms + LATE_MS;
	}
	return in_time > RUNS / 2;
}

TEST(a_gen_ends_in_time_whatever_holds_its_controlling_thread)
{
	for (uint64_t engine = NL_ENGINE_BLOCKING; engine <= NL_ENGINE_PLAIN; engine++)
		for (int held = FREE; held <= PAST_WINDOW; held++)
			CHECK(is_in_time(engine, (enum held)held, FREE, WINDOW_MS + TAIL_MS,
					 WINDOW_MS + TAIL_MS));
}

TEST(a_gen_sends_until_the_window_of_its_sink_is_over)
{
	for (uint64_t engine = NL_ENGINE_BLOCKING; engine <= NL_ENGINE_PLAIN; engine++)
		/* it began later than the sink */
		CHECK(is_in_time(engine, FREE, IN_WINDOW, WINDOW_MS + TAIL_MS, WINDOW_MS + HELD_MS));
}
