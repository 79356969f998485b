#include "net/rtnl.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MAX = 32768 };

/* The fields read from rtnl_link_stats64; newer kernels only append to it. */
static void take_stats(const uint8_t *from, struct nl_interface *out)
{
	struct rtnl_link_stats64 stats;

	memcpy(&stats, from, offsetof(struct rtnl_link_stats64, multicast));
	out->rx_packets = stats.rx_packets;
	out->tx_packets = stats.tx_packets;
	out->rx_bytes = stats.rx_bytes;
	out->tx_bytes = stats.tx_bytes;
	out->rx_errors = stats.rx_errors;
	out->tx_errors = stats.tx_errors;
	out->rx_dropped = stats.rx_dropped;
	out->tx_dropped = stats.tx_dropped;
}

int nl_rtnl_parse(const void *answer, size_t len, int32_t *ifindex, struct nl_interface *out)
{
	const uint8_t *at = answer;
	struct nlmsghdr head;
	struct ifinfomsg link;
	size_t end, next;

	if (len < sizeof(head))
		return -1;
	memcpy(&head, at, sizeof(head));
	if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > len)
		return -1;
	end = head.nlmsg_len;
	if (head.nlmsg_type == NLMSG_ERROR) {
		int32_t error;

		if (end < NLMSG_HDRLEN + sizeof(error))
			return -1;
		memcpy(&error, at + NLMSG_HDRLEN, sizeof(error));
		return error < 0 && error > -4096 ? -error : -1;
	}
	if (head.nlmsg_type != RTM_NEWLINK || end < NLMSG_HDRLEN + sizeof(link))
		return -1;
	memcpy(&link, at + NLMSG_HDRLEN, sizeof(link));
	for (size_t i = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(link)); i + sizeof(struct rtattr) <= end;
	     i = next) {
		struct rtattr attribute;

		memcpy(&attribute, at + i, sizeof(attribute));
		if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > end - i)
			return -1;
		if (attribute.rta_type == IFLA_STATS64 &&
		    attribute.rta_len >= sizeof(attribute) + offsetof(struct rtnl_link_stats64, multicast)) {
			take_stats(at + i + sizeof(attribute), out);
			*ifindex = link.ifi_index;
			return 0;
		}
		next = i + RTA_ALIGN(attribute.rta_len);
	}
	return -1;
}

int nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
		struct rtattr attribute;
		char name[IFNAMSIZ];
	} request;
	_Alignas(8) uint8_t answer[ANSWER_MAX];
	size_t name_len = strlen(name) + 1;
	ssize_t n;
	int fd, found;

	if (name_len > IFNAMSIZ)
		return ENODEV;
	memset(&request, 0, sizeof(request));
	request.head.nlmsg_type = RTM_GETLINK;
	request.head.nlmsg_flags = NLM_F_REQUEST;
	request.link.ifi_family = AF_UNSPEC;
	request.attribute.rta_type = IFLA_IFNAME;
	request.attribute.rta_len = (unsigned short)RTA_LENGTH(name_len);
	memcpy(request.name, name, name_len);
	request.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(request.link)) +
					    RTA_ALIGN(request.attribute.rta_len));

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return errno;
	do
		n = send(fd, &request, request.head.nlmsg_len, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0) {
		do
			n = recv(fd, answer, sizeof(answer), 0);
		while (n < 0 && errno == EINTR);
	}
	if (n < 0) {
		found = errno;
		close(fd);
		return found;
	}
	close(fd);
	found = nl_rtnl_parse(answer, (size_t)n, ifindex, out);
	return found < 0 ? EPROTO : found;
}
