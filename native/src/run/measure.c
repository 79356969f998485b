/* The timed part of a run: threads that move bytes, and one that controls them.
 *
 * The controlling thread is the caller's. It sleeps to absolute times, takes samples, marks the
 * window and ends the streams. The end of the last stream or a stop request wakes it early. */
#include "base/clock.h"
#include "base/dealt.h"
#include "base/error.h"
#include "io/worker.h"
#include "meter/card.h"
#include "meter/meter_poll.h"
#include "meter/processes.h"
#include "net/sock.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BEFORE, AT_T0, AT_T1, AFTER, SNAPSHOTS };

enum { CALM_MS = 100 };

enum phase { WARMING, IN_WINDOW, PAST_WINDOW, DRAINING, ABORTING };

struct watch {
	struct nl_run *run;
	struct nl_worker *worker; /* [threads] */
	struct nl_meter *meter;   /* [SNAPSHOTS] */
	struct nl_meter_poll meter_poll;
	/* Before the warm-up, and again after the last stream: a scan of many processes takes some
	 * ms. Empty: not known. */
	struct nl_process_scan others;
	struct nl_card_scan card;      /* the same */
	enum phase phase;
	uint64_t sample_due_ns, poll_due_ns;
	uint64_t end_due_ns;   /* a gen stops sending, or the drain times out; 0: never */
	uint64_t last_bytes;   /* untimed: total at the last check for progress */
};

static void fail_run(struct nl_run *run, int status, const struct nl_err *err)
{
	if (run->report.status == NL_STATUS_OK) {
		run->report.status = status;
		run->report.err = *err;
	}
}

static void take_meter(struct watch *watch, int which)
{
	struct nl_meter *now = &watch->meter[which];
	struct nl_run *run = watch->run;
	struct nl_err err;

	/* a vanished interface shows as a reset of the counters: ifindex 0 */
	if (nl_meter_read(run->opts.interface, now, &err) && nl_meter_read(NULL, now, &err)) {
		*now = watch->meter[BEFORE];
		fail_run(run, NL_STATUS_ERROR, &err);
	} else {
		nl_meter_poll_mark(&watch->meter_poll, now);
	}
	memcpy(now->name, watch->meter[BEFORE].name, sizeof(now->name));
}

static void open_window(struct watch *watch, uint64_t t_ns)
{
	struct nl_report *report = &watch->run->report;
	uint64_t k = report->sample_count - 1;

	report->window_t0_ns = t_ns;
	for (uint64_t i = 0; i < report->streams; i++) {
		struct nl_stream_report *row = &report->per_stream[i];

		row->window_bytes = report->sample_bytes[nl_sample_at(report, i, k)];
		row->cwnd_t0_segments = row->cwnd_segments;
	}
	watch->phase = IN_WINDOW;
	if (watch->run->opts.role == NL_GEN && watch->run->opts.window_ms)
		watch->run->transfer.end_ns =
			t_ns + (watch->run->opts.window_ms + watch->run->opts.tail_ms) * NL_NS_PER_MS;
}

static void close_window(struct watch *watch, uint64_t t_ns)
{
	struct nl_report *report = &watch->run->report;
	uint64_t k = report->sample_count - 1;

	report->window_t1_ns = t_ns;
	report->window_bytes = 0;
	for (uint64_t i = 0; i < report->streams; i++) {
		struct nl_stream_report *row = &report->per_stream[i];

		row->window_bytes =
			report->sample_bytes[nl_sample_at(report, i, k)] - row->window_bytes;
		report->window_bytes += row->window_bytes;
	}
	watch->phase = PAST_WINDOW;
}

/* Time of the next edge of the window; 0: none. */
static uint64_t edge_due(const struct watch *watch)
{
	const struct nl_run_opts *opts = &watch->run->opts;
	const struct nl_report *report = &watch->run->report;

	if (watch->phase == WARMING)
		return report->t_go_ns + opts->warmup_ms * NL_NS_PER_MS;
	if (watch->phase == IN_WINDOW && opts->window_ms)
		return report->window_t0_ns + opts->window_ms * NL_NS_PER_MS;
	return 0;
}

static uint64_t next_due(const struct watch *watch)
{
	uint64_t edge = edge_due(watch), due = watch->sample_due_ns;
	uint64_t half = watch->run->report.interval_ms * NL_NS_PER_MS / 2;

	/* an edge close by replaces the sample, so that no interval is tiny */
	if (edge && edge < due + half)
		due = edge;
	if (watch->end_due_ns && watch->end_due_ns < due)
		due = watch->end_due_ns;
	return watch->poll_due_ns < due ? watch->poll_due_ns : due;
}

