#include "emulator/emulate_report.h"

#include "base/clock.h"

/* Upper bounds of the bins; the last one is open. */
static const uint64_t bin_us[NL_LATENESS_BINS - 1] = {10,  20,   50,   100,  200,  500,
						      1000, 2000, 5000, 10000, 20000};

/* Flag thresholds: late if more than one piece in LATE_ONE_IN was; short of CPU if runnable but
 * waiting for more than this percentage of the time. */
enum { LATE_ONE_IN = 100, WAITED_PERCENT = 5 };

void nl_emulate_report_begin(struct nl_emulate_report *r, int links, uint64_t now_ns, uint64_t sample_ms,
			     uint64_t late_us)
{
	r->links = links;
	r->begun_ns = r->next_sample_ns = now_ns;
	r->sample_ns = sample_ms * 1000000;
	r->late_ns = late_us * 1000;
	nl_process_cpu_us(r->cpu0_us);
	r->waited0_ns = nl_thread_waited_ns();
}

void nl_emulate_report_restart(struct nl_emulate_report *r, struct nl_link link[NL_LINKS],
			       uint64_t now_ns, uint64_t sample_ms)
{
	r->samples = 0;
	r->sample_ns = sample_ms * 1000000;
	r->next_sample_ns = now_ns;
	r->busy_max_ns = 0;
	for (int i = 0; i < r->links; i++) {
		struct nl_link_count *c = &link[i].count;

		r->lateness[i].max_ns = 0;
		nl_link_queue(&link[i], now_ns, &c->max_queue_B, &c->max_queue_packets);
	}
}

void nl_emulate_report_left(struct nl_emulate_report *r, int link, uint64_t late_ns)
{
	struct nl_lateness *l = &r->lateness[link];
	int bin = 0;

	while (bin < NL_LATENESS_BINS - 1 && late_ns >= bin_us[bin] * 1000)
		bin++;
	l->bin[bin]++;
	if (late_ns > l->max_ns)
		l->max_ns = late_ns;
	if (late_ns > r->late_ns)
		l->late++;
}

void nl_emulate_report_sample(struct nl_emulate_report *r, struct nl_link link[NL_LINKS], uint64_t now_ns)
{
	struct nl_emulate_sample *s;
	uint64_t cpu[2];

	if (now_ns < r->next_sample_ns)
		return;
	if (r->samples == NL_EMULATE_SAMPLES) {
		r->samples /= 2;
		for (size_t i = 0; i < r->samples; i++)
			r->sample[i] = r->sample[2 * i];
		r->sample_ns *= 2;
	}
	s = &r->sample[r->samples++];
	s->t_ns = now_ns;
	for (int i = 0; i < r->links; i++)
		nl_link_queue(&link[i], now_ns, &s->queue_B[i], &s->queue_packets[i]);
	for (int i = 0; i < r->links; i++)
		s->dropped[i] = nl_link_dropped(&link[i]);
	nl_process_cpu_us(cpu);
	s->cpu_us = cpu[0] + cpu[1] - r->cpu0_us[0] - r->cpu0_us[1];
	r->next_sample_ns += ((now_ns - r->next_sample_ns) / r->sample_ns + 1) * r->sample_ns;
}

static void report_numbers(struct nl_json *j, const char *key, const uint64_t *first, size_t count,
			   size_t step)
{
	nl_json_array(j, key);
	for (size_t i = 0; i < count; i++)
		nl_json_u64(j, NULL, first[i * step]);
	nl_json_array_end(j);
}

