#include "base/dealt.h"
#include "check.h"
#include "net/wire.h"
#include "run/run.h"

#define TOKEN "000102030405060708090a0b0c0d0e0f"
#define SINK "sink run=7 bind=127.0.0.1 streams=4 record_B=65536 window_ms=1000 token=" TOKEN
#define GEN "gen run=7 to=::1 port=5 streams=4 record_B=65536 token=" TOKEN

static struct nl_run_opts opts;
static struct nl_err err;

static int parse(int role, const char *line)
{
	struct nl_request request;

	memset(&err, 0, sizeof(err));
	CHECK(nl_request_parse(&request, line, strlen(line)) == NL_REQUEST_OK);
	return nl_options_from_request(&opts, role, &request, &err);
}

TEST(requests_fill_the_options)
{
	CHECK(parse(NL_SINK, SINK " receive=discard congestion=cubic") == NL_OK);
	CHECK(opts.run == 7 && opts.streams == 4 && opts.receive == NL_RECEIVE_DISCARD && opts.accept_ms == 5000);
	CHECK(opts.token[15] == 15 && strcmp(opts.congestion, "cubic") == 0);
	CHECK(parse(NL_GEN, GEN " bytes=1000") == NL_OK);
	CHECK(opts.bytes == 1000 && opts.window_ms == 0);
	CHECK(parse(NL_GEN, GEN " bytes=1 congestion=a,b,c,d,e,f,g,h cpus=1,0 pacing_Bps=1000000000000 "
			    "dscp=63 mss_B=32767 nodelay=1 busy_poll_us=1000000") == NL_OK);
	CHECK(strcmp(opts.congestion, "a,b,c,d,e,f,g,h") == 0 && strcmp(opts.cpus, "1,0") == 0);
	CHECK(opts.batch_B == 0 && opts.yield_B == 0 && opts.spread == NL_SWITCH_AUTO);
	CHECK(opts.pacing_Bps == 1000000000000 && opts.dscp == 63 && opts.mss_B == 32767);
}

TEST(lists_are_dealt_to_the_streams_in_turn)
{
	static const char list[] = "5,3*70,0";
	static const uint64_t number[] = {5, 70, 70, 70, 0, 5, 70};
	size_t len;

	CHECK(nl_dealt_streams(list) == 5 && nl_dealt_streams("") == 1 && nl_dealt_streams("a,16*b") == 17);
	for (uint64_t i = 0; i < 7; i++)
		CHECK(nl_dealt_number(list, i) == number[i]);
	CHECK(nl_dealt_number("", 3) == 0);
	CHECK(strncmp(nl_dealt_item("bbr,16*cubic", 16, &len), "cubic", 5) == 0 && len == 5);
	CHECK(strncmp(nl_dealt_item("bbr,16*cubic", 17, &len), "bbr", 3) == 0 && len == 3);
	CHECK(parse(NL_GEN, GEN " window_ms=9 starts_ms=0,3*100 ends_ms=7,3*0 pacings_Bps=1,3*0") == NL_OK);
	CHECK(strcmp(opts.starts_ms, "0,3*100") == 0 && strcmp(opts.pacings_Bps, "1,3*0") == 0);
}

TEST(streams_of_several_senders_are_a_part_of_each_turn)
{
	static const uint64_t own[] = {1, 4, 5, 8, 11, 12};

	CHECK(nl_dealt_count("0,1,2*0,2*1,0") == 3 && nl_dealt_count("") == 1 && nl_dealt_count("4*0") == 0);
	for (uint64_t k = 0; k < 6; k++)
		CHECK(nl_dealt_nth("0,1,2*0,2*1,0", k) == own[k]);
	CHECK(nl_dealt_nth("", 7) == 7 && nl_dealt_nth("1", 7) == 7);
	CHECK(parse(NL_GEN, GEN " window_ms=9 own_streams=0,2*1 sender=1") == NL_OK && opts.sender == 1);
	CHECK(parse(NL_GEN, GEN " window_ms=9 own_streams=3*1,0") == NL_BAD_REQUEST); /* 4 streams, 3 a turn */
	CHECK(parse(NL_GEN, GEN " window_ms=9 own_streams=3*0") == NL_BAD_REQUEST);
	CHECK(parse(NL_GEN, GEN " window_ms=9 own_streams=2") == NL_BAD_REQUEST);
	CHECK(parse(NL_GEN, GEN " window_ms=9 sender=1") == NL_BAD_REQUEST);
	CHECK(parse(NL_SINK, SINK " from=10.0.0.1 also_from=10.0.0.2,10.0.0.3") == NL_OK);
	CHECK(nl_senders(&opts) == 3);
	CHECK(parse(NL_SINK, SINK) == NL_OK && nl_senders(&opts) == 1);
	CHECK(parse(NL_SINK, SINK " also_from=10.0.0.2") == NL_BAD_REQUEST && strcmp(err.key, "also_from") == 0);
	CHECK(parse(NL_SINK, SINK " from=10.0.0.1 also_from=10.0.0.2,,::1") == NL_BAD_REQUEST);
	CHECK(parse(NL_SINK, SINK " from=10.0.0.1 also_from=::1,b") == NL_BAD_REQUEST);
	CHECK(parse(NL_SINK, SINK " from=::1 also_from=::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1") == NL_OK);
	CHECK(parse(NL_SINK, SINK " from=::1 also_from=::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1,::1") ==
	      NL_BAD_REQUEST);
}

