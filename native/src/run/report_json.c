#include "run/report_json.h"

#include "meter/counters.h"

#include <string.h>

/* Opens the object, for the caller to close. 0 if there is no interface. */
static int put_interface(struct nl_json *j, const char *name, const struct nl_interface *i)
{
	if (!nl_json_open_known(j, "interface", name[0] != '\0'))
		return 0;
	nl_json_text(j, "name", name);
	for (int k = 0; k < NL_INTERFACE_COUNTERS; k++)
		nl_json_u64(j, nl_interface_counters[k].name, nl_counter_get(&nl_interface_counters[k], i));
	return 1;
}

static void put_cpus(struct nl_json *j, const struct nl_cpu *c, uint64_t cpus)
{
	nl_json_array(j, "cpu");
	for (const struct nl_cpu *end = c + cpus; c < end; c++) {
		nl_json_open(j, NULL);
		nl_json_u64(j, "cpu", c->cpu);
		for (int i = 0; i < NL_CPU_TIMES; i++)
			nl_json_u64(j, nl_cpu_times[i].name, nl_counter_get(&nl_cpu_times[i], c));
		/* null where the host does not report them */
		nl_json_known(j, "frequency_kHz", c->frequency_kHz != 0, c->frequency_kHz);
		nl_json_known(j, "first_frequency_kHz", c->first_frequency_kHz != 0, c->first_frequency_kHz);
		nl_json_known(j, "throttled", c->throttled >= 0, (uint64_t)c->throttled);
		nl_json_close(j);
	}
	nl_json_array_end(j);
}

static void put_softnet(struct nl_json *j, uint64_t known, uint64_t processed, uint64_t dropped,
			uint64_t time_squeeze)
{
	if (!nl_json_open_known(j, "softnet", known != 0))
		return;
	PUT_MEMBERS(j, {"processed", processed}, {"dropped", dropped}, {"time_squeeze", time_squeeze});
	nl_json_close(j);
}

/* The counters that a snapshot and a span have alike. */
#define PUT_HOST(j, from)                                                                          \
	do {                                                                                       \
		put_cpus(j, (from)->cpu, (from)->cpus);                                            \
		PUT_MEMBERS(j, OF(from, interrupts), OF(from, context_switches));                  \
		put_softnet(j, (from)->has_softnet, (from)->softnet_processed,                     \
			    (from)->softnet_dropped, (from)->softnet_time_squeeze);                \
		PUT_OBJECT(j, "process", {"user_us", (from)->process_user_us},                     \
			   {"system_us", (from)->process_system_us});                              \
	} while (0)

void nl_json_span(struct nl_json *j, const struct nl_meter_span *span)
{
	PUT_MEMBERS(j, OF(span, t0_ns), OF(span, t1_ns));
	nl_json_open(j, "clock");
	nl_json_u64(j, "steps", span->clock_steps);
	nl_json_i64(j, "step_ns", span->clock_step_ns);
	nl_json_i64(j, "drift_ns", span->clock_drift_ns);
	nl_json_u64(j, "unsure_ns", span->clock_unsure_ns);
	nl_json_close(j);
	if (put_interface(j, span->name, &span->interface)) {
		nl_json_u64(j, "wraps", span->wraps);
		nl_json_bool(j, "reset", (int)span->reset);
		nl_json_close(j);
	}
	PUT_HOST(j, span);
}

void nl_json_snapshot(struct nl_json *j, const struct nl_meter *meter)
{
	nl_json_u64(j, "t_ns", meter->t_ns);
	if (put_interface(j, meter->name, &meter->interface))
		nl_json_close(j);
	PUT_HOST(j, meter);
}

void nl_json_others(struct nl_json *j, const struct nl_others *others)
{
	if (!nl_json_open_known(j, "others", others->known != 0))
		return;
	nl_json_i64(j, "pid", others->pid);
	PUT_MEMBERS(j, OF(others, born_ticks), OF(others, t0_ns), OF(others, t1_ns),
		    OF(others, cpu_us));
	nl_json_array(j, "top");
	for (uint64_t n = 0; n < others->top_count; n++) {
		nl_json_open(j, NULL);
		nl_json_i64(j, "pid", others->top[n].pid);
		nl_json_text(j, "name", others->top[n].name);
		PUT_MEMBERS(j, OF(&others->top[n], born_ticks), OF(&others->top[n], cpu_us));
		nl_json_close(j);
	}
	nl_json_array_end(j);
	nl_json_close(j);
}

static void put_card(struct nl_json *j, const struct nl_card *card)
{
	if (!nl_json_open_known(j, "card", card->known != 0))
		return;
	for (uint64_t n = 0; n < card->count; n++)
		nl_json_u64(j, card->counter[n].name, card->counter[n].grown);
	nl_json_close(j);
}

