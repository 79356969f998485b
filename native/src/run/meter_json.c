#include "run/meter_json.h"

#include <string.h>

static void put_counters(struct nl_json *j, const struct nl_meter_span *span, int with_reset)
{
	const struct nl_interface *i = &span->interface;

	if (span->name[0]) {
		nl_json_open(j, "interface");
		nl_json_text(j, "name", span->name);
		PUT_MEMBERS(j, OF(i, rx_bytes), OF(i, tx_bytes), OF(i, rx_packets),
			    OF(i, tx_packets), OF(i, rx_errors), OF(i, tx_errors),
			    OF(i, rx_dropped), OF(i, tx_dropped));
		if (with_reset) {
			nl_json_u64(j, "wraps", span->wraps);
			nl_json_bool(j, "reset", (int)span->reset);
		}
		nl_json_close(j);
	} else {
		nl_json_null(j, "interface");
	}
	nl_json_array(j, "cpu");
	for (uint64_t n = 0; n < span->cpus; n++) {
		const struct nl_cpu *c = &span->cpu[n];

		nl_json_open(j, NULL);
		PUT_MEMBERS(j, OF(c, cpu), OF(c, user_us), OF(c, nice_us), OF(c, system_us),
			    OF(c, idle_us), OF(c, iowait_us), OF(c, irq_us), OF(c, softirq_us),
			    OF(c, steal_us));
		/* null where the host does not report them */
		nl_json_known(j, "frequency_kHz", c->frequency_kHz != 0, c->frequency_kHz);
		nl_json_known(j, "first_frequency_kHz", c->first_frequency_kHz != 0, c->first_frequency_kHz);
		nl_json_known(j, "throttled", c->throttled >= 0, (uint64_t)c->throttled);
		nl_json_close(j);
	}
	nl_json_array_end(j);
	PUT_MEMBERS(j, OF(span, interrupts), OF(span, context_switches));
	PUT_OBJECT(j, "softnet", {"processed", span->softnet_processed},
		   {"dropped", span->softnet_dropped},
		   {"time_squeeze", span->softnet_time_squeeze});
	PUT_OBJECT(j, "process", {"user_us", span->process_user_us},
		   {"system_us", span->process_system_us});
}

void nl_json_span(struct nl_json *j, const struct nl_meter_span *span)
{
	PUT_MEMBERS(j, OF(span, t0_ns), OF(span, t1_ns));
	nl_json_open(j, "clock");
	nl_json_u64(j, "steps", span->clock_steps);
	nl_json_i64(j, "step_ns", span->clock_step_ns);
	nl_json_i64(j, "drift_ns", span->clock_drift_ns);
	nl_json_u64(j, "unsure_ns", span->clock_unsure_ns);
	nl_json_close(j);
	put_counters(j, span, 1);
}

void nl_json_snapshot(struct nl_json *j, const struct nl_meter *meter, struct nl_meter_span *work)
{
	memset(work, 0, sizeof(*work));
	memcpy(work->name, meter->name, sizeof(work->name));
	work->interface = meter->interface;
	work->cpus = meter->cpus;
	memcpy(work->cpu, meter->cpu, sizeof(work->cpu));
	work->interrupts = meter->interrupts;
	work->context_switches = meter->context_switches;
	work->softnet_processed = meter->softnet_processed;
	work->softnet_dropped = meter->softnet_dropped;
	work->softnet_time_squeeze = meter->softnet_time_squeeze;
	work->process_user_us = meter->process_user_us;
	work->process_system_us = meter->process_system_us;
	nl_json_u64(j, "t_ns", meter->t_ns);
	put_counters(j, work, 0);
}

void nl_json_others(struct nl_json *j, const struct nl_others *others)
{
	if (!others->known) {
		nl_json_null(j, "others");
		return;
	}
	nl_json_open(j, "others");
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

void nl_json_card(struct nl_json *j, const struct nl_card *card)
{
	if (!card->known) {
		nl_json_null(j, "card");
		return;
	}
	nl_json_open(j, "card");
	for (uint64_t n = 0; n < card->count; n++)
		nl_json_u64(j, card->counter[n].name, card->counter[n].grown);
	nl_json_close(j);
}
