/* rtnl: the counters and 32-bit settings of one interface, over rtnetlink. */
#pragma once

#include "netlab.h"

#include <linux/netlink.h>

enum { NL_RTNL_ANSWER_MAX = 32768 };

/* A request to the kernel. */
struct nl_rtnl_request {
	struct nlmsghdr head;
	_Alignas(4) uint8_t content[192]; /* a message and its attributes */
};

/* An answer of the kernel. */
struct nl_rtnl_answer {
	size_t len;
	_Alignas(8) uint8_t bytes[NL_RTNL_ANSWER_MAX];
};

/* An attribute of 32 bits: IFLA_... and its value. */
struct nl_rtnl_u32 {
	uint16_t type;
	uint32_t value;
};

/* One attribute within a message. */
struct nl_rtattr {
	uint16_t type;
	size_t len; /* of the content */
	const uint8_t *content;
};

/* The attribute at *at, which moves past it. 1, or 0 at the end and before a malformed one. Pure. */
int nl_rtattr_next(const uint8_t *message, size_t len, size_t *at, struct nl_rtattr *out);

/* Begin a request with the message that follows its header, and append attributes. One that does not
 * fit makes the request EMSGSIZE for whoever sends it. */
void nl_rtnl_begin(struct nl_rtnl_request *out, uint16_t type, uint16_t flags, const void *head,
		   size_t len);
void nl_rtnl_append(struct nl_rtnl_request *r, uint16_t type, const void *content, size_t len);

/* Send a request with NLM_F_ACK. 0, or a positive errno. */
int nl_rtnl_change(const struct nl_rtnl_request *request);
int nl_rtnl_send(const struct nlmsghdr *request); /* one of any length */

/* Send a request with NLM_F_DUMP and call `each` with every message of the answer, until it returns
 * other than 0. 0, or a positive errno. */
int nl_rtnl_dump(const struct nl_rtnl_request *request,
		 int (*each)(void *ctx, const uint8_t *message, size_t len), void *ctx);

/* Parse the counters from one rtnetlink answer. Pure. 0; a positive errno sent by the kernel; -1 if
 * the answer has no counters. */
int nl_rtnl_parse(const void *answer, size_t len, int32_t *ifindex, struct nl_interface *out);

/* Parse one attribute of 32 bits; out->type says which. Pure. Returns as nl_rtnl_parse. */
int nl_rtnl_find_u32(const void *answer, size_t len, int32_t *ifindex, struct nl_rtnl_u32 *out);

/* Query the kernel. 0, or a positive errno (ENODEV: no such interface). */
int nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out);

/* Query the kernel for all attributes of an interface. 0, or a positive errno of this process; an
 * error of the kernel is an answer. */
int nl_rtnl_link(const char *name, struct nl_rtnl_answer *answer);

/* Set up to 4 attributes of an interface in one request, which the kernel takes in the order of their
 * numbers. 0, or a positive errno. */
int nl_rtnl_set_u32(int32_t ifindex, const struct nl_rtnl_u32 *values, size_t n);
