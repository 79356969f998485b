/* knob_offload: the largest packets that segmentation (GSO) and aggregation (GRO) make, over
 * rtnetlink. Above 65536 they are those of BIG TCP. */
#include "net/rtnl.h"
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* IFLA_... of <linux/if_link.h>, which an older one lacks. */
enum {
	GSO_MAX_SIZE = 41,
	GRO_MAX_SIZE = 58,
	TSO_MAX_SIZE = 59,
	GSO_IPV4_MAX_SIZE = 63,
	GRO_IPV4_MAX_SIZE = 64,
};

static const char *const names[] = {"gso_max_size", "gro_max_size", "gso_ipv4_max_size",
				    "gro_ipv4_max_size", NULL};

/* The kernel also changes `follower` where `type` is set to 65536 or less. */
static const struct size {
	uint16_t type, follower;
} sizes[] = {{GSO_MAX_SIZE, GSO_IPV4_MAX_SIZE},
	     {GRO_MAX_SIZE, GRO_IPV4_MAX_SIZE},
	     {GSO_IPV4_MAX_SIZE, 0},
	     {GRO_IPV4_MAX_SIZE, 0}};

static const struct size *size_of(const struct nl_knob *k)
{
	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], k->name) == 0)
			return &sizes[i];
	return NULL;
}

/* Find the value of an attribute: found->type says which. */
static enum nl_knob_code find(const struct nl_knob *k, const struct nl_rtnl_answer *answer,
			      int32_t *ifindex, struct nl_rtnl_u32 *found, struct nl_err *why)
{
	int code = nl_rtnl_find_u32(answer->bytes, answer->len, ifindex, found);

	if (code == 0)
		return NL_KNOB_OK;
	if (code == ENODEV) {
		nl_fail(why, NL_REFUSED, "no such interface: %s", k->interface);
		return NL_KNOB_GONE;
	}
	if (code > 0)
		return nl_knob_fail_errno(why, "RTM_GETLINK", code);
	nl_fail(why, NL_REFUSED, "this kernel has no %s of an interface", k->name);
	return NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_code read_size(const struct nl_knob *k, struct nl_rtnl_answer *answer,
				   int32_t *ifindex, struct nl_rtnl_u32 *found, struct nl_err *why)
{
	int err = nl_rtnl_link(k->interface, answer);

	found->type = size_of(k)->type;
	if (err)
		return nl_knob_fail_errno(why, "RTM_GETLINK", err);
	return find(k, answer, ifindex, found, why);
}

static enum nl_knob_code offload_read(const struct nl_knob *k, struct nl_value *out,
				      enum nl_knob_access *access, struct nl_err *why)
{
	struct nl_rtnl_answer answer;
	struct nl_rtnl_u32 found;
	int32_t ifindex;
	enum nl_knob_code code = read_size(k, &answer, &ifindex, &found, why);

	*access = NL_KNOB_READ_ONLY;
	if (code != NL_KNOB_OK)
		return code;
	snprintf(out->text, sizeof(out->text), "%" PRIu32, found.value);
	memcpy(out->exact, out->text, sizeof(out->exact));
	*access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

/* Set one size. Its follower is set to its present value in the same request, so that a knob changes
 * one setting only, also when it is reverted. */
static enum nl_knob_code offload_write(const struct nl_knob *k, const char *text,
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
	values[1].type = size_of(k)->follower;
	if (values[1].type &&
	    nl_rtnl_find_u32(answer.bytes, answer.len, &ifindex, &values[1]) == 0)
		n = 2;
	err = nl_rtnl_set_u32(ifindex, values, n);
	if (err == 0)
		return NL_KNOB_OK;
	if (strncmp(k->name, "gso", 3) == 0 &&
	    nl_rtnl_find_u32(answer.bytes, answer.len, &ifindex, &most) == 0 &&
	    values[0].value > most.value) {
		nl_fail(why, NL_REFUSED, "the device takes at most %" PRIu32 " B (tso_max_size)",
			most.value);
		return NL_KNOB_REFUSED;
	}
	return nl_knob_fail_errno(why, "RTM_SETLINK", err);
}

const struct nl_knob_ops nl_knob_ops_offload = {
	.kind = "offload",
	.names = names,
	.has_interface = 1,
	.read = offload_read,
	.write = offload_write,
	.restore = offload_write,
	.value_ok = nl_knob_is_number,
	.value_form = "a size is a decimal number of bytes",
};
