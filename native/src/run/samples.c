#include "run/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "net/sock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SPARE = 16,      /* in addition to the regular ones: go, window edges, end */
	UNTIMED = 8192,  /* samples of a run without a planned end */
	RETRIES = 3,
	ADJACENT_NS = 20000, /* reading a few counters takes far less, unless preempted */
	ADJACENT_STREAM_NS = 200,
	/* at least, between two readings of TCP_INFO without a trace: 50 ms, or as many as keep them, each
	 * of which locks a socket, at a percent or two of a core */
	TCP_MS = 50,
	STREAMS_A_MS = 20,
	DRAIN_MOST_MS = 5000, /* with samples: a drain may be far longer than all before */
};

/* 32 KiB per stream for 10,000 streams. */
static const uint64_t memory_max_B = UINT64_C(320) << 20;

static uint64_t planned_ms(const struct nl_run_opts *opts)
{
	uint64_t drain_ms = opts->drain_ms < DRAIN_MOST_MS ? opts->drain_ms : DRAIN_MOST_MS;

	return opts->warmup_ms + opts->window_ms + opts->tail_ms + drain_ms;
}

int nl_samples_open(const struct nl_run_opts *opts, struct nl_report *report, struct nl_err *err)
{
	uint64_t capacity = UNTIMED, cells, each = 8, most;

	if (opts->window_ms) /* a late sample makes the next one early, by up to half an interval */
		capacity = planned_ms(opts) / opts->interval_ms * 2 + SPARE;
	if (opts->trace)
		each += 3 * sizeof(uint32_t);
	most = memory_max_B / each / opts->streams;
	if (capacity > most) {
		if (opts->window_ms)
			return nl_fail(err, NL_LIMIT,
				       "%" PRIu64 " streams sampled every %" PRIu64 " ms need more than %d MiB: "
				       "make interval_ms %" PRIu64 " or more", opts->streams, opts->interval_ms,
				       (int)(memory_max_B >> 20), most > SPARE + 2 ? planned_ms(opts) / ((most - SPARE) / 2) + 1
							 : UINT64_MAX);
		capacity = most;
	}
	cells = capacity * opts->streams;
	report->interval_ms = opts->interval_ms;
	report->sample_capacity = capacity;
	report->sample_t_ns = calloc(capacity, sizeof(uint64_t));
	report->sample_bytes = calloc(cells, sizeof(uint64_t));
	if (opts->trace) {
		report->trace_rtt_us = calloc(cells, sizeof(uint32_t));
		report->trace_cwnd_segments = calloc(cells, sizeof(uint32_t));
		report->trace_retransmits = calloc(cells, sizeof(uint32_t));
	}
	if (!report->sample_t_ns || !report->sample_bytes ||
	    (opts->trace && (!report->trace_rtt_us || !report->trace_cwnd_segments ||
			     !report->trace_retransmits))) {
		nl_samples_free(report);
		return nl_fail(err, NL_LIMIT, "out of memory for %" PRIu64 " samples", cells);
	}
	return NL_OK;
}

void nl_samples_free(struct nl_report *report)
{
	free(report->sample_t_ns);
	free(report->sample_bytes);
	free(report->trace_rtt_us);
	free(report->trace_cwnd_segments);
	free(report->trace_retransmits);
	report->sample_t_ns = report->sample_bytes = NULL;
	report->trace_rtt_us = report->trace_cwnd_segments = report->trace_retransmits = NULL;
}

static void thin_samples(struct nl_report *report)
{
	uint64_t count = report->sample_count;
	uint32_t *const trace[] = {report->trace_rtt_us, report->trace_cwnd_segments,
				   report->trace_retransmits};

	for (uint64_t k = 0; k < count; k += 2)
		report->sample_t_ns[k / 2] = report->sample_t_ns[k];
	for (uint64_t k = 2; k < count; k += 2) {
		uint64_t to = nl_sample_at(report, 0, k / 2), from = nl_sample_at(report, 0, k);

		memcpy(&report->sample_bytes[to], &report->sample_bytes[from],
		       report->streams * sizeof(*report->sample_bytes));
		for (int t = 0; report->trace_rtt_us && t < 3; t++)
			memcpy(&trace[t][to], &trace[t][from], report->streams * sizeof(*trace[t]));
	}
	report->sample_count = (count + 1) / 2;
	report->interval_ms *= 2;
}

/* A stopped or starved gen takes no samples meanwhile: the one after a pause counts for all of it. Its
 * thread may have sent again by then, so the kernel's count of busy time tells idle time as well. */
static void count_limits(struct nl_stream_report *row, const struct nl_tcp *tcp, uint64_t t_ns, int in_window)
{
	uint64_t passed_us = (t_ns - row->last_sample_ns) / 1000;
	uint64_t busy_us = tcp->busy_us - row->last_busy_us;

	if (tcp->peer_window_B > row->peer_window_max_B)
		row->peer_window_max_B = tcp->peer_window_B;
	if (in_window) {
		row->sampled_us += passed_us;
		if (tcp->notsent_B == 0)
			row->idle_us += passed_us;
		else if (busy_us < passed_us)
			row->idle_us += passed_us - busy_us;
		if (tcp->peer_window_B < row->peer_window_max_B / 4)
			row->closed_us += passed_us;
	}
	row->last_sample_ns = t_ns;
	row->last_busy_us = tcp->busy_us;
}

static void take_tcp(struct nl_report *report, struct nl_stream *stream, uint64_t k)
{
	for (uint64_t i = 0; i < report->streams; i++) {
		struct nl_stream_report *row = &report->per_stream[i];
		uint64_t at = nl_sample_at(report, i, k);
		struct nl_tcp tcp = {0};

		if (nl_tcpinfo_read(stream[i].fd, &tcp) == 0)
			count_limits(row, &tcp, report->sample_t_ns[k], report->window_t0_ns && !report->window_t1_ns);
		row->cwnd_segments = tcp.cwnd_segments;
		if (!row->cwnd_start_segments)
			row->cwnd_start_segments = tcp.cwnd_segments;
		if (tcp.cwnd_segments > row->cwnd_max_segments)
			row->cwnd_max_segments = tcp.cwnd_segments;
		if (!report->trace_rtt_us)
			continue;
		report->trace_rtt_us[at] = (uint32_t)tcp.rtt_us;
		report->trace_cwnd_segments[at] = (uint32_t)tcp.cwnd_segments;
		report->trace_retransmits[at] = (uint32_t)tcp.retransmits;
	}
}

uint64_t nl_samples_take(struct nl_report *report, struct nl_stream *stream)
{
	uint64_t many_ms = report->streams / STREAMS_A_MS, least_ms = many_ms > TCP_MS ? many_ms : TCP_MS;
	uint64_t tcp_each = report->interval_ms < least_ms ? least_ms / report->interval_ms : 1;
	uint64_t k, before, after;

	if (report->sample_count == report->sample_capacity)
		thin_samples(report);
	k = report->sample_count++;
	for (int attempt = 0;; attempt++) {
		before = nl_now_ns();
		for (uint64_t i = 0; i < report->streams; i++)
			report->sample_bytes[nl_sample_at(report, i, k)] = nl_stream_bytes(&stream[i]);
		after = nl_now_ns();
		if (after - before < ADJACENT_NS + ADJACENT_STREAM_NS * report->streams ||
		    attempt == RETRIES)
			break;
	}
	report->sample_t_ns[k] = before + (after - before) / 2;
	if (report->trace_rtt_us || (report->role == NL_GEN && !stream->flow && k % tcp_each == 0))
		take_tcp(report, stream, k);
	return report->sample_t_ns[k];
}
