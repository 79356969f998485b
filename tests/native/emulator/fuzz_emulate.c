#include "emulator/emulate_opts.h"
#include "fuzz.h"

static void check_link(const struct nl_link_opts *o)
{
	uint64_t memory_B = nl_link_memory_B(o);

	want(o->loss_ppb <= NL_PPB && o->reorder_ppb <= NL_PPB);
	want(o->rate_bps || (!o->queue_B && !o->queue_packets && !o->burst_B));
	want(!o->trace); /* a path in the request, which the emulator reads */
	want(!o->discipline || (o->rate_bps && o->discipline <= NL_CAKE && !o->policer && !o->mark_above_B));
	want(!o->ecn || o->discipline > NL_FIFO);
	want(o->discipline <= NL_FIFO || (o->target_ns && o->interval_ns));
	want(!o->policer || (o->burst_B && !o->queue_B && !o->queue_packets));
	want(o->flows <= NL_FLOW_DELAYS_MAX);
	for (uint64_t i = 0; i < o->flows; i++)
		want(o->flow[i].first_port && o->flow[i].first_port <= o->flow[i].last_port &&
		     o->flow[i].last_port <= UINT16_MAX);
	want(memory_B >= NL_FRAME_MAX_B && memory_B <= NL_LINK_MEMORY_MAX_B);
}

static void check_drop_plan(const struct nl_emulate_drops *script)
{
	uint64_t before = 0;

	want(script->drops <= NL_DROP_PLAN_MAX);
	for (uint32_t i = 0; i < script->drops; i++) {
		want(script->drop_at[i] > before);
		before = script->drop_at[i];
	}
}

static void check_ends(const struct nl_emulate_ends *ends)
{
	for (int i = 0; i < 2; i++) {
		want(ends->namespace[i][0] == '/' && strlen(ends->namespace[i]) <= NL_NAMESPACE_MAX);
		want(ends->device[i][0] && strlen(ends->device[i]) <= NL_DEVICE_MAX);
		want(!strpbrk(ends->device[i], "/:% "));
	}
	want(ends->sample_ms > 0 && ends->late_us > 0);
}

static void check_spans(const struct nl_emulate_spans *spans)
{
	for (int hop = 0; hop < NL_HOPS; hop++) {
		want(spans->ranges[hop] <= NL_PORT_RANGES_MAX);
		for (uint32_t i = 0; i < spans->ranges[hop]; i++) {
			const struct nl_port_range *range = &spans->range[hop][i];

			want(range->first && range->first <= range->last && range->last <= UINT16_MAX);
			want(nl_emulate_only_hop(spans, (uint16_t[2]){(uint16_t)range->last, 0}) >= 0);
		}
	}
	want(nl_emulate_only_hop(spans, (uint16_t[2]){0, 0}) == -1);
}

/* Requests of the emulator, one per line; options persist from one to the next. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_link_opts opts[NL_LINKS] = {{0}};
	struct nl_emulate_spans spans = {0};
	const char *line = (const char *)data;

	while (len) {
		const char *end = memchr(line, '\n', len);
		size_t line_len = end ? (size_t)(end - line) : len;
		struct nl_link_opts before[NL_LINKS];
		struct nl_emulate_spans spans_before = spans;
		struct nl_emulate_drops script;
		struct nl_emulate_ends ends;
		struct nl_request request;
		struct nl_err err;
		int link = -1;

		memcpy(before, opts, sizeof(opts));
		if (nl_request_parse(&request, line, line_len) == NL_REQUEST_OK) {
			if (nl_emulate_set_from_request(&request, &link, opts, &script, &err) == NL_OK) {
				want(link >= 0 && link < NL_LINKS);
				for (int i = 0; i < NL_LINKS; i++)
					want(i == link || memcmp(&opts[i], &before[i], sizeof(opts[0])) == 0);
				check_link(&opts[link]);
				check_drop_plan(&script);
			} else {
				want(err.code == NL_BAD_REQUEST);
				want(memcmp(opts, before, sizeof(opts)) == 0);
			}
		}
		if (nl_request_parse(&request, line, line_len) == NL_REQUEST_OK &&
		    nl_emulate_ends_from_request(&request, &ends, &err) == NL_OK)
			check_ends(&ends);
		if (nl_request_parse(&request, line, line_len) == NL_REQUEST_OK) {
			if (nl_emulate_spans_from_request(&request, &spans, &err) == NL_OK)
				check_spans(&spans);
			else
				want(memcmp(&spans, &spans_before, sizeof(spans)) == 0);
		}
		line_len += end ? 1 : 0;
		line += line_len;
		len -= line_len;
	}
	return 0;
}
