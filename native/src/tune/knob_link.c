/* knob_link: settings of an interface that are one number of rtnetlink: MTU, queue length, and the largest
 * packets that segmentation (GSO) and aggregation (GRO) make. Above 65536 these are those of BIG TCP. */
#include "net/rtnl.h"
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* IFLA_... of <linux/if_link.h>, of which an older one lacks some. */
enum { MTU = 4, TXQLEN = 13, GSO_MAX_SIZE = 41, GRO_MAX_SIZE = 58, TSO_MAX_SIZE = 59,
       GSO_IPV4_MAX_SIZE = 63, GRO_IPV4_MAX_SIZE = 64 };

enum { IPV6_MIN_MTU = 1280 };

/* The `detail` of a kind: its attributes, in the order of its names. The kernel also changes `follower`
 * where `type` is set to 65536 or less. */
static const struct attribute {
	uint16_t type, follower;
} sizes[] = {{GSO_MAX_SIZE, GSO_IPV4_MAX_SIZE},
	     {GRO_MAX_SIZE, GRO_IPV4_MAX_SIZE},
	     {GSO_IPV4_MAX_SIZE, 0},
	     {GRO_IPV4_MAX_SIZE, 0}},
  mtu = {MTU, 0}, txqueuelen = {TXQLEN, 0};

static const char *const names[] = {"gso_max_size", "gro_max_size", "gso_ipv4_max_size",
				    "gro_ipv4_max_size", NULL};

static const struct attribute *attribute_of(const struct nl_knob *k)
{
	const struct attribute *first = k->ops->detail;

	return k->ops->names ? first + nl_knob_name_index(k) : first;
}

static enum nl_knob_code read_size(const struct nl_knob *k, struct nl_rtnl_answer *answer,
				   int32_t *ifindex, struct nl_rtnl_u32 *found, struct nl_err *why)
{
	int code = nl_rtnl_link(k->interface, answer);

	found->type = attribute_of(k)->type;
	if (code == 0)
		code = nl_rtnl_find_u32(answer->bytes, answer->len, ifindex, found);
	if (code < 0)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "this kernel has no %s of an interface",
				    k->name[0] ? k->name : k->ops->kind);
	if (code == ENODEV)
		return nl_knob_gone(k, why);
	return code ? nl_knob_fail_errno(why, "RTM_GETLINK", code) : NL_KNOB_OK;
}

static enum nl_knob_code link_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	struct nl_rtnl_answer answer;
	struct nl_rtnl_u32 found;
	int32_t ifindex;
	enum nl_knob_code code = read_size(k, &answer, &ifindex, &found, why);

	if (code != NL_KNOB_OK)
		return code;
	nl_knob_put_number(out, found.value);
	out->access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

/* Set one attribute. Its follower is set to its present value in the same request, so that a knob changes
 * one setting only, also when it is reverted. */
static enum nl_knob_code link_set(const struct nl_knob *k, const char *text,
				       struct nl_err *why)
{
	struct nl_rtnl_u32 values[2], most = {.type = TSO_MAX_SIZE};
	struct nl_rtnl_answer answer;
	size_t n = 1;
	int32_t ifindex;
	int err;
	enum nl_knob_code code = read_size(k, &answer, &ifindex, &values[0], why);

	if (code != NL_KNOB_OK)
		return code;
	values[0].value = (uint32_t)strtoul(text, NULL, 10);
	values[1].type = attribute_of(k)->follower;
	if (values[1].type &&
	    nl_rtnl_find_u32(answer.bytes, answer.len, &ifindex, &values[1]) == 0)
		n = 2;
	err = nl_rtnl_set_u32(ifindex, values, n);
	if (err == 0)
		return NL_KNOB_OK;
	if (strncmp(k->name, "gso", 3) == 0 &&
	    nl_rtnl_find_u32(answer.bytes, answer.len, &ifindex, &most) == 0 &&
	    values[0].value > most.value)
		return nl_knob_fail(why, NL_KNOB_REFUSED,
				    "the device takes at most %" PRIu32 " B (tso_max_size)",
				    most.value);
	return nl_knob_fail_errno(why, "RTM_SETLINK", err);
}

/* Below 1280 the kernel removes IPv6 from an interface, with its addresses and settings; a larger
 * MTU later does not restore them. */
static enum nl_knob_code mtu_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s", k->interface);
	if (strtoul(text, NULL, 10) >= IPV6_MIN_MTU || access(path, F_OK) < 0)
		return link_set(k, text, why);
	return nl_knob_fail(why, NL_KNOB_REFUSED,
			    "an MTU below %d removes IPv6 from %s, and a revert would not restore its addresses",
			    IPV6_MIN_MTU, k->interface);
}

const struct nl_knob_ops nl_knob_ops_mtu = {
	.kind = "mtu", .has_interface = 1, .detail = &mtu, .least = 1, .most = INT32_MAX,
	.read = link_read, .write = mtu_write, .restore = link_set,
};

const struct nl_knob_ops nl_knob_ops_txqueuelen = {
	.kind = "txqueuelen", .has_interface = 1, .detail = &txqueuelen, .most = INT32_MAX,
	.read = link_read, .write = link_set,
};

const struct nl_knob_ops nl_knob_ops_offload = {
	.kind = "offload", .names = names, .has_interface = 1, .detail = sizes, .most = UINT32_MAX,
	.read = link_read, .write = link_set,
};