static void plan_sample(struct watch *watch, uint64_t t_ns)
{
	uint64_t interval = watch->run->report.interval_ms * NL_NS_PER_MS;
	uint64_t past = t_ns + interval / 2 - watch->run->report.t_go_ns;

	/* multiples of the interval since go: late samples cause no drift */
	watch->sample_due_ns = watch->run->report.t_go_ns + (past / interval + 1) * interval;
}

static void at_t1(struct watch *watch, uint64_t t_ns)
{
	struct nl_run *run = watch->run;

	close_window(watch, t_ns);
	if (run->opts.role == NL_SINK) /* before the meter, which may have to wait */
		nl_sink_over(run);
	take_meter(watch, AT_T1);
	if (run->opts.role == NL_SINK) {
		watch->end_due_ns = t_ns + run->opts.drain_ms * NL_NS_PER_MS;
		return;
	}
	watch->end_due_ns = run->transfer.end_ns;
	for (uint64_t i = 0; i < run->opts.streams; i++) {
		struct nl_stream_report *row = &run->report.per_stream[i];

		row->has_tcp_t1 = !run->opts.udp && nl_tcpinfo_read(run->transfer.stream[i].fd, &row->tcp_t1) == 0;
	}
}

static void watch_sample(struct watch *watch)
{
	struct nl_run *run = watch->run;
	uint64_t edge = edge_due(watch), t_ns;

	/* a long drain: keep the last one for the end, and those of the window as they are */
	if (run->opts.window_ms && watch->phase >= PAST_WINDOW &&
	    run->report.sample_count + 1 >= run->report.sample_capacity) {
		plan_sample(watch, nl_now_ns());
		return;
	}
	t_ns = nl_samples_take(&run->report, run->transfer.stream);
	if (edge && t_ns >= edge) {
		if (watch->phase == WARMING) {
			open_window(watch, t_ns);
			take_meter(watch, AT_T0);
		} else {
			at_t1(watch, t_ns);
		}
	}
	plan_sample(watch, t_ns);
}

static void poll_meter(struct watch *watch, uint64_t now)
{
	uint64_t edge = edge_due(watch);

	watch->poll_due_ns = now + NL_METER_POLL_MS * NL_NS_PER_MS;
	nl_workers_follow(&watch->run->transfer, watch->worker);
	/* a query may block while another process configures an interface: skip it before an edge,
	 * whose snapshot is a reading as well */
	if (!edge || edge > now + CALM_MS * NL_NS_PER_MS)
		nl_meter_poll_read(&watch->meter_poll);
}

static void abort_streams(struct watch *watch, int status, const struct nl_err *err)
{
	fail_run(watch->run, status, err);
	nl_workers_shut(&watch->run->transfer, SHUT_RDWR);
	watch->phase = ABORTING;
	watch->end_due_ns = 0;
}

static void at_end(struct watch *watch, uint64_t now)
{
	struct nl_run *run = watch->run;
	struct nl_err err;

	if (run->opts.role == NL_GEN && watch->phase == PAST_WINDOW) {
		/* the threads end by themselves, but one that is blocked in send() */
		if (!nl_transfer_over(&run->transfer)) {
			watch->end_due_ns = now + NL_NS_PER_MS;
			return;
		}
		if (!run->opts.udp) /* whose threads never block, and say on the connection what they sent */
			nl_workers_shut(&run->transfer, SHUT_WR);
		watch->phase = DRAINING;
		watch->end_due_ns = now + run->opts.drain_ms * NL_NS_PER_MS;
		return;
	}
	if (run->opts.window_ms == 0) {
		/* an untimed run ends when its streams make no progress */
		uint64_t bytes = nl_streams_bytes(run->transfer.stream, run->opts.streams);

		if (bytes != watch->last_bytes) {
			watch->last_bytes = bytes;
			watch->end_due_ns = now + run->opts.drain_ms * NL_NS_PER_MS;
			return;
		}
	}
	nl_fail(&err, NL_TIMEOUT, "streams did not end in %" PRIu64 " ms", run->opts.drain_ms);
	abort_streams(watch, NL_STATUS_TIMEOUT, &err);
}

/* Sleep until due or until all streams have ended; 1 if they have. */
static int sleep_until(struct nl_run *run, uint64_t due_ns, int aborting)
{
	struct timespec due = nl_timespec(due_ns);
	int ended;

	pthread_mutex_lock(&run->transfer.lock);
	while (run->transfer.live > 0 && (aborting || !atomic_load(&run->stop_requested)))
		if (pthread_cond_timedwait(&run->transfer.changed, &run->transfer.lock, &due) == ETIMEDOUT)
			break;
	ended = run->transfer.live == 0;
	pthread_mutex_unlock(&run->transfer.lock);
	return ended;
}

