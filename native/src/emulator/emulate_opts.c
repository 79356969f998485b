#include "emulator/emulate_opts.h"

#include "base/request.h"
#include "base/error.h"

#include <string.h>

#define US UINT64_C(1000)

/* One line per option: key, unit of its value, bounds, field. */
static const struct {
	const char *key;
	uint64_t unit, min, max;
	size_t at;
} link_option[] = {
	{"rate_bps", 1, 0, UINT64_C(1000000000000), offsetof(struct nl_link_opts, rate_bps)},
	{"overhead_B", 1, 0, 256, offsetof(struct nl_link_opts, overhead_B)},
	{"delay_us", US, 0, 10000000, offsetof(struct nl_link_opts, delay_ns)},
	{"jitter_us", US, 0, 2000000, offsetof(struct nl_link_opts, jitter_ns)},
	{"queue_B", 1, 0, UINT64_C(1) << 30, offsetof(struct nl_link_opts, queue_B)},
	{"queue_packets", 1, 0, 1000000, offsetof(struct nl_link_opts, queue_packets)},
	{"mark_above_B", 1, 0, UINT64_C(1) << 30, offsetof(struct nl_link_opts, mark_above_B)},
	{"burst_B", 1, 0, UINT64_C(1) << 30, offsetof(struct nl_link_opts, burst_B)},
	{"policer", 1, 0, 1, offsetof(struct nl_link_opts, policer)},
	{"loss_ppb", 1, 0, NL_PPB, offsetof(struct nl_link_opts, loss_ppb)},
	{"enter_bad_ppb", 1, 0, NL_PPB, offsetof(struct nl_link_opts, enter_bad_ppb)},
	{"leave_bad_ppb", 1, 0, NL_PPB, offsetof(struct nl_link_opts, leave_bad_ppb)},
	{"bad_loss_ppb", 1, 0, NL_PPB, offsetof(struct nl_link_opts, bad_loss_ppb)},
	{"reorder_ppb", 1, 0, NL_PPB, offsetof(struct nl_link_opts, reorder_ppb)},
	{"reorder_us", US, 0, 10000000, offsetof(struct nl_link_opts, reorder_ns)},
	{"target_us", US, 0, 1000000, offsetof(struct nl_link_opts, target_ns)},
	{"interval_us", US, 0, 4000000, offsetof(struct nl_link_opts, interval_ns)},
	{"ecn", 1, 0, 1, offsetof(struct nl_link_opts, ecn)},
	{"seed", 1, 0, UINT64_MAX, offsetof(struct nl_link_opts, seed)},
	{"flow_delay_max_us", US, 0, 10000000, offsetof(struct nl_link_opts, flow_delay_max_ns)},
};

static const char *const discipline_name[] = {
	[NL_DISCIPLINE_NONE] = "none", [NL_FIFO] = "fifo", [NL_CODEL] = "codel",
	[NL_FQ_CODEL] = "fq_codel", [NL_PIE] = "pie", [NL_CAKE] = "cake",
};

enum { LANE_OPTIONS = sizeof(link_option) / sizeof(link_option[0]) };

/* Parse ascending numbers, comma-separated. */
static int parse_numbers(struct nl_request *request, const char *key, uint64_t out[NL_DROP_PLAN_MAX],
			 uint32_t *count, struct nl_err *err)
{
	const char *at = nl_request_get(request, key), *end = at ? at + strlen(at) : NULL;

	*count = 0;
	for (; at && at <= end; at++, ++*count) {
		uint64_t least = *count ? out[*count - 1] + 1 : 1;

		if (*count == NL_DROP_PLAN_MAX || nl_decimal_take(&at, end, &out[*count]) ||
		    out[*count] < least || out[*count] == UINT64_MAX || (*at && *at != ','))
			return nl_fail_key(err, key, "%s: expected 1 to %d ascending numbers from 1, "
					   "separated by commas", key, NL_DROP_PLAN_MAX);
	}
	return NL_OK;
}

