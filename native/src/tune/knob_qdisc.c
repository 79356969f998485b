/* knob_qdisc: the queueing discipline of an interface, over rtnetlink.
 *
 * Only one that the kernel chose by itself is changed: it has the handle 0, no parameters of anybody,
 * and comes back when another one is deleted. Ours has a handle of its own. */
#include "net/ifindex.h"
#include "net/rtnl.h"
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OUR_HANDLE = 0x6e6c0000, /* nl: */
	KIND_MAX = 16,           /* IFNAMSIZ, as in the kernel's Qdisc_ops */
};

/* Those that carry traffic without parameters or classes. */
static const char *const kinds[] = {"noqueue", "pfifo_fast", "pfifo", "bfifo", "mq",  "fq",
				    "fq_codel", "codel",     "sfq",   "cake",  NULL};

struct qdisc {
	uint32_t handle;
	char kind[KIND_MAX];
};

struct request {
	struct nlmsghdr head;
	struct tcmsg tc;
	struct rtattr attribute;
	char kind[KIND_MAX];
};

/* A request about the root qdisc; kind may be NULL. */
static void fill(struct request *out, uint16_t type, uint16_t flags, int ifindex, const char *kind)
{
	memset(out, 0, sizeof(*out));
	out->head.nlmsg_type = type;
	out->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	out->head.nlmsg_len = NLMSG_LENGTH(sizeof(out->tc));
	out->tc.tcm_family = AF_UNSPEC;
	out->tc.tcm_ifindex = ifindex;
	out->tc.tcm_parent = TC_H_ROOT;
	if (kind) {
		size_t len = strlen(kind) + 1;

		out->tc.tcm_handle = OUR_HANDLE;
		out->attribute.rta_type = TCA_KIND;
		out->attribute.rta_len = (unsigned short)RTA_LENGTH(len);
		memcpy(out->kind, kind, len);
		out->head.nlmsg_len += (uint32_t)RTA_SPACE(len);
	}
}

/* 0 or a positive errno. */
static int change(const struct request *request)
{
	struct nl_rtnl_answer answer;
	int err = nl_rtnl_ask(request, request->head.nlmsg_len, &answer);

	return err ? err : nl_rtnl_error(&answer);
}

struct wanted {
	int ifindex;
	struct qdisc *found;
	int there;
};

/* Take the root of the interface from a message of a dump. */
static int take_root(void *ctx, const uint8_t *message, size_t len)
{
	const size_t start = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct tcmsg));
	struct wanted *wanted = ctx;
	struct nlmsghdr head;
	struct tcmsg tc;
	size_t next;

	memcpy(&head, message, sizeof(head));
	if (head.nlmsg_type != RTM_NEWQDISC || len < start)
		return 0;
	memcpy(&tc, message + NLMSG_HDRLEN, sizeof(tc));
	if (tc.tcm_ifindex != wanted->ifindex || tc.tcm_parent != TC_H_ROOT)
		return 0;
	for (size_t i = start; i + sizeof(struct rtattr) <= len; i = next) {
		struct rtattr attribute;
		size_t size;

		memcpy(&attribute, message + i, sizeof(attribute));
		if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > len - i)
			return 0;
		size = attribute.rta_len - sizeof(attribute);
		if (attribute.rta_type == TCA_KIND && size > 0 && size <= KIND_MAX) {
			wanted->found->handle = tc.tcm_handle;
			memcpy(wanted->found->kind, message + i + sizeof(attribute), size);
			wanted->found->kind[size - 1] = '\0';
			wanted->there = 1;
			return 1;
		}
		next = i + RTA_ALIGN(attribute.rta_len);
	}
	return 0;
}

static enum nl_knob_code look(const struct nl_knob *k, int *ifindex, struct qdisc *found,
			      struct nl_err *why)
{
	struct request request;
	struct wanted wanted = {.found = found};
	int err;

