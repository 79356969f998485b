#include "tune/qdisc.h"

#include "check.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

static struct nl_qdisc_tree tree;

static const char *again(const char *text)
{
	static char out[200];

	return nl_qdisc_parse(text, &tree) || nl_qdisc_render(&tree, out, sizeof(out)) ? "refused" : out;
}

TEST(defaults_are_left_out)
{
	CHECK(strcmp(again("fq"), "fq") == 0);
	CHECK(strcmp(again("fq limit 10000 flow_limit 100 buckets 1024"), "fq") == 0);
	CHECK(strcmp(again("fq nopacing maxrate 2000000000 limit 5"),
		     "fq limit 5 maxrate 2000000000 nopacing") == 0);
}

TEST(every_queue_of_mq_has_one)
{
	CHECK(strcmp(again("mq"), "mq") == 0 && !tree.leaf.kind[0]);
	CHECK(strcmp(again("mq fq flow_limit 7"), "mq fq flow_limit 7") == 0);
	CHECK(tree.leaf.fq[NL_FQ_FLOW_LIMIT] == 7);
}

TEST(other_forms_are_refused)
{
	static const char *const bad[] = {"",	      "pfifo_fast_sixteen", "fq limit",	"fq limit x",
					  "fq rate 5", "fq maxrate 9", "fq buckets 3", "pfifo limit 5",
					  "mq mq",     "mq noqueue",	"fq fq",	NULL};

	for (int i = 0; bad[i]; i++)
		CHECK(nl_qdisc_parse(bad[i], &tree) != 0);
	CHECK(nl_qdisc_parse("fq maxrate 34359738352", &tree) == 0);
	CHECK(nl_qdisc_parse("fq maxrate 34359738360", &tree) != 0);
}

TEST(options_say_the_same_as_the_text)
{
	const char *text = "fq limit 5 flow_limit 6 buckets 64 maxrate 80 nopacing";
	struct nl_qdisc read;
	uint8_t options[64];
	size_t len;

	CHECK(nl_qdisc_parse(text, &tree) == 0);
	len = nl_qdisc_put_options(&tree.root, options);
	CHECK(len == 40);
	nl_qdisc_init(&read, "fq", 2);
	nl_qdisc_take_options(&read, options, len);
	CHECK(memcmp(&read, &tree.root, sizeof(read)) == 0);
	/* a torn attribute is not read */
	nl_qdisc_init(&read, "fq", 2);
	nl_qdisc_take_options(&read, options, 7);
	CHECK(read.fq[NL_FQ_LIMIT] == 10000);
}

TEST(no_limit_of_the_rate_is_the_default)
{
	struct {
		struct rtattr attribute;
		uint32_t value;
	} unlimited = {{.rta_len = 8, .rta_type = TCA_FQ_FLOW_MAX_RATE}, UINT32_MAX};
	uint8_t options[64];

	CHECK(nl_qdisc_parse("fq maxrate 80", &tree) == 0);
	nl_qdisc_take_options(&tree.root, (const uint8_t *)&unlimited, sizeof(unlimited));
	CHECK(tree.root.fq[NL_FQ_MAXRATE] == UINT32_MAX);
	CHECK(nl_qdisc_put_options(&tree.root, options) == 0);
}
