#include "ends.h"
#include "run/run.h"

static struct nl_run_opts options(int role)
{
	struct nl_run_opts opts;

	nl_run_opts_init(&opts, role);
	opts.streams = 2;
	return opts;
}

TEST(an_endless_run_thins_its_samples_and_loses_no_bytes)
{
	struct nl_run_opts opts = options(NL_SINK);
	struct nl_report report = {.streams = 2};
	struct nl_stream *stream = aligned_alloc(NL_CACHE_LINE_B, 2 * sizeof(*stream));
	struct nl_err err;
	uint64_t taken, capacity;

	memset(stream, 0, 2 * sizeof(*stream));
	opts.window_ms = 0;
	CHECK(nl_samples_open(&opts, &report, &err) == NL_OK);
	capacity = report.sample_capacity;
	for (taken = 0; taken < 3 * capacity; taken++) {
		nl_stream_count(&stream[0], 3);
		nl_stream_count(&stream[1], 5);
		nl_samples_take(&report, stream);
	}
	CHECK(report.sample_capacity == capacity && report.sample_count <= capacity);
	/* full after 1, 1.5, 2 and 2.5 times the capacity */
	CHECK(report.interval_ms == 16 * opts.interval_ms);
	for (uint64_t k = 1; k < report.sample_count; k++) {
		CHECK(report.sample_t_ns[k] >= report.sample_t_ns[k - 1]);
		CHECK(report.sample_bytes[nl_sample_at(&report, 0, k)] >
		      report.sample_bytes[nl_sample_at(&report, 0, k - 1)]);
		CHECK(report.sample_bytes[nl_sample_at(&report, 1, k)] * 3 ==
		      report.sample_bytes[nl_sample_at(&report, 0, k)] * 5);
	}
	CHECK(report.sample_bytes[nl_sample_at(&report, 0, report.sample_count - 1)] == 3 * taken);
	CHECK(report.sample_bytes[0] == 3);
	nl_samples_free(&report);
	free(stream);
}

TEST(too_many_samples_of_a_timed_run_are_a_limit_that_names_an_interval_that_fits)
{
	struct nl_run_opts opts = options(NL_SINK);
	struct nl_report report = {.streams = 10000};
	struct nl_err err;
	const char *said;

	opts.streams = 10000;
	opts.interval_ms = 10;
	opts.window_ms = 24 * 3600 * 1000;
	CHECK(nl_samples_open(&opts, &report, &err) == NL_LIMIT);
	CHECK(report.sample_t_ns == NULL);
	opts.window_ms = 100 * 1000;
	CHECK(nl_samples_open(&opts, &report, &err) == NL_LIMIT);
	said = strstr(err.message, "make interval_ms ");
	CHECK(said != NULL);
	opts.interval_ms = strtoul(said + strlen("make interval_ms "), NULL, 10);
	CHECK(opts.interval_ms > 10 && nl_samples_open(&opts, &report, &err) == NL_OK);
	/* memory of 10,000 streams stays within what a stream may take */
	CHECK(report.sample_capacity * sizeof(uint64_t) <= 32768 + 1024);
	nl_samples_free(&report);
	opts.interval_ms -= 10;
	CHECK(nl_samples_open(&opts, &report, &err) == NL_LIMIT);
}

TEST(a_long_drain_takes_no_memory_for_samples)
{
	struct nl_run_opts opts = options(NL_SINK);
	struct nl_report report = {.streams = 10000};
	struct nl_err err;
	uint64_t capacity;

	opts.streams = 10000;
	opts.interval_ms = 20;
	opts.window_ms = 1000;
	opts.drain_ms = 5000;
	CHECK(nl_samples_open(&opts, &report, &err) == NL_OK);
	capacity = report.sample_capacity;
	nl_samples_free(&report);
	opts.drain_ms = 120 * 1000;
	CHECK(nl_samples_open(&opts, &report, &err) == NL_OK && report.sample_capacity == capacity);
	nl_samples_free(&report);
}

/* An end with few samples, that samples every 10 ms. */
static void start_short(struct end *end, int role, uint32_t port)
{
	struct nl_run_opts opts = end_options(role, "127.0.0.1");

	opts.window_ms = 100;
	opts.interval_ms = 10;
	if (role == NL_GEN) {
		opts.port = port;
		opts.tail_ms = 600;
	}
	CHECK(nl_run_open(&opts, &end->run, &end->err) == NL_OK);
	end->run->report.sample_capacity = 40;
	CHECK(pthread_create(&end->thread, NULL, execute_end, end) == 0);
}

TEST(samples_of_the_window_stay_as_they_are_when_what_follows_fills_the_memory)
{
	struct end end[2] = {{0}, {0}};

	start_short(&end[0], NL_SINK, 0);
	start_short(&end[1], NL_GEN, nl_run_port(end[0].run));
	for (int i = 0; i < 2; i++) {
		const struct nl_report *report = nl_run_report(end[i].run);

		pthread_join(end[i].thread, NULL);
		CHECK(end[i].code == NL_OK && report->status == NL_STATUS_OK);
		CHECK(report->interval_ms == 10);
		/* fewer than 10 in the window, where other work had the processors */
		CHECK(report->sample_count > 0);
		CHECK(report->sample_count <= 40);
		CHECK(report->sample_bytes[report->sample_count - 1] == report->total_bytes);
		CHECK(report->interval_sum_bytes == report->total_bytes);
	}
	nl_run_free(end[1].run);
	nl_run_free(end[0].run);
}
