#include "check.h"
#include "emulator/emulate_report.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { PACKET_B = 1500, PACKETS = 200 };

static struct nl_link link[NL_LINKS];
static struct nl_emulate_report report;
static struct nl_json json;

static void closed(void)
{
	for (int i = 0; i < 2; i++)
		nl_link_close(&link[i]);
	nl_json_free(&json);
}

static void arrive(struct nl_link *to, uint64_t now_ns)
{
	uint8_t *frame = nl_link_room(to), *ip = frame + NL_VNET_B;

	CHECK(frame);
	memset(frame, 0, NL_VNET_B + PACKET_B);
	ip[0] = 0x45;
	ip[2] = PACKET_B >> 8;
	ip[3] = PACKET_B & 0xff;
	nl_link_arrive(to, now_ns, NL_VNET_B + PACKET_B);
}

/* A member of the first link. */
static uint64_t member(const char *key)
{
	const char *at = strstr(json.text, key);

	CHECK(at);
	return strtoull(at + strlen(key), NULL, 10);
}

TEST_WITH(a_packet_that_a_discipline_drops_as_it_is_reported_is_counted_once, NULL, closed)
{
	const struct nl_link_opts codel = {.rate_bps = 1000000, .discipline = NL_CODEL, .target_ns = 5 * MS,
					   .interval_ns = 100 * MS}, plain = {0};

	CHECK(nl_link_open(&link[0], &codel, nl_link_memory_B(&codel)) == 0);
	CHECK(nl_link_open(&link[1], &plain, nl_link_memory_B(&plain)) == 0);
	nl_emulate_report_begin(&report, 2, MS, 100, 1000);
	for (int i = 0; i < PACKETS; i++)
		arrive(&link[0], MS);
	CHECK(link[0].count.dropped_early == 0);
	nl_emulate_report_json(&report, link, 1001 * MS, 0, 0, &json);
	CHECK(member("\"in_packets\":") == PACKETS && member("\"early\":") > 0);
	CHECK(member("\"out_packets\":") + member("\"early\":") + member("\"stored_packets\":") == PACKETS);
}
