/* host_state: the network configuration of this namespace, as items that are compared and restored.
 *
 * An item has a key and a value of text, by which it is compared and reported, and what restores it: the
 * message of rtnetlink without what only the kernel counts, or the text of a file. Left out, since they
 * change by themselves or follow from other items: counters, files that nobody can write
 * (nf_conntrack_count), what a program that captures toggles (promiscuous mode), neighbours and routes that
 * were learned, temporary addresses of IPv6, the local table, handles of queueing disciplines,
 * tcp_allowed_congestion_control (by modules, of the whole machine), and the key of TCP fast open, a secret. */
#pragma once

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are restored: each may change the ones after it. */
enum nl_state_kind {
	NL_STATE_LINK,
	NL_STATE_FEATURE, /* every offload of an interface, whatever a knob switched */
	NL_STATE_ADDRESS,
	NL_STATE_SYSCTL,
	NL_STATE_QUEUE, /* rps_cpus, xps_cpus and the like of a queue */
	NL_STATE_NEIGHBOUR,
	NL_STATE_ROUTE,
	NL_STATE_RULE,
	NL_STATE_QDISC,
	NL_STATE_KINDS,
};

/* At most of a kind: a host with more is not compared in that kind, so that no session takes seconds. */
enum { NL_STATE_ITEMS_MAX = 50000 };

struct nl_state_item {
	enum nl_state_kind kind;
	char interface[IFNAMSIZ]; /* of which it is a part; "": none */
	char *key, *value;        /* one allocation, with raw behind them */
	uint8_t *raw;
	size_t raw_len;
};

struct nl_state {
	struct nl_state_item *item; /* by key */
	size_t count, cap;
	unsigned missing; /* bits of the kinds that could not be read, or are too many */
	uint64_t t_ns;
};

/* Read the state. What cannot be read is `missing`. Free with nl_state_free, which also resets. */
void nl_state_capture(struct nl_state *out);
void nl_state_free(struct nl_state *s);

/* Append an item with copies. 0, or -1 without memory. nl_state_sort() before a search. */
int nl_state_add(struct nl_state *s, const struct nl_state_item *item);
void nl_state_sort(struct nl_state *s);

/* The item with a key, or NULL. */
const struct nl_state_item *nl_state_find(const struct nl_state *s, const char *key);

/* True if both states have that interface, with the same index. */
int nl_state_has_interface(const struct nl_state *a, const struct nl_state *b, const char *interface);

/* Make the host have the item; `now`: the one with its key at present, or NULL. 0, or a positive errno:
 * EOPNOTSUPP if netlab does not restore such a one. */
int nl_state_restore(const struct nl_state_item *item, const struct nl_state_item *now, uint64_t captured_ns);

/* Add the items of one message of a dump; of one file, path below /proc/sys, text folded. For a kind that is a dump. 0
 * or a positive errno. Pure but for the names of interfaces. */
int nl_state_parse(struct nl_state *out, enum nl_state_kind kind, const uint8_t *message, size_t len);
int nl_state_parse_sysctl(struct nl_state *out, const char *path, const char *text);

/* Write the message of rtnetlink that restores an address, neighbour or route. Its length, or 0 if there is none: an
 * address whose lifetime is over. message has room for NL_STATE_MESSAGE_MAX, aligned for a header. */
enum { NL_STATE_MESSAGE_MAX = 8208 };
size_t nl_state_compose(const struct nl_state_item *item, uint16_t type, uint16_t flags, uint64_t captured_ns,
			uint8_t *message);

/* The word of a kind in messages, in the plural. */
const char *nl_state_word(enum nl_state_kind kind);