TEST(the_policy_is_by_the_rules_or_as_given)
{
	CHECK(parse(NL_GEN, GEN " bytes=1 batch_B=65536 yield_B=never sched_batch=off spread=on egress=lo") == NL_OK);
	CHECK(opts.batch_B == 65536 && opts.yield_B == UINT64_MAX && strcmp(opts.egress, "lo") == 0);
	CHECK(opts.sched_batch == NL_SWITCH_OFF && opts.spread == NL_SWITCH_ON);
	CHECK(parse(NL_SINK, SINK " batch_B=none read_delay=auto") == NL_OK);
	CHECK(opts.batch_B == UINT64_MAX && opts.read_delay == NL_SWITCH_AUTO);
	opts.batch_B = (UINT64_C(1) << 40) + 1; /* set as a plain field */
	CHECK(nl_run_opts_check(&opts, &err) == NL_BAD_REQUEST && strcmp(err.key, "batch_B") == 0);
	opts.batch_B = 0;
	opts.spread = 3;
	CHECK(nl_run_opts_check(&opts, &err) == NL_BAD_REQUEST && strcmp(err.key, "spread") == 0);
}

TEST(bad_requests_name_the_key)
{
	static const struct {
		int role;
		const char *line, *key;
	} row[] = {
		{NL_SINK, "sink run=7", "bind"},
		{NL_SINK, SINK " port=70000", "port"},
		{NL_SINK, SINK " bytes=5", "bytes"},
		{NL_SINK, SINK " nonsense=5", "nonsense"},
		{NL_SINK, SINK " interval_ms=9", "interval_ms"},
		{NL_SINK, SINK " trace=2", "trace"},
		{NL_SINK, SINK " receive=perhaps", "receive"},
		{NL_SINK, SINK " congestion=far_too_long_a_name", "congestion"},
		{NL_SINK, SINK " congestion=reno,far_too_long_a_name", "congestion"},
		{NL_SINK, SINK " congestion=reno,,cubic", "congestion"},
		{NL_SINK, SINK " congestion=reno,", "congestion"},
		{NL_SINK, SINK " congestion=,reno", "congestion"},
		{NL_SINK, SINK " congestion=a,b,c,d,e,f,g,h,i", "congestion"},
		{NL_SINK, SINK " congestion=bbr,0*cubic", "congestion"},
		{NL_SINK, SINK " congestion=bbr,10001*cubic", "congestion"},
		{NL_SINK, SINK " congestion=bbr,2*", "congestion"},
		{NL_SINK, SINK " congestion=bbr,*cubic", "congestion"},
		{NL_SINK, SINK " congestion=bbr,2*2*cubic", "congestion"},
		{NL_SINK, SINK " congestion=bbr,-2*cubic", "congestion"},
		{NL_SINK, SINK " interface=a/b", "interface"},
		{NL_SINK, SINK " starts_ms=1", "starts_ms"},
		{NL_SINK, SINK " source_ports=1", "source_ports"},
		{NL_GEN, GEN " bytes=1 source_ports=9000", "source_ports"},
		{NL_GEN, GEN " bytes=1 from=127.0.0.1 source_ports=9000 source_span=3", "source_ports"},
		{NL_GEN, GEN " bytes=1 from=127.0.0.1 source_ports=1,65000 source_span=537", "source_ports"},
		{NL_SINK, SINK " ends_ms=1", "ends_ms"},
		{NL_SINK, SINK " ends_ms=4*100,0", "ends_ms"},
		{NL_SINK, SINK " ends_ms=0,", "ends_ms"},
		{NL_SINK, SINK " ends_ms=,0", "ends_ms"},
		{NL_SINK, SINK " ends_ms=0,x", "ends_ms"},
		{NL_SINK, SINK " ends_ms=0*5,0", "ends_ms"},
		{NL_SINK, SINK " ends_ms=10001*5,0", "ends_ms"},
		{NL_SINK, SINK " ends_ms=2*2*5,0", "ends_ms"},
		{NL_SINK, SINK " ends_ms=0,86400001", "ends_ms"},
		{NL_SINK, SINK " ends_ms=1,2,3,4,5,6,7,8,0", "ends_ms"},
		{NL_SINK, SINK " ends_ms=0,5 engine=plain", "ends_ms"},
		{NL_GEN, GEN " bytes=1 starts_ms=5,0", "starts_ms"},
		{NL_GEN, "gen run=7 to=::1 port=5 streams=2 record_B=99 token=" TOKEN
			 " window_ms=1 starts_ms=5,0 udp=1 pacing_Bps=1", "starts_ms"},
		{NL_GEN, GEN " bytes=1 pacings_Bps=1000000000001", "pacings_Bps"},
		{NL_SINK, SINK " egress=lo", "egress"},
		{NL_SINK, SINK " yield_B=1", "yield_B"},
		{NL_SINK, SINK " batch_B=0", "batch_B"},
		{NL_SINK, SINK " batch_B=much", "batch_B"},
		{NL_SINK, SINK " batch_B=1099511627777", "batch_B"},
		{NL_SINK, SINK " read_delay=1", "read_delay"},
		{NL_SINK, SINK " sched_batch=perhaps", "sched_batch"},
		{NL_SINK, SINK " spread=on cpus=0", "spread"},
		{NL_SINK, SINK " engine=plain spread=off", "spread"},
		{NL_SINK, SINK " engine=plain batch_B=none", "batch_B"},
		{NL_SINK, SINK " pacing_Bps=5", "pacing_Bps"},
		{NL_SINK, SINK " dscp=64", "dscp"},
		{NL_SINK, SINK " mss_B=32768", "mss_B"},
		{NL_SINK, SINK " nodelay=2", "nodelay"},
		{NL_SINK, SINK " busy_poll_us=1000001", "busy_poll_us"},
		{NL_SINK, SINK " cpus=3-1", "cpus"},
		{NL_SINK, SINK " cpus=0,0", "cpus"},
		{NL_SINK, SINK " cpus=0 follow_incoming_cpu=1", "follow_incoming_cpu"},
		{NL_GEN, GEN, "window_ms"},
		{NL_GEN, GEN " window_ms=0", "window_ms"},
		{NL_GEN, GEN " window_ms=5 bytes=5", "bytes"},
		{NL_GEN, "gen run=7 to=localhost", "to"},
		{NL_GEN, "gen run=7 to=1.2.3.4 port=0 streams=1 record_B=1 bytes=1 token=" TOKEN, "port"},
		{NL_GEN, "gen run=7 to=1.2.3.4 port=1 streams=0", "streams"},
		{NL_GEN, "gen run=7 to=1.2.3.4 port=1 streams=1 token=12", "token"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		CHECK(parse(row[i].role, row[i].line) == NL_BAD_REQUEST);
		CHECK(strcmp(err.key, row[i].key) == 0);
		CHECK(err.code == NL_BAD_REQUEST && strlen(err.message) > 5);
	}
}

TEST(the_defaults_are_within_the_table_s_bounds)
{
	size_t count;
	const struct nl_option *option = nl_options(&count);

	for (size_t i = 0; i < count; i++) {
		CHECK(nl_option_find(option[i].name) == &option[i]);
		nl_run_opts_init(&opts, (option[i].roles & NL_SINK) ? NL_SINK : NL_GEN);
		if (option[i].initial)
			CHECK(nl_run_opts_set(&opts, option[i].name, option[i].initial, &err) == NL_OK);
	}
}

TEST(more_memory_than_allowed_is_a_limit)
{
	CHECK(parse(NL_GEN, GEN " bytes=1") == NL_OK);
	opts.streams = 10000;
	opts.record_B = 64 << 20;
	CHECK(nl_run_opts_check(&opts, &err) == NL_LIMIT);
}
