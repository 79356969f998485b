#include "net/rtnl.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SET_MAX = 4 };

/* The first fields of rtnl_link_stats64, to which newer kernels only append. */
_Static_assert(offsetof(struct nl_interface, tx_dropped) == offsetof(struct rtnl_link_stats64, tx_dropped),
	       "nl_interface has the kernel's order");

int nl_rtattr_next(const uint8_t *message, size_t len, size_t *at, struct nl_rtattr *out)
{
	struct rtattr head;

	if (*at >= len || len - *at < sizeof(head))
		return 0;
	memcpy(&head, message + *at, sizeof(head));
	if (head.rta_len < sizeof(head) || head.rta_len > len - *at)
		return 0;
	out->type = head.rta_type;
	out->len = head.rta_len - sizeof(head);
	out->content = message + *at + sizeof(head);
	*at += RTA_ALIGN(head.rta_len);
	return 1;
}

enum { ERRNO_MAX = 4095 }; /* of the kernel */

/* The error in a message of the kernel: 0, or a positive errno; EPROTO for another message. */
static int error_of(const uint8_t *message, size_t len)
{
	struct nlmsghdr head;
	int32_t error;

	if (len < NLMSG_HDRLEN + sizeof(error))
		return EPROTO;
	memcpy(&head, message, sizeof(head));
	memcpy(&error, message + NLMSG_HDRLEN, sizeof(error));
	return head.nlmsg_type != NLMSG_ERROR || error > 0 || error < -ERRNO_MAX ? EPROTO : -error;
}

/* The attribute of a type with at least `least` bytes of content. 0 with *found and *ifindex; a
 * positive errno sent by the kernel; -1 without one. */
static int find_attribute(const void *answer, size_t len, uint16_t type, size_t least,
			  int32_t *ifindex, const uint8_t **found)
{
	const uint8_t *at = answer;
	struct nlmsghdr head;
	struct nl_rtattr attribute;
	struct ifinfomsg link;
	size_t end, next;

	if (len < sizeof(head))
		return -1;
	memcpy(&head, at, sizeof(head));
	if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > len)
		return -1;
	end = head.nlmsg_len;
	if (head.nlmsg_type == NLMSG_ERROR) {
		int error = error_of(at, end);

		return error > 0 && error != EPROTO ? error : -1;
	}
	if (head.nlmsg_type != RTM_NEWLINK || end < NLMSG_HDRLEN + sizeof(link))
		return -1;
	memcpy(&link, at + NLMSG_HDRLEN, sizeof(link));
	next = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(link));
	while (nl_rtattr_next(at, end, &next, &attribute)) {
		if (attribute.type == type && attribute.len >= least) {
			*found = attribute.content;
			*ifindex = link.ifi_index;
			return 0;
		}
	}
	return -1;
}

int nl_rtnl_parse(const void *answer, size_t len, int32_t *ifindex, struct nl_interface *out)
{
	const uint8_t *stats;
	int code = find_attribute(answer, len, IFLA_STATS64, sizeof(*out), ifindex, &stats);

	if (code == 0)
		memcpy(out, stats, sizeof(*out));
	return code;
}

int nl_rtnl_find_u32(const void *answer, size_t len, int32_t *ifindex, struct nl_rtnl_u32 *out)
{
	const uint8_t *value;
	int code = find_attribute(answer, len, out->type, sizeof(out->value), ifindex, &value);

	if (code == 0)
		memcpy(&out->value, value, sizeof(out->value));
	return code;
}

/* Call `each` with every message of an answer. 0 or a positive errno; *done once it returned other than 0,
 * or the answer has ended. */
static int each_message(const struct nl_rtnl_answer *answer,
			int (*each)(void *ctx, const uint8_t *message, size_t len), void *ctx, int *done)
{
	struct nlmsghdr head;

	for (size_t at = 0; !*done; at += NLMSG_ALIGN(head.nlmsg_len)) {
		if (at > 0 && at >= answer->len)
			return 0;
		if (answer->len - at < sizeof(head))
			return EPROTO;
		memcpy(&head, answer->bytes + at, sizeof(head));
		if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > answer->len - at)
			return EPROTO;
		if (head.nlmsg_type == NLMSG_ERROR)
			return at == 0 ? error_of(answer->bytes, answer->len) : EPROTO;
		*done = head.nlmsg_type == NLMSG_DONE || each(ctx, answer->bytes + at, head.nlmsg_len);
	}
	return 0;
}

