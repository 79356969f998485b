/* The options of the congestion controls, and the table of RFC 3649's a(w) and b(w). */
#include "check.h"
#include "congestion/cc_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct nl_cc_params p;
static struct nl_err err;

static int parse(const char *line)
{
	struct nl_request request;

	CHECK(nl_request_parse(&request, line, strlen(line)) == NL_REQUEST_OK);
	memset(&err, 0, sizeof(err));
	return nl_cc_from_request(&request, &p, &err);
}

static const struct nl_cc_row *row_of(unsigned window)
{
	const struct nl_cc_row *row = p.highspeed;

	while (row + 1 < p.highspeed + NL_CC_HIGHSPEED_ROWS && row[1].window_segments <= window)
		row++;
	return row;
}

TEST(options_have_defaults_and_bounds)
{
	CHECK(parse("load cc=scalable") == 0);
	CHECK(p.increase_millionths == 10000 && p.decrease_millionths == 125000);
	CHECK(p.legacy_window_segments == 16 && p.max_ssthresh_segments == 0);
	CHECK(parse("load cc=aimd increase_millionths=6000000 decrease_millionths=300000 "
		    "max_ssthresh_segments=100") == 2);
	CHECK(p.increase_millionths == 6000000 && p.decrease_millionths == 300000);
	CHECK(p.max_ssthresh_segments == 100);
	CHECK(parse("load cc=fast") == 3);
	CHECK(p.alpha_packets == 200 && p.gamma_millionths == 500000);
	for (int cc = 0; cc < NL_CC_COUNT; cc++)
		for (size_t i = 0; i < nl_cc_table[cc].options; i++)
			CHECK(nl_cc_table[cc].option[i].min <= nl_cc_table[cc].option[i].otherwise &&
			      nl_cc_table[cc].option[i].otherwise <= nl_cc_table[cc].option[i].max);
}

TEST(invalid_options_name_the_key)
{
	CHECK(parse("load") < 0 && strcmp(err.key, "cc") == 0);
	CHECK(parse("load cc=reno") < 0 && strcmp(err.key, "cc") == 0);
	CHECK(parse("load cc=aimd alpha_packets=3") < 0 && strcmp(err.key, "alpha_packets") == 0);
	CHECK(parse("load cc=fast gamma_millionths=0") < 0 && strcmp(err.key, "gamma_millionths") == 0);
}

/* Appendix B of the RFC: from these windows on a(w) is 2, 3, 4, ...; b(w) with two digits. */
TEST(the_highspeed_table_equals_that_of_the_rfc)
{
	static const struct {
		unsigned window;
		double increase, decrease;
	} printed[] = {{118, 2, 0.44},	 {221, 3, 0.41},     {347, 4, 0.38},	 {495, 5, 0.37},
		       {663, 6, 0.35},	 {1058, 8, 0.33},    {2076, 12, 0.29},	 {5036, 20, 0.25},
		       {10661, 30, 0.21}, {84035, 73, 0.10}};

	CHECK(parse("load cc=highspeed") == 1);
	CHECK(p.highspeed[0].window_segments == 0 && p.highspeed[1].window_segments == 38);
	for (int i = 1; i < NL_CC_HIGHSPEED_ROWS; i++) {
		CHECK(p.highspeed[i].window_segments > p.highspeed[i - 1].window_segments);
		CHECK(p.highspeed[i].increase_millionths >= p.highspeed[i - 1].increase_millionths);
		CHECK(p.highspeed[i].decrease_millionths <= p.highspeed[i - 1].decrease_millionths);
	}
	CHECK(row_of(37)->increase_millionths == NL_CC_MILLION);
	CHECK(row_of(37)->decrease_millionths == NL_CC_MILLION / 2);
	for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++) {
		const struct nl_cc_row *row = row_of(printed[i].window);

		/* The RFC's own table uses the rounded p(w) = 0.078 / w^1.2. */
		CHECK(fabs(row->increase_millionths / 1e6 / printed[i].increase - 1) < 0.03);
		CHECK(fabs(row->decrease_millionths / 1e6 - printed[i].decrease) < 0.01);
	}
}
