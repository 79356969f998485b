/* qdisc: a queueing discipline as text and as an option of a netlink message. Pure.
 *
 *     KIND | fq PARAMETERS | mq fq PARAMETERS | mq KIND
 *
 * `mq KIND` is an mq whose every queue has that discipline. PARAMETERS, in this order, those with the
 * kernel's default left out: limit PACKETS, flow_limit PACKETS, buckets N, maxrate BITS_PER_SECOND,
 * nopacing. They are those of tc. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NL_QDISC_KIND_MAX = 15 }; /* IFNAMSIZ of the kernel's Qdisc_ops, without its NUL */

enum { NL_FQ_LIMIT, NL_FQ_FLOW_LIMIT, NL_FQ_BUCKETS, NL_FQ_MAXRATE, NL_FQ_PACING, NL_FQ_COUNT };

struct nl_qdisc {
	char kind[NL_QDISC_KIND_MAX + 1];
	/* of fq, as the kernel has them: log2 of the buckets, bytes per second (UINT32_MAX: no limit) */
	uint32_t fq[NL_FQ_COUNT];
};

struct nl_qdisc_tree {
	struct nl_qdisc root, leaf; /* leaf.kind is "" without one */
};

/* A discipline with the kernel's defaults. */
void nl_qdisc_init(struct nl_qdisc *out, const char *kind, size_t len);

/* Parse text. 0, or -1. The kernel decides whether there is such a kind. */
int nl_qdisc_parse(const char *text, struct nl_qdisc_tree *out);

/* Write it, parameters in order. 0, or -1 if it needs more than `size` bytes. */
int nl_qdisc_render(const struct nl_qdisc_tree *tree, char *out, size_t size);

/* Set the parameters from the content of TCA_OPTIONS. */
void nl_qdisc_take_options(struct nl_qdisc *q, const uint8_t *options, size_t len);

/* Write the content of TCA_OPTIONS: the parameters that differ from the defaults. Its length, 0 for
 * none; out has room for 64 bytes. */
size_t nl_qdisc_put_options(const struct nl_qdisc *q, uint8_t out[64]);