static void put_tcp(struct nl_json *j, const char *key, int known, const struct nl_tcp *tcp)
{
	if (!nl_json_open_known(j, key, known))
		return;
	PUT_MEMBERS(j, OF(tcp, rtt_us), OF(tcp, rttvar_us), OF(tcp, min_rtt_us),
		   OF(tcp, cwnd_segments), OF(tcp, ssthresh_segments), OF(tcp, mss_B),
		   OF(tcp, rcv_mss_B), OF(tcp, pmtu_B), OF(tcp, retransmits), OF(tcp, lost), OF(tcp, reordering),
		   OF(tcp, busy_us), OF(tcp, rwnd_limited_us), OF(tcp, sndbuf_limited_us),
		   OF(tcp, bytes_acked), OF(tcp, bytes_received), OF(tcp, bytes_sent),
		   OF(tcp, bytes_retransmitted), OF(tcp, segs_out), OF(tcp, segs_in),
		   OF(tcp, delivered_ce), OF(tcp, delivery_rate_Bps), OF(tcp, rcv_space_B), OF(tcp, snd_wscale),
		   OF(tcp, rcv_wscale), OF(tcp, options), OF(tcp, notsent_B), OF(tcp, peer_window_B));
	nl_json_close(j);
}

static void put_udp(struct nl_json *j, const struct nl_stream_report *row)
{
	const struct nl_udp *udp = &row->udp;

	if (!nl_json_open_known(j, "udp", row->has_udp != 0))
		return;
	PUT_MEMBERS(j, OF(udp, sent), OF(udp, skipped), OF(udp, received), OF(udp, lost), OF(udp, reordered),
		    OF(udp, duplicates), OF(udp, invalid), OF(udp, bursts), OF(udp, burst_max), OF(udp, jitter_ns),
		    OF(udp, socket_drops));
	nl_json_close(j);
}

static void put_stream(struct nl_json *j, const struct nl_stream_report *row)
{
	nl_json_open(j, NULL);
	PUT_MEMBERS(j, OF(row, stream), OF(row, bytes), OF(row, window_bytes), OF(row, calls),
		    OF(row, t_first_ns), OF(row, t_last_ns), OF(row, t_end_ns),
		    OF(row, sndbuf_start_B), OF(row, rcvbuf_start_B), OF(row, sndbuf_B),
		    OF(row, rcvbuf_B), OF(row, cwnd_start_segments), OF(row, cwnd_t0_segments),
		    OF(row, cwnd_max_segments), OF(row, sampled_us), OF(row, idle_us), OF(row, closed_us),
		    OF(row, pacing_Bps), OF(row, dscp), OF(row, mss_B),
		    OF(row, nodelay), OF(row, busy_poll_us), OF(row, moves));
	nl_json_known(j, "cpu", row->cpu >= 0, (uint64_t)row->cpu);
	nl_json_known(j, "incoming_cpu", row->incoming_cpu >= 0, (uint64_t)row->incoming_cpu);
	nl_json_known(j, "napi_id", row->napi_id != 0, row->napi_id);
	nl_json_text(j, "congestion", row->congestion);
	nl_json_i64(j, "errno", row->errnum);
	put_udp(j, row);
	put_tcp(j, "tcp", row->has_tcp != 0, &row->tcp);
	put_tcp(j, "tcp_t1", row->has_tcp_t1 != 0, &row->tcp_t1);
	nl_json_close(j);
}

/* A table of samples: `rows` rows of sample_count values, those of a stream, or the times. */
struct sample_table {
	const char *key;
	uint64_t rows;
	const uint64_t *wide; /* either this */
	const uint32_t *narrow;
};

enum { BYTES = 1, TRACE, TABLES = 5 }; /* the last three are the trace */

static void sample_tables(const struct nl_report *r, struct sample_table table[TABLES])
{
	const uint64_t traced = r->trace_rtt_us ? r->streams : 0;
	const struct sample_table all[TABLES] = {
		{"t_ns", 1, r->sample_t_ns, NULL},
		{"bytes", r->streams, r->sample_bytes, NULL},
		{"rtt_us", traced, NULL, r->trace_rtt_us},
		{"cwnd_segments", traced, NULL, r->trace_cwnd_segments},
		{"retransmits", traced, NULL, r->trace_retransmits},
	};

	memcpy(table, all, sizeof(all));
}

static uint64_t sample_of(const struct sample_table *table, uint64_t row, uint64_t k)
{
	uint64_t at = k * table->rows + row;

	return table->wide ? table->wide[at] : table->narrow[at];
}

static void put_row(struct nl_json *j, const char *key, const struct nl_report *r,
		    const struct sample_table *table, uint64_t row)
{
	nl_json_array(j, key);
	for (uint64_t k = 0; k < r->sample_count; k++)
		nl_json_u64(j, NULL, sample_of(table, row, k));
	nl_json_array_end(j);
}