static void link_json(const struct nl_emulate_report *r, int i, struct nl_link *link,
		      uint64_t now_ns, struct nl_json *j)
{
	const struct nl_link_count *c = &link->count;
	const struct nl_link_opts *o = &link->opts;
	const struct nl_lateness *late = &r->lateness[i];
	uint64_t bytes, packets;

	/* first: a discipline drops as it serves, and its drops are no longer stored */
	nl_link_queue(link, now_ns, &bytes, &packets);
	nl_json_open(j, NULL);
	nl_json_text(j, "direction", i % 2 ? "ba" : "ab");
	PUT_MEMBERS(j, OF(o, rate_bps), OF(o, overhead_B), {"delay_us", o->delay_ns / 1000},
		    {"jitter_us", o->jitter_ns / 1000}, {"queue_limit_B", o->queue_B},
		    {"queue_limit_packets", o->queue_packets}, OF(o, mark_above_B), OF(o, burst_B),
		    OF(o, policer), OF(o, loss_ppb), OF(o, enter_bad_ppb),
		    OF(o, leave_bad_ppb), OF(o, bad_loss_ppb), OF(o, reorder_ppb),
		    {"reorder_us", o->reorder_ns / 1000}, OF(o, discipline),
		    {"target_us", o->target_ns / 1000}, {"interval_us", o->interval_ns / 1000}, OF(o, ecn),
		    OF(o, seed), {"in_reads", c->reads},
		    {"in_packets", c->packets}, {"in_data_packets", c->data_packets},
		    {"in_datagrams", c->datagrams}, {"in_bytes", c->bytes}, OF(c, out_writes),
		    OF(c, out_packets), OF(c, out_datagrams), OF(c, out_bytes),
		    OF(c, passed_packets), OF(c, passed_bytes));
	PUT_OBJECT(j, "dropped", {"queue", c->dropped_queue}, {"loss", c->dropped_loss},
		   {"forced", c->dropped_forced}, {"policer", c->dropped_policer}, {"early", c->dropped_early},
		    {"memory", c->dropped_memory},
		   {"malformed", c->dropped_malformed}, {"refused", c->dropped_refused});
	nl_json_known(j, "forced_ns", link->drop_plan.last_ns != 0, link->drop_plan.last_ns);
	PUT_MEMBERS(j, OF(c, reordered), OF(c, marked), {"queue_B", bytes}, {"queue_packets", packets},
		    OF(c, max_queue_B), OF(c, max_queue_packets),
		    {"stored_packets", link->unsent_packets}, {"stored_B", link->ring.used_B},
		    {"memory_B", link->ring.cap_B}, {"max_memory_B", link->ring.max_used_B});
	nl_json_open(j, "lateness");
	PUT_MEMBERS(j, OF(late, max_ns), OF(late, late));
	report_numbers(j, "below_us", bin_us, NL_LATENESS_BINS - 1, 1);
	report_numbers(j, "count", late->bin, NL_LATENESS_BINS, 1);
	nl_json_close(j);
	nl_json_close(j);
}

static void samples_json(const struct nl_emulate_report *r, int with_samples, struct nl_json *j)
{
	static const char *const key[NL_LINKS][3] = {{"ab_queue_B", "ab_queue_packets", "ab_dropped"},
						     {"ba_queue_B", "ba_queue_packets", "ba_dropped"},
						     {"ab_second_queue_B", "ab_second_queue_packets", "ab_second_dropped"},
						     {"ba_second_queue_B", "ba_second_queue_packets", "ba_second_dropped"}};
	const struct nl_emulate_sample *first = r->sample;
	const size_t step = sizeof(*first) / sizeof(uint64_t);

	if (!nl_json_open_known(j, "samples", with_samples))
		return;
	nl_json_u64(j, "interval_ms", r->sample_ns / 1000000);
	report_numbers(j, "t_ns", &first->t_ns, r->samples, step);
	for (int link = 0; link < r->links; link++) {
		report_numbers(j, key[link][0], &first->queue_B[link], r->samples, step);
		report_numbers(j, key[link][1], &first->queue_packets[link], r->samples, step);
		report_numbers(j, key[link][2], &first->dropped[link], r->samples, step);
	}
	report_numbers(j, "cpu_us", &first->cpu_us, r->samples, step);
	nl_json_close(j);
}

void nl_emulate_report_json(const struct nl_emulate_report *r, struct nl_link link[NL_LINKS],
			    uint64_t now_ns, int final, int with_samples, struct nl_json *j)
{
	uint64_t elapsed_ns = now_ns - r->begun_ns, waited = nl_thread_waited_ns() - r->waited0_ns, cpu[2];
	int late = 0, out_of_memory = 0;

	for (int i = 0; i < r->links; i++) {
		late |= r->lateness[i].late * LATE_ONE_IN > link[i].count.out_writes;
		out_of_memory |= link[i].count.dropped_memory != 0;
	}
	nl_process_cpu_us(cpu);
	nl_json_event(j, "emulation");
	nl_json_bool(j, "final", final);
	nl_json_u64(j, "t_ns", now_ns);
	nl_json_u64(j, "elapsed_ns", elapsed_ns);
	PUT_OBJECT(j, "process", {"user_us", cpu[0] - r->cpu0_us[0]},
		   {"system_us", cpu[1] - r->cpu0_us[1]}, {"waited_us", waited / 1000});
	nl_json_u64(j, "busy_max_ns", r->busy_max_ns);
	nl_json_u64(j, "wake_ns", r->wake_ns);
	nl_json_array(j, "flags");
	if (late)
		nl_json_text(j, NULL, "emulator_late");
	if (waited > elapsed_ns / 100 * WAITED_PERCENT)
		nl_json_text(j, NULL, "emulator_short_of_cpu");
	if (out_of_memory)
		nl_json_text(j, NULL, "emulator_out_of_memory");
	nl_json_array_end(j);
	for (int first = 0; first < r->links; first += 2) {
		nl_json_array(j, first ? "second" : "directions");
		for (int i = first; i < first + 2; i++)
			link_json(r, i, &link[i], now_ns, j);
		nl_json_array_end(j);
	}
	samples_json(r, with_samples, j);
	nl_json_close(j);
}
