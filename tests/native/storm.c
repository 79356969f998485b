/* Stop, starve and mix runs at random moments, under a sanitizer. Prints how many runs ended in
 * each status; exits 1 if one hangs or a clean one loses a byte. */
#define NL_OWN_MAIN
#include "ends.h"

#include <unistd.h>

static struct nl_run_opts options(int role, unsigned streams, const char *address)
{
	struct nl_run_opts opts = end_options(role, address);

	opts.streams = streams;
	opts.interval_ms = 10;
	opts.window_ms = 30;
	opts.warmup_ms = 10;
	opts.trace = 1;
	return opts;
}

/* Any engine and any supported method, at either end. */
static void set_engines(struct nl_run_opts *sink, struct nl_run_opts *gen, unsigned *seed)
{
	gen->engine = (unsigned)rand_r(seed) % (NL_ENGINE_PLAIN + 1);
	sink->engine = (unsigned)rand_r(seed) % (NL_ENGINE_PLAIN + 1);
	gen->send = (unsigned)rand_r(seed) %
		    (gen->engine == NL_ENGINE_PLAIN ? NL_SEND_COPY + 1 : NL_SEND_SPLICE + 1);
	sink->receive = (unsigned)rand_r(seed) % (sink->engine == NL_ENGINE_PLAIN ?
						  NL_RECEIVE_COPY + 1 :
						  NL_RECEIVE_ZEROCOPY + 1);
}

/* Both directions at once; victim 0..3 is stopped after a while, 4: none. */
static void one_round(unsigned round, unsigned streams, int victim, unsigned wait_us, unsigned *seed,
		      int *count)
{
	const char *address = round % 2 ? "127.0.0.1" : "::1";
	struct end end[4];
	int all_ok = 1;

	for (int i = 0; i < 4; i += 2) {
		struct nl_run_opts sink = options(NL_SINK, streams, address);
		struct nl_run_opts gen = options(NL_GEN, streams, address);

		set_engines(&sink, &gen, seed);
		start_end(&end[i], &sink);
		gen.port = nl_run_port(end[i].run);
		if (round % 5 == 0) {
			gen.window_ms = 0;
			gen.bytes = 1000003;
			gen.token[3] = round % 10 ? 77 : 0;
		}
		start_end(&end[i + 1], &gen);
	}
	if (victim < 4) {
		usleep(wait_us);
		nl_run_stop(end[victim].run);
	}
	if (round % 10 == 0) { /* gens with a wrong token: their sinks would wait long */
		usleep(20000);
		nl_run_stop(end[0].run);
		nl_run_stop(end[2].run);
	}
	for (int i = 0; i < 4; i++) {
		nl_run_progress(end[i].run, NULL);
		pthread_join(end[i].thread, NULL);
		count[end[i].code ? 4 : nl_run_report(end[i].run)->status]++;
		all_ok &= !end[i].code && nl_run_report(end[i].run)->status == NL_STATUS_OK;
	}
	for (int i = 0; all_ok && i < 4; i++) {
		const struct nl_report *report = nl_run_report(end[i].run);

		CHECK(report->interval_sum_bytes == report->total_bytes);
		CHECK(report->total_bytes == nl_run_report(end[i ^ 1].run)->total_bytes);
	}
	for (int i = 0; i < 4; i++)
		nl_run_free(end[i].run);
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5, seed = 1;
	uint64_t end_ns = nl_now_ns() + seconds * UINT64_C(1000000000);
	int count[5] = {0};

	alarm(seconds + 60);
	for (unsigned round = 1; nl_now_ns() < end_ns; round++)
		one_round(round, 1 + (unsigned)rand_r(&seed) % 20, rand_r(&seed) % 5,
			  (unsigned)rand_r(&seed) % 60000, &seed, count);
	printf("ok %d stopped %d timeout %d error %d never %d\n", count[0], count[1], count[2], count[3],
	       count[4]);
	return 0;
}