	*ifindex = nl_ifindex_of(k->interface);
	if (*ifindex == -ENODEV) {
		nl_fail(why, NL_REFUSED, "no such interface: %s", k->interface);
		return NL_KNOB_GONE;
	}
	if (*ifindex < 0)
		return nl_knob_fail_errno(why, k->interface, -*ifindex);
	wanted.ifindex = *ifindex;
	fill(&request, RTM_GETQDISC, NLM_F_DUMP, *ifindex, NULL);
	err = nl_rtnl_dump(&request, request.head.nlmsg_len, take_root, &wanted);
	if (err)
		return nl_knob_fail_errno(why, "RTM_GETQDISC", err);
	if (wanted.there && strcmp(found->kind, "noop") != 0)
		return NL_KNOB_OK;
	nl_fail(why, NL_REFUSED, "the interface has no queueing discipline while it is down");
	return NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_code qdisc_read(const struct nl_knob *k, struct nl_value *out,
				    enum nl_knob_access *access, struct nl_err *why)
{
	struct qdisc found = {0};
	int ifindex;
	enum nl_knob_code code = look(k, &ifindex, &found, why);

	*access = NL_KNOB_READ_ONLY;
	if (code != NL_KNOB_OK)
		return code;
	snprintf(out->text, sizeof(out->text), "%s", found.kind);
	snprintf(out->exact, sizeof(out->exact), "%s %" PRIx32, found.kind, found.handle);
	if (found.handle != 0 && found.handle != OUR_HANDLE)
		nl_fail(why, NL_REFUSED, "another program has set %s; a revert could not restore its "
				   "parameters", found.kind);
	else
		*access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

/* Delete the root; the kernel then takes its own choice. */
static enum nl_knob_code to_default(const struct nl_knob *k, const char *kind, struct nl_err *why)
{
	struct request request;
	struct qdisc found = {0};
	int ifindex, err;
	enum nl_knob_code code = look(k, &ifindex, &found, why);

	if (code == NL_KNOB_OK && found.handle != 0) {
		fill(&request, RTM_DELQDISC, NLM_F_ACK, ifindex, NULL);
		err = change(&request);
		if (err)
			return nl_knob_fail_errno(why, "RTM_DELQDISC", err);
		code = look(k, &ifindex, &found, why);
	}
	if (code != NL_KNOB_OK || strcmp(found.kind, kind) == 0)
		return code;
	nl_fail(why, NL_REFUSED, "the kernel's own choice was %s, and is %s now", kind, found.kind);
	return NL_KNOB_REFUSED;
}

static enum nl_knob_code qdisc_write(const struct nl_knob *k, const char *text,
				     struct nl_err *why)
{
	struct request request;
	struct qdisc found = {0};
	int ifindex, err = 0;
	enum nl_knob_code code = look(k, &ifindex, &found, why);

	if (code != NL_KNOB_OK)
		return code;
	/* One with our handle is deleted first: a kind is not changed in place. */
	if (found.handle == OUR_HANDLE) {
		fill(&request, RTM_DELQDISC, NLM_F_ACK, ifindex, NULL);
		err = change(&request);
	}
	if (err == 0) {
		fill(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, ifindex, text);
		err = change(&request);
	}
	if (err == 0)
		return NL_KNOB_OK;
	if (err != ENOENT)
		return nl_knob_fail_errno(why, "RTM_NEWQDISC", err);
	nl_fail(why, NL_REFUSED, "this kernel has no queueing discipline %s", text);
	return NL_KNOB_UNSUPPORTED;
}

/* exact: the kind and the handle, in hexadecimal digits. */
static enum nl_knob_code qdisc_restore(const struct nl_knob *k, const char *exact,
				       struct nl_err *why)
{
	char kind[KIND_MAX] = "";
	size_t len = strcspn(exact, " ");

	if (len >= sizeof(kind) || !exact[len]) {
		nl_fail(why, NL_REFUSED, "not a queueing discipline with its handle: %.40s", exact);
		return NL_KNOB_REFUSED;
	}
	memcpy(kind, exact, len);
	if (strtoul(exact + len, NULL, 16) == 0)
		return to_default(k, kind, why);
	return qdisc_write(k, kind, why);
}

static int is_kind(const char *text)
{
	for (const char *const *kind = kinds; *kind; kind++)
		if (strcmp(*kind, text) == 0)
			return 1;
	return 0;
}

const struct nl_knob_ops nl_knob_ops_qdisc = {
	.kind = "qdisc",
	.has_interface = 1,
	.read = qdisc_read,
	.write = qdisc_write,
	.restore = qdisc_restore,
	.value_ok = is_kind,
	.value_form = "a queueing discipline is noqueue, pfifo_fast, pfifo, bfifo, mq, fq, fq_codel, "
		      "codel, sfq or cake",
};
