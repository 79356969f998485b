#include "check.h"
#include "net/rtnl.h"
#include "net/sock.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

struct answer {
	struct nlmsghdr head;
	struct ifinfomsg link;
	struct rtattr other;
	uint32_t other_value;
	struct rtattr attribute;
	struct rtnl_link_stats64 stats;
} __attribute__((packed)); /* attributes are aligned to 4 only */

static struct answer good(void)
{
	struct answer a;

	memset(&a, 0, sizeof(a));
	a.head.nlmsg_type = RTM_NEWLINK;
	a.head.nlmsg_len = sizeof(a);
	a.link.ifi_index = 5;
	a.other.rta_type = IFLA_MTU;
	a.other.rta_len = 8;
	a.attribute.rta_type = IFLA_STATS64;
	a.attribute.rta_len = (unsigned short)(4 + sizeof(a.stats));
	a.stats.rx_bytes = UINT64_C(1) << 40;
	a.stats.tx_dropped = 7;
	return a;
}

static struct nl_interface out;
static int32_t ifindex;

static int parse(const struct answer *a, size_t len)
{
	return nl_rtnl_parse(a, len, &ifindex, &out);
}

TEST(counters_are_found_behind_other_attributes)
{
	struct answer a = good();

	CHECK(parse(&a, sizeof(a)) == 0);
	CHECK(ifindex == 5 && out.rx_bytes == UINT64_C(1) << 40 && out.tx_dropped == 7);
}

TEST(malformed_answers_are_rejected)
{
	struct answer a = good();
	int32_t error = -ENODEV;

	for (size_t len = 0; len < sizeof(a); len++)
		CHECK(parse(&a, len) == -1);
	a.other.rta_len = 0;
	CHECK(parse(&a, sizeof(a)) == -1);
	a = good();
	a.attribute.rta_len = 40;
	CHECK(parse(&a, sizeof(a)) == -1);
	a = good();
	a.head.nlmsg_type = NLMSG_ERROR;
	memcpy(&a.link, &error, sizeof(error));
	CHECK(parse(&a, sizeof(a)) == ENODEV);
}

TEST(a_setting_is_found_by_its_number)
{
	struct nl_rtnl_u32 found = {.type = IFLA_MTU}, none = {.type = IFLA_GSO_MAX_SIZE};
	struct answer a = good();

	a.other_value = 9000;
	CHECK(nl_rtnl_find_u32(&a, sizeof(a), &ifindex, &found) == 0);
	CHECK(ifindex == 5 && found.value == 9000);
	CHECK(nl_rtnl_find_u32(&a, sizeof(a), &ifindex, &none) == -1);
	a.other.rta_len = 6; /* 2 bytes only */
	CHECK(nl_rtnl_find_u32(&a, sizeof(a), &ifindex, &found) == -1);
	a.head.nlmsg_type = NLMSG_ERROR;
	memcpy(&a.link, &(int32_t){-ENODEV}, sizeof(int32_t));
	CHECK(nl_rtnl_find_u32(&a, sizeof(a), &ifindex, &found) == ENODEV);
}

TEST(tcp_info_of_an_older_kernel_leaves_zeros)
{
	uint8_t info[256];
	struct nl_tcp tcp;

	memset(info, 1, sizeof(info));
	nl_tcpinfo_parse(info, 104, &tcp); /* Linux 2.6: to tcpi_total_retrans */
	CHECK(tcp.rtt_us == 0x01010101 && tcp.retransmits == 0x01010101);
	CHECK(tcp.bytes_acked == 0 && tcp.busy_us == 0 && tcp.bytes_sent == 0);
	nl_tcpinfo_parse(info, sizeof(info), &tcp);
	CHECK(tcp.bytes_sent == UINT64_C(0x0101010101010101));
}

TEST(an_attribute_that_does_not_fit_makes_a_request_that_is_not_sent)
{
	static const uint8_t content[4096];
	struct {
		struct nl_rtnl_request request;
		uint8_t after[64];
	} r = {.after = {1, 2, 3}};

	nl_rtnl_begin(&r.request, RTM_NEWQDISC, NLM_F_ACK, content, 20);
	nl_rtnl_append(&r.request, 1, content, sizeof(r.request.content) - 20 - 4);
	CHECK(r.request.head.nlmsg_len == sizeof(r.request));
	nl_rtnl_append(&r.request, 2, content, 0);
	CHECK(nl_rtnl_change(&r.request) == EMSGSIZE);
	for (size_t len = 0; len < 300; len++) {
		nl_rtnl_begin(&r.request, RTM_NEWQDISC, NLM_F_ACK, content, 20);
		nl_rtnl_append(&r.request, 1, content, len);
		CHECK((r.request.head.nlmsg_len > 0) == (len <= sizeof(r.request.content) - 20 - 4));
	}
	nl_rtnl_append(&r.request, 1, content, sizeof(content));
	nl_rtnl_begin(&r.request, RTM_NEWQDISC, NLM_F_ACK, content, sizeof(content));
	CHECK(nl_rtnl_change(&r.request) == EMSGSIZE && r.after[0] == 1 && r.after[2] == 3);
}
