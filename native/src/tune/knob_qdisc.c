/* knob_qdisc: the queueing discipline of an interface, over rtnetlink; see qdisc.h for its values.
 *
 * Only one that the kernel chose by itself is changed: it has the handle 0, no parameters of anybody,
 * and comes back when another one is deleted. Ours has handles of its own, also below an mq. */
#include "net/interface.h"
#include "net/rtnl.h"
#include "tune/knob.h"
#include "tune/qdisc.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OUR_HANDLE = 0x6e6c0000, /* nl: */
	OUR_LEAVES = 0x6e6d,     /* and above: one for each queue */
	LEAVES_MAX = 0x1000,
	NUM_TX_QUEUES = 31, /* IFLA_NUM_TX_QUEUES */
};

struct found {
	int ifindex;
	uint32_t handle; /* of the root */
	struct nl_qdisc_tree tree;
	unsigned leaves; /* of a root mq */
	char chosen[NL_QDISC_KIND_MAX + 1]; /* the kind of those that the kernel chose; "" without */
	int mixed;       /* they differ */
	int foreign;     /* one has a handle that is neither ours nor the kernel's */
	int there;
};

static struct tcmsg root_of(int ifindex)
{
	return (struct tcmsg){.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = TC_H_ROOT};
}

/* The kind and parameters of a message's attributes. 0, or -1 without a kind. */
static int take_qdisc(const uint8_t *message, size_t start, size_t len, struct nl_qdisc *out)
{
	struct nl_rtattr attribute, options = {0};

	out->kind[0] = '\0';
	while (nl_rtattr_next(message, len, &start, &attribute)) {
		if (attribute.type == TCA_KIND && attribute.len > 1)
			nl_qdisc_init(out, (const char *)attribute.content, attribute.len - 1);
		if (attribute.type == TCA_OPTIONS)
			options = attribute;
	}
	if (!out->kind[0])
		return -1;
	nl_qdisc_take_options(out, options.content, options.len);
	return 0;
}

static void take_leaf(struct found *found, const struct tcmsg *tc, const struct nl_qdisc *leaf)
{
	uint32_t major = TC_H_MAJ(tc->tcm_handle) >> 16;
	int ours = major >= OUR_LEAVES && major < OUR_LEAVES + LEAVES_MAX;

	found->foreign |= tc->tcm_handle != 0 && !ours;
	if (tc->tcm_handle == 0 && strcmp(found->chosen, leaf->kind) != 0)
		snprintf(found->chosen, sizeof(found->chosen), "%s",
			 found->chosen[0] ? "mixed" : leaf->kind);
	/* the kernel's own choice has no parameters that count */
	if (found->leaves++ == 0) {
		if (ours)
			found->tree.leaf = *leaf;
	} else if (ours ? memcmp(&found->tree.leaf, leaf, sizeof(*leaf)) != 0
			: found->tree.leaf.kind[0] != '\0') {
		found->mixed = 1;
	}
}

/* Take the root of the interface and what is below an mq; the kernel sends the root first. */
static int take_message(void *ctx, const uint8_t *message, size_t len)
{
	const size_t start = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct tcmsg));
	struct found *found = ctx;
	struct nl_qdisc qdisc;
	struct nlmsghdr head;
	struct tcmsg tc;

	memcpy(&head, message, sizeof(head));
	if (head.nlmsg_type != RTM_NEWQDISC || len < start)
		return 0;
	memcpy(&tc, message + NLMSG_HDRLEN, sizeof(tc));
	if (tc.tcm_ifindex != found->ifindex || take_qdisc(message, start, len, &qdisc) < 0)
		return 0;
	if (tc.tcm_parent == TC_H_ROOT) {
		found->handle = tc.tcm_handle;
		found->tree.root = qdisc;
		found->there = 1;
	} else if (found->there && strcmp(found->tree.root.kind, "mq") == 0 &&
		   TC_H_MAJ(tc.tcm_parent) == TC_H_MAJ(found->handle)) {
		take_leaf(found, &tc, &qdisc);
	}
	return 0;
}