static void put_rows(struct nl_json *j, const struct nl_report *r, const struct sample_table *table)
{
	nl_json_array(j, table->key);
	for (uint64_t i = 0; i < table->rows; i++)
		put_row(j, NULL, r, table, i);
	nl_json_array_end(j);
}

/* Samples and trace; parts: the number of lines that had their values already, or 0. */
static void put_samples(struct nl_json *j, const struct nl_report *r, uint64_t parts)
{
	struct sample_table table[TABLES];

	sample_tables(r, table);
	nl_json_open(j, "samples");
	nl_json_u64(j, "interval_ms", r->interval_ms);
	if (parts) {
		PUT_MEMBERS(j, {"count", r->sample_count}, {"parts", parts});
	} else {
		put_row(j, "t_ns", r, &table[0], 0);
		put_rows(j, r, &table[BYTES]);
	}
	nl_json_close(j);
	if (!nl_json_open_known(j, "trace", r->trace_rtt_us != NULL))
		return;
	for (int t = TRACE; !parts && t < TABLES; t++)
		put_rows(j, r, &table[t]);
	nl_json_close(j);
}

static void put_meters(struct nl_json *j, const struct nl_report *r)
{
	if (!nl_json_open_known(j, "meter", r->has_meter != 0))
		return;
	for (int total = 0; total < 2; total++) {
		nl_json_open(j, total ? "total" : "window");
		nl_json_span(j, total ? &r->meter_total : &r->meter_window);
		nl_json_close(j);
	}
	nl_json_close(j);
}

/* The probes that were sent at [from_ns, until_ns); sums first, then times and RTT of each. */
static void put_phase(struct nl_json *j, const char *key, const struct nl_latency *l, uint64_t from_ns,
		      uint64_t until_ns)
{
	uint64_t first = 0, end, received = 0, reordered = 0, duplicates = 0;

	while (first < l->count && l->row[first].t_ns < from_ns)
		first++;
	for (end = first; end < l->count && l->row[end].t_ns < until_ns; end++) {
		received += l->row[end].rtt_us != UINT32_MAX;
		reordered += l->row[end].reordered;
		duplicates += l->row[end].duplicates;
	}
	nl_json_open(j, key);
	PUT_MEMBERS(j, {"sent", end - first}, {"received", received}, {"reordered", reordered},
		    {"duplicates", duplicates});
	nl_json_array(j, "t_ns");
	for (uint64_t i = first; i < end; i++)
		nl_json_u64(j, NULL, l->row[i].t_ns);
	nl_json_array_end(j);
	nl_json_array(j, "rtt_us");
	for (uint64_t i = first; i < end; i++)
		nl_json_known(j, NULL, l->row[i].rtt_us != UINT32_MAX, l->row[i].rtt_us);
	nl_json_array_end(j);
	nl_json_array(j, "arrived_ns");
	for (uint64_t i = first; i < end; i++)
		nl_json_known(j, NULL, l->row[i].rtt_us != UINT32_MAX, l->row[i].arrived_ns);
	nl_json_array_end(j);
	nl_json_close(j);
}

static void put_latency(struct nl_json *j, const char *key, const struct nl_report *r, const struct nl_latency *l)
{
	if (!nl_json_open_known(j, key, l->interval_ms != 0))
		return;
	PUT_MEMBERS(j, OF(l, interval_ms), {r->role == NL_GEN ? "sent" : "answered", l->count}, OF(l, foreign),
		    OF(l, invalid), OF(l, dropped), OF(l, clock_steps));
	if (r->role == NL_GEN) {
		put_phase(j, "idle", l, 0, l->t_idle_end_ns);
		put_phase(j, "warmup", l, r->t_go_ns, r->window_t0_ns);
		put_phase(j, "loaded", l, r->window_t0_ns, r->window_t1_ns);
		put_phase(j, "after", l, l->t_after_ns ? l->t_after_ns : UINT64_MAX, UINT64_MAX);
	}
	nl_json_close(j);
}

