/* The thread that ends a gen gets no CPU for a while after the window. The scan of processes that it
 * makes there is wrapped at link time. */
#include "base/clock.h"
#include "ends.h"
#include "io/worker.h"
#include "meter/processes.h"

#include <unistd.h>

enum { STREAMS = 3, WINDOW_MS = 100, TAIL_MS = 50, HELD_S = 6 };

void __real_nl_process_since(const struct nl_process_scan *first, struct nl_others *out);
void __wrap_nl_process_since(const struct nl_process_scan *first, struct nl_others *out);

void __wrap_nl_process_since(const struct nl_process_scan *first, struct nl_others *out)
{
	if (this_end && this_end->marked)
		sleep(HELD_S);
	__real_nl_process_since(first, out);
}

static void start(struct end *end, int role, uint32_t port)
{
	struct nl_run_opts opts = end_options(role, "127.0.0.1");

	opts.streams = STREAMS;
	opts.window_ms = WINDOW_MS;
	opts.drain_ms = 1000 * 2 * HELD_S;
	if (role == NL_GEN) {
		opts.port = port;
		opts.tail_ms = TAIL_MS;
		opts.yield_B = 65536;
	}
	start_end(end, &opts);
}

/* Time that the gen sent for, in ms; its bytes arrive, whoever ended it. */
static uint64_t sent_ms(int held)
{
	struct end sink = {0}, gen = {.marked = held};
	const struct nl_report *from, *to;
	uint64_t last_ns = 0, ms;

	start(&sink, NL_SINK, 0);
	start(&gen, NL_GEN, nl_run_port(sink.run));
	pthread_join(gen.thread, NULL);
	pthread_join(sink.thread, NULL);
	from = nl_run_report(gen.run);
	to = nl_run_report(sink.run);
	CHECK(gen.code == NL_OK && from->status == NL_STATUS_OK);
	CHECK(sink.code == NL_OK && to->status == NL_STATUS_OK);
	CHECK(from->total_bytes > 0 && from->total_bytes == to->total_bytes);
	for (int i = 0; i < STREAMS; i++)
		if (from->per_stream[i].t_end_ns > last_ns)
			last_ns = from->per_stream[i].t_end_ns;
	ms = (last_ns - from->t_go_ns) / NL_NS_PER_MS;
	nl_run_free(gen.run);
	nl_run_free(sink.run);
	return ms;
}

TEST(a_gen_that_nobody_ends_ends_by_itself)
{
	uint64_t ms = sent_ms(1), least_ms = WINDOW_MS + TAIL_MS + NL_OVERDUE_MS;

	CHECK(ms >= least_ms && ms < 1000 * HELD_S);
}

TEST(a_gen_that_is_ended_in_time_is_not_overdue)
{
	uint64_t ms = sent_ms(0);

	CHECK(ms >= WINDOW_MS + TAIL_MS && ms < WINDOW_MS + TAIL_MS + NL_OVERDUE_MS);
}