static void watch_streams(struct watch *watch)
{
	struct nl_run *run = watch->run;
	struct nl_err stopped;

	nl_fail(&stopped, NL_OK, "stopped on request");
	for (;;) {
		uint64_t due = next_due(watch), now, edge;

		if (sleep_until(run, due, watch->phase == ABORTING))
			break;
		now = nl_now_ns();
		edge = edge_due(watch);
		if (now > due && now - due > run->report.watch_late_ns)
			run->report.watch_late_ns = now - due;
		if (watch->phase != ABORTING && atomic_load(&run->stop_requested))
			abort_streams(watch, NL_STATUS_STOPPED, &stopped);
		if (now >= watch->sample_due_ns || (edge && now >= edge))
			watch_sample(watch);
		if (now >= watch->poll_due_ns)
			poll_meter(watch, now);
		if (watch->end_due_ns && now >= watch->end_due_ns)
			at_end(watch, now);
	}
	/* the peer may have been stopped first, and have ended these streams */
	if (atomic_load(&run->stop_requested))
		fail_run(run, NL_STATUS_STOPPED, &stopped);
}

/* -- the report ------------------------------------------------------------------ */

/* Nothing was sent after the last stream ended: there ends a window that was closed later. */
static void end_window_with_streams(struct nl_report *report)
{
	uint64_t *t1_ns = &report->sample_t_ns[report->sample_count - 1];

	if (report->t_last_byte_ns >= report->window_t1_ns ||
	    report->t_last_byte_ns <= report->window_t0_ns)
		return;
	while (*t1_ns > report->window_t1_ns)
		t1_ns--;
	*t1_ns = report->window_t1_ns = report->t_last_byte_ns;
}

static void collect_report(struct nl_run *run)
{
	struct nl_report *report = &run->report;
	uint64_t due_ns = report->window_t1_ns;
	struct nl_err err;

	if (run->opts.role == NL_GEN) /* the thread that closes the window may have come late */
		due_ns = report->window_t0_ns + run->opts.window_ms * NL_NS_PER_MS;
	for (uint64_t i = 0; i < run->opts.streams; i++) {
		const struct nl_stream *stream = &run->transfer.stream[i];
		struct nl_stream_report *row = &report->per_stream[i];
		uint64_t last_ns = stream->stamped ? stream->t_last_ns : stream->t_end_ns;
		uint64_t until_ns = stream->end_ns ? nl_sooner(stream->end_ns, due_ns) : due_ns;

		row->errnum = stream->errnum;
		row->bytes = nl_stream_bytes(stream);
		row->calls = atomic_load_explicit(&stream->calls, memory_order_relaxed);
		row->t_first_ns = stream->t_first_ns;
		row->t_last_ns = stream->t_last_ns;
		row->t_end_ns = stream->t_end_ns;
		report->completed_bytes += stream->completed_bytes;
		report->copied_bytes += stream->copied_bytes;
		report->mapped_bytes += stream->mapped_bytes;
		report->total_bytes += row->bytes;
		for (uint64_t k = 1; k < report->sample_count; k++)
			report->interval_sum_bytes += report->sample_bytes[nl_sample_at(report, i, k)] -
						      report->sample_bytes[nl_sample_at(report, i, k - 1)];
		if (row->t_first_ns && (!report->t_first_byte_ns ||
					row->t_first_ns < report->t_first_byte_ns))
			report->t_first_byte_ns = row->t_first_ns;
		if (last_ns > report->t_last_byte_ns)
			report->t_last_byte_ns = last_ns;
		if (row->errnum) {
			nl_fail_errno(&err, row->errnum, "stream %" PRIu64, i);
			err.code = NL_PEER;
			fail_run(run, NL_STATUS_ERROR, &err);
		} else if (run->opts.window_ms && row->t_end_ns < until_ns) {
			nl_fail(&err, NL_PEER, "stream %" PRIu64 " ended before the window did", i);
			fail_run(run, NL_STATUS_ERROR, &err);
		}
	}
	if (run->opts.role == NL_GEN && run->opts.window_ms)
		end_window_with_streams(report);
}

static void watch_conclude(struct watch *watch)
{
	struct nl_run *run = watch->run;
	struct nl_report *report = &run->report;
	uint64_t t_ns = nl_samples_take(report, run->transfer.stream);
	int timed_window_done = watch->phase != WARMING &&
				(report->window_t1_ns || run->opts.role == NL_GEN);
	struct nl_card_scan card;
	struct nl_err err;

	take_meter(watch, AFTER);
	nl_process_since(&watch->others, &report->others);
	if (watch->card.count && nl_card_scan(run->opts.interface, &card) == 0) {
		nl_card_diff(&watch->card, &card, &report->card);
		nl_card_scan_free(&card);
	}
	if (report->window_t0_ns == 0) {
		open_window(watch, t_ns);
		watch->meter[AT_T0] = watch->meter[AFTER];
	}
	if (report->window_t1_ns == 0) {
		close_window(watch, t_ns);
		watch->meter[AT_T1] = watch->meter[AFTER];
	}
	if (run->opts.window_ms && !timed_window_done) {
		nl_fail(&err, NL_PEER, "the streams ended before the window did");
		fail_run(run, NL_STATUS_ERROR, &err);
	}
	collect_report(run);
	nl_meter_diff(&watch->meter[AT_T0], &watch->meter[AT_T1], &report->meter_window);
	nl_meter_diff(&watch->meter[BEFORE], &watch->meter[AFTER], &report->meter_total);
	report->has_meter = 1;
}

