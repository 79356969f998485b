#include "base/files.h"
#include "check.h"
#include "meter/procfs.h"

static struct nl_meter a, b;
static struct nl_meter_span span;

static int parse(struct nl_meter *m, const char *text)
{
	return nl_procfs_stat(text, strlen(text), 10000, m);
}

TEST(stat_is_read_by_cpu)
{
	CHECK(parse(&a, "cpu  9 9 9 9 9 9 9 9 0 0\n"
			"cpu0 1 2 3 4 5 6 7 8 0 0\n"
			"cpu2 10 0 0 0 0 0 0 0\n"
			"intr 12345 1 2 3\nctxt 678\nbtime 1\n") == 0);
	CHECK(a.cpus == 2 && a.cpu[0].cpu == 0 && a.cpu[1].cpu == 2);
	CHECK(a.cpu[0].user_us == 10000 && a.cpu[0].steal_us == 80000 && a.cpu[1].user_us == 100000);
	CHECK(a.interrupts == 12345 && a.context_switches == 678);
}

TEST(malformed_stat_is_rejected)
{
	CHECK(parse(&b, "") == -1);
	CHECK(parse(&b, "cpu0 1 2 3 4 5 6 7 8\n") == -1);
	CHECK(parse(&b, "cpu0 1 2 3\nintr 1\nctxt 1\n") == -1);
	CHECK(parse(&b, "cpu0 1 2 3 4 5 6 7 99999999999999999999\nintr 1\nctxt 1\n") == -1);
}

TEST(softnet_rows_are_added_up)
{
	const char *text = "00000010 00000001 0000000a 00000000\nffffffff 00000001 00000001\n";

	CHECK(nl_procfs_softnet(text, strlen(text), &a) == 0);
	CHECK(a.softnet_processed == 15 && a.softnet_dropped == 2 && a.softnet_time_squeeze == 11);
	CHECK(nl_procfs_softnet("zz\n", 3, &a) == -1);
	CHECK(nl_procfs_softnet("", 0, &a) == -1);
}

TEST(differences_see_wraps_resets_and_missing_cpus)
{
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	memcpy(a.name, "x0", 3);
	a.ifindex = b.ifindex = 3;
	a.interface.rx_bytes = 100;
	b.interface.rx_bytes = 150;
	a.softnet_processed = 0xfffffff0;
	b.softnet_processed = 0x10;
	a.cpus = 3;
	b.cpus = 2;
	a.cpu[1].cpu = b.cpu[1].cpu = 2;
	a.cpu[1].cpu = 1;
	a.cpu[2].cpu = 2;
	b.cpu[1].user_us = 70;
	a.cpu[0].iowait_us = 5; /* may decrease: not a huge difference */
	nl_meter_diff(&a, &b, &span);
	CHECK(span.interface.rx_bytes == 50 && !span.reset && span.softnet_processed == 0x20);
	CHECK(span.cpus == 2 && span.cpu[1].cpu == 2 && span.cpu[1].user_us == 70);
	CHECK(span.cpu[0].iowait_us == 0);
	b.interface.rx_bytes = 99;
	nl_meter_diff(&a, &b, &span);
	CHECK(span.reset && span.interface.rx_bytes == 0);
	b.interface.rx_bytes = 200;
	b.ifindex = 4;
	nl_meter_diff(&a, &b, &span);
	CHECK(span.reset);
}

TEST(this_machine_is_read)
{
	struct nl_err err;
	char small[8];

	CHECK(nl_meter_read("lo", &a, &err) == NL_OK && a.cpus > 0 && a.ifindex > 0);
	CHECK(nl_meter_read(NULL, &a, &err) == NL_OK && a.name[0] == '\0');
	CHECK(nl_meter_read("nosuch0", &a, &err) == NL_BAD_REQUEST);
	CHECK(nl_meter_read("a_name_longer_than_any_interface", &a, &err) == NL_BAD_REQUEST);
	CHECK(nl_file_read("/proc/stat", small, sizeof(small)) == -1);
	CHECK(nl_file_read("/proc/none", small, sizeof(small)) == -1);
}