static enum nl_knob_code find_qdisc(const struct nl_knob *k, struct found *found, struct nl_err *why)
{
	struct nl_rtnl_request request;
	struct tcmsg tc;
	int err;

	memset(found, 0, sizeof(*found));
	found->ifindex = nl_ifindex_of(k->interface);
	if (found->ifindex == -ENODEV)
		return nl_knob_gone(k, why);
	if (found->ifindex < 0)
		return nl_knob_fail_errno(why, k->interface, -found->ifindex);
	tc = root_of(found->ifindex);
	nl_rtnl_begin(&request, RTM_GETQDISC, NLM_F_DUMP, &tc, sizeof(tc));
	err = nl_rtnl_dump(&request, take_message, found);
	if (err)
		return nl_knob_fail_errno(why, "RTM_GETQDISC", err);
	if (found->there && strcmp(found->tree.root.kind, "noop") != 0)
		return NL_KNOB_OK;
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
			    "the interface has no queueing discipline while it is down");
}

/* exact: the root's handle in hexadecimal digits, then text; of the kernel's own mq, its leaves' kind too. */
static void qdisc_render(const struct found *found, struct nl_value *out)
{
	struct nl_qdisc_tree tree = found->tree;
	const char *chosen = found->handle == 0 ? found->chosen : "";

	if (found->handle == 0) /* the kernel's parameters are not compared */
		nl_qdisc_init(&tree.root, found->tree.root.kind, strlen(found->tree.root.kind));
	if (nl_qdisc_render(&tree, out->text, sizeof(out->text) - 32) || found->mixed)
		snprintf(out->text, sizeof(out->text), "%s mixed", tree.root.kind);
	snprintf(out->exact, sizeof(out->exact), "%" PRIx32 " %.768s%s%s", found->handle, out->text,
		 *chosen ? " " : "", chosen);
}

static enum nl_knob_code qdisc_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	struct found found;
	enum nl_knob_code code = find_qdisc(k, &found, why);

	if (code != NL_KNOB_OK)
		return code;
	qdisc_render(&found, out);
	if ((found.handle != 0 && found.handle != OUR_HANDLE) || found.foreign)
		nl_fail(why, NL_REFUSED, "another program has set %s; a revert could not restore its "
			"parameters", found.foreign ? "those below mq" : found.tree.root.kind);
	else
		out->access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

/* Delete the root, and with it all below. */
static enum nl_knob_code delete_root(int ifindex, struct nl_err *why)
{
	const struct tcmsg tc = root_of(ifindex);
	struct nl_rtnl_request request;
	int err;

	nl_rtnl_begin(&request, RTM_DELQDISC, NLM_F_ACK, &tc, sizeof(tc));
	err = nl_rtnl_change(&request);
	return err ? nl_knob_fail_errno(why, "RTM_DELQDISC", err) : NL_KNOB_OK;
}

static const char one_queue[] = "mq needs an interface with several transmit queues";

static enum nl_knob_code qdisc_make(int ifindex, uint32_t parent, uint32_t handle,
				    const struct nl_qdisc *q, struct nl_err *why)
{
	struct tcmsg tc = root_of(ifindex);
	struct nl_rtnl_request request;
	uint8_t options[64];
	size_t len = nl_qdisc_put_options(q, options);
	int err;

	/* over the kernel's own choice only, not over one that another program has just set */
	tc.tcm_parent = parent;
	tc.tcm_handle = handle;
	nl_rtnl_begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &tc, sizeof(tc));
	nl_rtnl_append(&request, TCA_KIND, q->kind, strlen(q->kind) + 1);
	if (len)
		nl_rtnl_append(&request, TCA_OPTIONS, options, len);
	err = nl_rtnl_change(&request);
	if (err == 0)
		return NL_KNOB_OK;
	if (err == EOPNOTSUPP && strcmp(q->kind, "mq") == 0)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "%s", one_queue);
	if (err != ENOENT)
		return nl_knob_fail_errno(why, "RTM_NEWQDISC", err);
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "this kernel has no queueing discipline %s",
			    q->kind);
}