/* Parse FIRST-LAST:MICROSECONDS, comma-separated, or - for none. */
static int parse_flows(struct nl_request *request, struct nl_link_opts *opts, struct nl_err *err)
{
	const char *at = nl_request_get(request, "flows"), *end = at ? at + strlen(at) : NULL;

	if (!at)
		return NL_OK;
	opts->flows = 0;
	if (strcmp(at, "-") == 0)
		return NL_OK;
	for (;; at++) {
		struct nl_flow_delay one = {0};
		uint64_t delay_us = 0;

		if (opts->flows == NL_FLOW_DELAYS_MAX || nl_decimal_take(&at, end, &one.first_port) ||
		    *at++ != '-' || nl_decimal_take(&at, end, &one.last_port) || *at++ != ':' ||
		    nl_decimal_take(&at, end, &delay_us) || !one.first_port || one.first_port > one.last_port ||
		    one.last_port > UINT16_MAX || delay_us > 10000000 || (*at && *at != ','))
			return nl_fail_key(err, "flows", "flows: expected -, or up to %d of FIRST-LAST:US, ports and "
					   "a delay, separated by commas", NL_FLOW_DELAYS_MAX);
		one.delay_ns = delay_us * US;
		opts->flow[opts->flows++] = one;
		if (!*at)
			return NL_OK;
	}
}

static int parse_discipline(struct nl_request *request, uint64_t *out, struct nl_err *err)
{
	const char *name = nl_request_get(request, "discipline");

	for (size_t i = 0; name && i < sizeof(discipline_name) / sizeof(discipline_name[0]); i++)
		if (strcmp(name, discipline_name[i]) == 0) {
			*out = i;
			return NL_OK;
		}
	return name ? nl_fail_key(err, "discipline", "discipline: expected none, fifo, codel, fq_codel, pie or cake")
		    : NL_OK;
}

/* Parse FIRST-LAST, comma-separated, or - for none. */
static int parse_ranges(struct nl_request *request, const char *key, struct nl_port_range out[NL_PORT_RANGES_MAX],
			uint32_t *count, struct nl_err *err)
{
	const char *at = nl_request_get(request, key), *end = at ? at + strlen(at) : NULL;

	*count = 0;
	if (!at || strcmp(at, "-") == 0)
		return NL_OK;
	for (;; at++) {
		struct nl_port_range one;

		if (*count == NL_PORT_RANGES_MAX || nl_decimal_take(&at, end, &one.first) || *at++ != '-' ||
		    nl_decimal_take(&at, end, &one.last) || !one.first || one.first > one.last ||
		    one.last > UINT16_MAX || (*at && *at != ','))
			return nl_fail_key(err, key, "%s: expected -, or up to %d of FIRST-LAST, ports separated by "
					   "commas", key, NL_PORT_RANGES_MAX);
		out[(*count)++] = one;
		if (!*at)
			return NL_OK;
	}
}

int nl_emulate_spans_from_request(struct nl_request *request, struct nl_emulate_spans *spans, struct nl_err *err)
{
	static const char *const key[NL_HOPS] = {"first", "second"};
	struct nl_emulate_spans parsed = {0};

	for (int hop = 0; hop < NL_HOPS; hop++)
		if (parse_ranges(request, key[hop], parsed.range[hop], &parsed.ranges[hop], err))
			return err->code;
	if (nl_request_only_known(request, err))
		return err->code;
	*spans = parsed;
	return NL_OK;
}

int nl_emulate_only_hop(const struct nl_emulate_spans *spans, const uint16_t port[2])
{
	for (int hop = 0; hop < NL_HOPS; hop++)
		for (uint32_t i = 0; i < spans->ranges[hop]; i++)
			for (int end = 0; end < 2; end++)
				if (port[end] >= spans->range[hop][i].first && port[end] <= spans->range[hop][i].last)
					return hop;
	return -1;
}

int nl_emulate_set_from_request(struct nl_request *request, int *link, struct nl_link_opts opts[NL_LINKS],
				struct nl_emulate_drops *plan, struct nl_err *err)
{
	const char *direction = nl_request_get(request, "direction");
	const char *drop_at = nl_request_get(request, "drop_at");
	struct nl_link_opts changed;
	uint64_t hop = 1;

