#include "congestion/cc_table.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct nl_cc_params, member)
#define LIMITED_SLOW_START {"max_ssthresh_segments", 0, 1000000, 0, AT(max_ssthresh_segments)}

enum { SHARE_MAX = 999999 };

/* One line per option: key, bounds, default, field. */
const struct nl_cc nl_cc_table[NL_CC_COUNT] = {
	{"scalable", 1, 4,
	 {{"increase_millionths", 1, NL_CC_MILLION, 10000, AT(increase_millionths)},
	  {"decrease_millionths", 1, SHARE_MAX, 125000, AT(decrease_millionths)},
	  {"legacy_window_segments", 0, 1000000, 16, AT(legacy_window_segments)},
	  LIMITED_SLOW_START}},
	{"highspeed", 1, 1, {LIMITED_SLOW_START}},
	{"aimd", 1, 3,
	 {{"increase_millionths", 1, 1000u * NL_CC_MILLION, NL_CC_MILLION, AT(increase_millionths)},
	  {"decrease_millionths", 1, SHARE_MAX, NL_CC_MILLION / 2, AT(decrease_millionths)},
	  LIMITED_SLOW_START}},
	{"fast", 1, 3,
	 {{"alpha_packets", 1, 1000000, 200, AT(alpha_packets)},
	  {"gamma_millionths", 1, NL_CC_MILLION, NL_CC_MILLION / 2, AT(gamma_millionths)},
	  LIMITED_SLOW_START}},
};

/* RFC 3649, section 5 and 12 (its defaults). */
static const double low_window = 38, high_window = 83000, low_p = 1e-3, high_p = 1e-7,
		    high_decrease = 0.1;

uint32_t nl_cc_option_value(const struct nl_cc_params *params, const struct nl_cc_option *option)
{
	uint32_t value;

	memcpy(&value, (const char *)params + option->at, sizeof(value));
	return value;
}

static struct nl_cc_row row_at(double window)
{
	double position = log(window / low_window) / log(high_window / low_window);
	double decrease = (high_decrease - 0.5) * position + 0.5;
	double p = exp(log(low_p) + position * log(high_p / low_p));
	double increase = window * window * p * 2 * decrease / (2 - decrease);

	return (struct nl_cc_row){
		.window_segments = (uint32_t)ceil(window),
		.increase_millionths =
			(uint32_t)(NL_CC_MILLION * (increase > 1 ? increase : 1) + 0.5),
		.decrease_millionths = (uint32_t)(NL_CC_MILLION * decrease + 0.5),
	};
}

/* RFC 3649, section 5: a(w) and b(w) in millionths, at windows in equal ratios from Low_Window to
 * beyond High_Window. The first row covers all windows below the second. */
static void fill_highspeed(struct nl_cc_row row[NL_CC_HIGHSPEED_ROWS])
{
	/* The last row is for High_Window and all larger windows. */
	double ratio = pow(high_window / low_window, 1.0 / (NL_CC_HIGHSPEED_ROWS - 2));
	double window = low_window;

	row[0] = (struct nl_cc_row){.window_segments = 0,
				    .increase_millionths = NL_CC_MILLION,
				    .decrease_millionths = NL_CC_MILLION / 2};
	for (int i = 1; i < NL_CC_HIGHSPEED_ROWS; i++, window *= ratio) {
		/* Values for the middle of the row's range. */
		double middle = i + 1 < NL_CC_HIGHSPEED_ROWS ? window * sqrt(ratio) : high_window;

		row[i] = row_at(middle);
		row[i].window_segments = (uint32_t)ceil(window);
	}
}

int nl_cc_from_request(struct nl_request *request, struct nl_cc_params *params, struct nl_err *err)
{
	const char *name = nl_request_get(request, "cc");
	int cc = -1;

	for (int i = 0; name && i < NL_CC_COUNT; i++)
		if (strcmp(nl_cc_table[i].name, name) == 0)
			cc = i;
	if (cc < 0) {
		nl_fail_key(err, "cc", "cc: expected scalable, highspeed, aimd or fast");
		return -1;
	}
	memset(params, 0, sizeof(*params));
	for (size_t i = 0; i < nl_cc_table[cc].options; i++) {
		const struct nl_cc_option *o = &nl_cc_table[cc].option[i];
		uint64_t value = o->otherwise;
		uint32_t small;

		if (nl_request_number(request, o->key, o->min, o->max, &value, err))
			return -1;
		small = (uint32_t)value;
		memcpy((char *)params + o->at, &small, sizeof(small));
	}
	if (nl_request_only_known(request, err))
		return -1;
	if (strcmp(nl_cc_table[cc].name, "highspeed") == 0)
		fill_highspeed(params->highspeed);
	return cc;
}