static enum nl_knob_code qdisc_write(const struct nl_knob *k, const char *text,
				     struct nl_err *why)
{
	struct nl_qdisc_tree wanted;
	struct found found;
	enum nl_knob_code code = find_qdisc(k, &found, why);

	if (code != NL_KNOB_OK)
		return code;
	if (nl_qdisc_parse(text, &wanted))
		return nl_knob_fail_errno(why, text, EINVAL);
	/* One with our handle is deleted first: a kind is not changed in place. */
	if (found.handle == OUR_HANDLE)
		code = delete_root(found.ifindex, why);
	if (code == NL_KNOB_OK)
		code = qdisc_make(found.ifindex, TC_H_ROOT, OUR_HANDLE, &wanted.root, why);
	if (code != NL_KNOB_OK || !wanted.leaf.kind[0])
		return code;
	code = find_qdisc(k, &found, why);
	for (uint32_t i = 0; code == NL_KNOB_OK && i < found.leaves && i < LEAVES_MAX; i++)
		code = qdisc_make(found.ifindex, OUR_HANDLE | (i + 1), (OUR_LEAVES + i) << 16, &wanted.leaf,
				  why);
	return code;
}

/* Delete the root; the kernel then takes its own choice, below an mq too. */
static enum nl_knob_code to_default(const struct nl_knob *k, const char *exact, struct nl_err *why)
{
	struct nl_value now;
	struct found found;
	enum nl_knob_code code = find_qdisc(k, &found, why);

	if (code == NL_KNOB_OK && found.handle)
		code = delete_root(found.ifindex, why);
	if (code == NL_KNOB_OK)
		code = nl_knob_read(k, &now, why);
	if (code != NL_KNOB_OK || strcmp(now.exact, exact) == 0)
		return code;
	return nl_knob_fail(why, NL_KNOB_REFUSED,
			    "the kernel's own choice (net.core.default_qdisc) was %.40s, and is %.40s now",
			    exact + 2, now.exact + 2);
}

static enum nl_knob_code qdisc_restore(const struct nl_knob *k, const char *exact, struct nl_err *why)
{
	char *text;

	if (strtoul(exact, &text, 16) == 0 && *text == ' ')
		return to_default(k, exact, why);
	return qdisc_write(k, text + (*text == ' '), why);
}

/* An interrupted write leaves the kernel's own choice, or a root with our handle. */
static int qdisc_is_mixture(const struct nl_value *found, const char *before, const char *wanted)
{
	(void)before;
	(void)wanted;
	return strtoul(found->exact, NULL, 16) == OUR_HANDLE;
}

static enum nl_knob_code qdisc_can(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	struct nl_rtnl_u32 queues = {.type = NUM_TX_QUEUES};
	struct nl_rtnl_answer answer;
	struct nl_qdisc_tree tree;
	int32_t ifindex;
	int err = nl_qdisc_parse(text, &tree) ? EINVAL : nl_rtnl_link(k->interface, &answer);

	if (err)
		return nl_knob_fail_errno(why, text, err);
	if (strcmp(tree.root.kind, "mq") != 0 ||
	    nl_rtnl_find_u32(answer.bytes, answer.len, &ifindex, &queues) != 0 || queues.value > 1)
		return NL_KNOB_OK;
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "%s", one_queue);
}

const struct nl_knob_ops nl_knob_ops_qdisc = {
	.kind = "qdisc", .has_interface = 1,
	.read = qdisc_read, .write = qdisc_write, .restore = qdisc_restore,
	.is_mixture = qdisc_is_mixture, .can = qdisc_can,
};