/* Times of the streams that do not start or end with the run. */
static void plan_streams(struct nl_run *run)
{
	const struct nl_run_opts *opts = &run->opts;

	for (uint64_t i = 0; i < opts->streams; i++) {
		struct nl_stream *stream = &run->transfer.stream[i];
		uint64_t start_ms = nl_dealt_number(opts->starts_ms, i), end_ms = nl_dealt_number(opts->ends_ms, i);

		stream->start_ns = start_ms ? run->report.t_go_ns + start_ms * NL_NS_PER_MS : 0;
		stream->end_ns = end_ms ? run->report.t_go_ns + end_ms * NL_NS_PER_MS : 0;
	}
}

static int watch_begin(struct watch *watch, uint64_t deadline_ns, struct nl_err *err)
{
	struct nl_run *run = watch->run;
	int code = NL_OK;

	nl_process_scan(&watch->others, NL_SCAN_FIRST);
	nl_card_scan(run->opts.interface, &watch->card);
	if (run->opts.role == NL_GEN)
		code = nl_gen_go(run, deadline_ns, err);
	if (!code)
		code = nl_meter_read(run->opts.interface, &watch->meter[BEFORE], err);
	if (code || atomic_load(&run->stop_requested))
		return code;
	nl_meter_poll_begin(&watch->meter_poll, &watch->meter[BEFORE]);
	run->report.t_go_ns = nl_samples_take(&run->report, run->transfer.stream);
	if (run->opts.warmup_ms == 0) {
		open_window(watch, run->report.t_go_ns);
		watch->meter[AT_T0] = watch->meter[BEFORE];
	}
	if (run->opts.window_ms == 0)
		watch->end_due_ns = run->report.t_go_ns + run->opts.drain_ms * NL_NS_PER_MS;
	else if (run->opts.role == NL_GEN)
		run->transfer.end_ns =
			run->report.t_go_ns + NL_NS_PER_MS * (run->opts.warmup_ms + run->opts.window_ms +
							      run->opts.tail_ms);
	plan_streams(run);
	plan_sample(watch, run->report.t_go_ns);
	watch->poll_due_ns = run->report.t_go_ns + NL_METER_POLL_MS * NL_NS_PER_MS;
	nl_workers_release(&run->transfer);
	if (run->opts.role == NL_SINK)
		code = nl_sink_go(run, err);
	if (!code && run->opts.await_start_ms)
		run->on_step(run->step_context, "running");
	if (run->opts.role == NL_SINK && !run->opts.window_ms)
		nl_sink_over(run);
	if (code)
		abort_streams(watch, NL_STATUS_ERROR, err);
	return NL_OK;
}

int nl_run_measure(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err)
{
	struct nl_worker *worker = calloc(run->report.threads, sizeof(*worker));
	struct watch watch = {.run = run, .worker = worker, .phase = WARMING};
	uint64_t started = 0, cpu_ns = nl_thread_cpu_ns();
	int refused = 0, code;

	watch.meter = calloc(SNAPSHOTS, sizeof(*watch.meter));
	if (!worker || !watch.meter)
		code = nl_fail_errno(err, ENOMEM, "memory for %" PRIu64 " threads", run->report.threads);
	else
		code = nl_workers_start(&run->transfer, worker, &started, &refused, err);
	if (!code && refused) {
		run->report.policy.spread = 0;
		run->report.policy.spread_errno = refused;
	}
	if (!code)
		code = watch_begin(&watch, deadline_ns, err);
	if (run->report.t_go_ns)
		watch_streams(&watch);
	else
		nl_workers_shut(&run->transfer, SHUT_RDWR);
	nl_workers_join(&run->transfer, worker, started);
	for (uint64_t i = 0; i < started; i++)
		run->report.waited_ns += worker[i].waited_ns;
	if (run->report.t_go_ns) {
		watch_conclude(&watch);
		run->report.watch_cpu_ns = nl_thread_cpu_ns() - cpu_ns;
	}
	nl_process_scan_free(&watch.others);
	nl_card_scan_free(&watch.card);
	free(watch.meter);
	free(worker);
	return code;
}
