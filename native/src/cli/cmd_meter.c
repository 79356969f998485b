/* gensink meter: the report of the throughput program of 2003, from 64-bit counters. */
#include "base/clock.h"
#include "base/process.h"
#include "cli/cli.h"
#include "commands.h"
#include "meter/meter_poll.h"
#include "run/report_json.h"

#include <inttypes.h>
#include <stdio.h>

static void print_report(const struct nl_meter_span *span)
{
	double seconds = (double)(span->t1_ns - span->t0_ns) / 1e9;
	double rx_Bps = (double)span->interface.rx_bytes / seconds;
	double tx_Bps = (double)span->interface.tx_bytes / seconds;

	printf("Bytes received   : %" PRIu64 " B\n", span->interface.rx_bytes);
	printf("Bytes transmitted: %" PRIu64 " B\n", span->interface.tx_bytes);
	printf("Elapsed time     : %.2f s\n", seconds);
	printf("Average Bandwidth:\n");
	printf("\tReceive : %.2f KB/s\n", rx_Bps / 1000);
	printf("\tTransmit: %.2f KB/s\n", tx_Bps / 1000);
	printf("\tTotal   : %.2f KB/s\n", (rx_Bps + tx_Bps) / 1000);
	if (span->reset)
		fprintf(stderr, "meter: the counters of %s were reset during the measurement\n", span->name);
	if (span->wraps)
		fprintf(stderr, "meter: the counters of %s wrapped at 2^32 %u times; corrected\n",
			span->name, span->wraps);
	if (span->clock_steps)
		fprintf(stderr, "meter: the clock was set during the measurement, by %.3f s\n",
			(double)span->clock_step_ns / 1e9);
}

/* Poll the counters until the time is up or a signal arrives. */
static void wait_watching(struct nl_meter_poll *meter_poll, const sigset_t *signals, uint64_t end_ns)
{
	for (;;) {
		uint64_t now = nl_now_ns(), left = now < end_ns ? end_ns - now : 0;
		struct timespec time;

		if (left > NL_METER_POLL_MS * NL_NS_PER_MS)
			left = NL_METER_POLL_MS * NL_NS_PER_MS;
		time = nl_timespec(left);
		if (left == 0 || sigtimedwait(signals, NULL, &time) > 0)
			return;
		nl_meter_poll_read(meter_poll);
	}
}

static int meter_once(const char *interface, uint64_t seconds, int as_json, struct nl_err *err)
{
	static struct nl_meter meter[2]; /* large for a stack */
	static struct nl_meter_span span;
	struct nl_meter_poll meter_poll;
	struct nl_json json = {0};
	sigset_t signals;

	nl_signals_block(&signals); /* an early one ends a short measurement, not the program */
	if (nl_meter_read(interface, &meter[0], err))
		return err->code;
	nl_meter_poll_begin(&meter_poll, &meter[0]);
	wait_watching(&meter_poll, &signals, meter[0].t_ns + seconds * NL_NS_PER_S);
	if (nl_meter_read(interface, &meter[1], err))
		return err->code;
	nl_meter_poll_mark(&meter_poll, &meter[1]);
	nl_meter_diff(&meter[0], &meter[1], &span);
	if (!as_json) {
		print_report(&span);
		return NL_OK;
	}
	nl_json_event(&json, "meter");
	nl_json_span(&json, &span);
	nl_json_close(&json);
	return nl_cli_print(&json, err);
}

int nl_meter_main(int argc, char **argv)
{
	enum { MAX_S = 24 * 3600 };
	uint64_t seconds;
	int json, code;
	const char *interface;
	const struct nl_argument row[] = {
		{.name = "seconds", .value = "N", .initial = "60", .help = "duration of the measurement in s",
		 .min = 1, .max = MAX_S, .count = &seconds},
		{.name = "json", .help = "print a line of JSON, with CPU", .given = &json},
	};
	const struct nl_command_line line = {
		.cmd = argv[0],
		.operand = "INTERFACE",
		.about = "Counts the bytes that the interface receives and transmits, until SIGINT or for\n"
			 "--seconds.\n",
		.row = row,
		.rows = sizeof(row) / sizeof(row[0])};
	struct nl_err err;

	code = nl_cli_arguments(&line, argc, argv, &interface);
	if (code != NL_CLI_GO_ON)
		return code;
	return meter_once(interface, seconds, json, &err) ? nl_cli_fail(argv[0], &err) : 0;
}