/* The engine and method in use; `zerocopy` is null for other methods. */
static void put_engine(struct nl_json *j, const struct nl_report *r)
{
	nl_json_text(j, "engine", r->engine);
	nl_json_u64(j, "threads", r->threads);
	nl_json_text(j, r->role == NL_GEN ? "send" : "receive", r->method);
	nl_json_open(j, "policy");
	nl_json_known(j, "batch_B", r->policy.batch_B != UINT64_MAX, r->policy.batch_B);
	nl_json_known(j, "yield_B", r->policy.yield_B != UINT64_MAX, r->policy.yield_B);
	nl_json_bool(j, "read_delay", r->policy.read_delay);
	nl_json_bool(j, "sched_batch", r->policy.sched_batch);
	nl_json_bool(j, "spread", r->policy.spread);
	nl_json_u64(j, "spread_errno", (uint64_t)r->policy.spread_errno);
	nl_json_close(j);
	if (!nl_json_open_known(j, "zerocopy", strcmp(r->method, "zerocopy") == 0))
		return;
	if (r->role == NL_GEN)
		PUT_MEMBERS(j, OF(r, completed_bytes), OF(r, copied_bytes));
	else
		PUT_MEMBERS(j, OF(r, mapped_bytes),
			    {"copied_bytes", r->total_bytes - r->mapped_bytes});
	nl_json_close(j);
}

static void put_report(struct nl_json *j, const struct nl_report *r, uint64_t parts)
{
	static const char *const status_name[] = {"ok", "stopped", "timeout", "error"};
	const struct nl_rejected *no = &r->rejected;

	nl_json_event(j, r->role == NL_GEN ? "gen_result" : "sink_result");
	nl_json_u64(j, "run", r->run);
	nl_json_text(j, "status", status_name[r->status]);
	nl_json_text(j, "code", r->err.code == NL_OK ? NULL : nl_code_name(r->err.code));
	nl_json_text(j, "message", r->status == NL_STATUS_OK ? NULL : r->err.message);
	nl_json_u64(j, "streams", r->streams);
	if (r->role == NL_SINK) {
		nl_json_u64(j, "accepted", r->accepted);
		PUT_OBJECT(j, "rejected", {"short", no->too_short}, OF(no, magic), OF(no, version),
			   OF(no, run), OF(no, stream), OF(no, token), OF(no, twice), OF(no, late),
			   OF(no, address), OF(no, evicted),
			   OF(no, datagrams));
	} else {
		nl_json_u64(j, "t_let_go_ns", r->t_let_go_ns);
	}
	put_engine(j, r);
	PUT_MEMBERS(j, OF(r, t_go_ns), OF(r, t_first_byte_ns), OF(r, t_last_byte_ns));
	PUT_OBJECT(j, "window", {"t0_ns", r->window_t0_ns}, {"t1_ns", r->window_t1_ns},
		   {"bytes", r->window_bytes});
	PUT_MEMBERS(j, OF(r, total_bytes), OF(r, interval_sum_bytes),
		    {"watch_cpu_us", r->watch_cpu_ns / 1000},
		    {"watch_late_us", r->watch_late_ns / 1000}, {"waited_us", r->waited_ns / 1000});
	nl_json_array(j, "per_stream");
	for (uint64_t i = 0; i < r->streams; i++)
		put_stream(j, &r->per_stream[i]);
	nl_json_array_end(j);
	put_samples(j, r, parts);
	put_meters(j, r);
	nl_json_others(j, &r->others);
	put_card(j, &r->card);
	put_latency(j, "latency", r, &r->latency[0]);
	put_latency(j, "latency_tcp", r, &r->latency[1]);
	nl_json_close(j);
}

/* -- samples in parts ---------------------------------------------------------- */

enum { LARGE_VALUES = 1000 * 1000, PART_VALUES = 64 * 1024 };

/* Values are numbered through all tables, row by row; *at is the first of the next part. */
int nl_json_report_part(struct nl_json *j, const struct nl_report *r, uint64_t *at)
{
	struct sample_table table[TABLES];
	uint64_t first = *at, parts = 0, n = r->sample_count;
	int is_large = n * r->streams * (r->trace_rtt_us ? 4 : 1) > LARGE_VALUES;

	if (first == UINT64_MAX)
		return 0;
	sample_tables(r, table);
	for (int t = 0; is_large && t < TABLES; t++) {
		uint64_t values = table[t].rows * n;

		parts += (values + PART_VALUES - 1) / PART_VALUES;
		if (first >= values) {
			first -= values;
			continue;
		}
		nl_json_event(j, "samples");
		nl_json_u64(j, "run", r->run);
		nl_json_text(j, "role", r->role == NL_GEN ? "gen" : "sink");
		nl_json_text(j, "table", table[t].key);
		nl_json_u64(j, "first", first);
		nl_json_array(j, "values");
		for (uint64_t i = first; i < values && i < first + PART_VALUES; i++)
			nl_json_u64(j, NULL, sample_of(&table[t], i / n, i % n));
		nl_json_array_end(j);
		nl_json_close(j);
		*at += values - first < PART_VALUES ? values - first : PART_VALUES;
		return 1;
	}
	put_report(j, r, parts);
	*at = UINT64_MAX;
	return 1;
}

void nl_json_report(struct nl_json *j, const struct nl_report *r)
{
	put_report(j, r, 0);
}