/* Send a request and receive its answers, of a dump all of them. 0, or a positive errno of this process. */
static int rtnl_ask(const struct nlmsghdr *request, struct nl_rtnl_answer *answer,
		    int (*each)(void *ctx, const uint8_t *message, size_t len), void *ctx)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), done = each == NULL, err = 0;
	ssize_t n;

	answer->len = 0;
	if (fd < 0)
		return errno;
	if (request->nlmsg_len < sizeof(*request)) {
		close(fd);
		return EMSGSIZE;
	}
	do
		n = send(fd, request, request->nlmsg_len, 0);
	while (n < 0 && errno == EINTR);
	do {
		while (n >= 0 && (n = recv(fd, answer->bytes, sizeof(answer->bytes), 0)) < 0 && errno == EINTR)
			n = 0;
		err = n < 0 ? errno : 0;
		answer->len = n < 0 ? 0 : (size_t)n;
		if (!err && !done)
			err = each_message(answer, each, ctx, &done);
	} while (!err && !done);
	close(fd);
	return err;
}

int nl_rtnl_dump(const struct nl_rtnl_request *request,
		 int (*each)(void *ctx, const uint8_t *message, size_t len), void *ctx)
{
	struct nl_rtnl_answer answer;

	return rtnl_ask(&request->head, &answer, each, ctx);
}

void nl_rtnl_begin(struct nl_rtnl_request *out, uint16_t type, uint16_t flags, const void *head,
		   size_t len)
{
	memset(out, 0, sizeof(*out));
	out->head.nlmsg_type = type;
	out->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	if (len > sizeof(out->content))
		return;
	out->head.nlmsg_len = (uint32_t)NLMSG_SPACE(len);
	memcpy(out->content, head, len);
}

void nl_rtnl_append(struct nl_rtnl_request *r, uint16_t type, const void *content, size_t len)
{
	struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = type};
	size_t used = r->head.nlmsg_len - sizeof(r->head);
	uint8_t *at = r->content + used;

	if (r->head.nlmsg_len < sizeof(r->head))
		return;
	if (len > sizeof(r->content) || RTA_SPACE(len) > sizeof(r->content) - used) {
		r->head.nlmsg_len = 0;
		return;
	}
	memcpy(at, &attribute, sizeof(attribute));
	memcpy(at + sizeof(attribute), content, len);
	r->head.nlmsg_len += (uint32_t)RTA_SPACE(len);
}

int nl_rtnl_change(const struct nl_rtnl_request *request)
{
	return nl_rtnl_send(&request->head);
}

int nl_rtnl_send(const struct nlmsghdr *request)
{
	struct nl_rtnl_answer answer;
	int err = rtnl_ask(request, &answer, NULL, NULL);

	return err ? err : error_of(answer.bytes, answer.len);
}

int nl_rtnl_link(const char *name, struct nl_rtnl_answer *answer)
{
	const struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
	size_t len = strlen(name) + 1;
	struct nl_rtnl_request request;

	if (len > IFNAMSIZ)
		return ENODEV;
	nl_rtnl_begin(&request, RTM_GETLINK, 0, &link, sizeof(link));
	nl_rtnl_append(&request, IFLA_IFNAME, name, len);
	return rtnl_ask(&request.head, answer, NULL, NULL);
}

int nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out)
{
	struct nl_rtnl_answer answer;
	int found = nl_rtnl_link(name, &answer);

	if (found)
		return found;
	found = nl_rtnl_parse(answer.bytes, answer.len, ifindex, out);
	return found < 0 ? EPROTO : found;
}

int nl_rtnl_set_u32(int32_t ifindex, const struct nl_rtnl_u32 *values, size_t n)
{
	const struct ifinfomsg link = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
	struct nl_rtnl_request request;

	if (n > SET_MAX)
		return EINVAL;
	nl_rtnl_begin(&request, RTM_SETLINK, NLM_F_ACK, &link, sizeof(link));
	for (size_t i = 0; i < n; i++)
		nl_rtnl_append(&request, values[i].type, &values[i].value, sizeof(values[i].value));
	return nl_rtnl_change(&request);
}