	if (!direction || (strcmp(direction, "ab") != 0 && strcmp(direction, "ba") != 0))
		return nl_fail_key(err, "direction", "direction: expected ab or ba");
	if (nl_request_number(request, "hop", 1, NL_HOPS, &hop, err))
		return err->code;
	*link = 2 * (int)(hop - 1) + (direction[0] == 'b');
	changed = opts[*link];
	for (int i = 0; i < LANE_OPTIONS; i++) {
		uint64_t value;

		memcpy(&value, (char *)&changed + link_option[i].at, sizeof(value));
		value /= link_option[i].unit;
		if (nl_request_number(request, link_option[i].key, link_option[i].min, link_option[i].max,
				      &value, err))
			return err->code;
		value *= link_option[i].unit;
		memcpy((char *)&changed + link_option[i].at, &value, sizeof(value));
	}
	if (parse_discipline(request, &changed.discipline, err) || parse_flows(request, &changed, err))
		return err->code;
	*plan = (struct nl_emulate_drops){.drop_at_ms = UINT64_MAX, .trace = nl_request_get(request, "trace")};
	plan->forget = drop_at && strcmp(drop_at, "0") == 0;
	if ((!plan->forget && parse_numbers(request, "drop_at", plan->drop_at, &plan->drops, err)) ||
	    nl_request_number(request, "drop_at_ms", 0, 86400000, &plan->drop_at_ms, err) ||
	    nl_request_only_known(request, err))
		return err->code;
	if ((changed.queue_B || changed.queue_packets || changed.mark_above_B || changed.burst_B) &&
	    !changed.rate_bps)
		return nl_fail_key(err, "rate_bps", "a queue limit or a bucket needs rate_bps");
	if ((plan->trace || changed.trace) && (!changed.rate_bps || changed.burst_B))
		return nl_fail_key(err, "trace", "a trace needs rate_bps, its mean, and has no bucket");
	if (changed.policer && (!changed.burst_B || changed.queue_B || changed.queue_packets))
		return nl_fail_key(err, "policer", "a policer needs burst_B and has no queue");
	if (changed.discipline && !changed.rate_bps)
		return nl_fail_key(err, "rate_bps", "a discipline needs rate_bps");
	if (changed.discipline > NL_FIFO && (!changed.target_ns || !changed.interval_ns))
		return nl_fail_key(err, "target_us", "a discipline needs target_us and interval_us");
	if (changed.discipline && (changed.policer || changed.mark_above_B))
		return nl_fail_key(err, "discipline", "a discipline has no policer and no mark_above_B");
	if (changed.ecn && changed.discipline <= NL_FIFO)
		return nl_fail_key(err, "ecn", "ecn: needs a discipline that drops early");
	if (changed.enter_bad_ppb && !changed.leave_bad_ppb)
		return nl_fail_key(err, "leave_bad_ppb", "a bad state that is entered needs leave_bad_ppb");
	opts[*link] = changed;
	return NL_OK;
}

static int parse_text(struct nl_request *request, const char *key, char *to, size_t max,
		      struct nl_err *err)
{
	const char *value = nl_request_get(request, key);

	if (!value || !*value || strlen(value) > max)
		return nl_fail_key(err, key, "%s: missing, or not 1 to %zu bytes", key, max);
	memcpy(to, value, strlen(value) + 1);
	return NL_OK;
}

int nl_emulate_ends_from_request(struct nl_request *request, struct nl_emulate_ends *ends,
				 struct nl_err *err)
{
	static const char *const key[2][2] = {{"a_netns", "a_device"}, {"b_netns", "b_device"}};

	memset(ends, 0, sizeof(*ends));
	ends->sample_ms = 100;
	ends->late_us = 1000;
	for (int i = 0; i < 2; i++) {
		if (parse_text(request, key[i][0], ends->namespace[i], NL_NAMESPACE_MAX, err) ||
		    parse_text(request, key[i][1], ends->device[i], NL_DEVICE_MAX, err))
			return err->code;
		if (ends->namespace[i][0] != '/')
			return nl_fail_key(err, key[i][0], "%s: expected the absolute path of a namespace",
					   key[i][0]);
		/* the kernel would replace %d by a number */
		if (strpbrk(ends->device[i], "/:% ") || strcmp(ends->device[i], ".") == 0 ||
		    strcmp(ends->device[i], "..") == 0)
			return nl_fail_key(err, key[i][1], "not a valid device name");
	}
	if (nl_request_number(request, "sample_ms", 10, 60000, &ends->sample_ms, err) ||
	    nl_request_number(request, "late_us", 1, 1000000, &ends->late_us, err) ||
	    nl_request_only_known(request, err))
		return err->code;
	return NL_OK;
}
