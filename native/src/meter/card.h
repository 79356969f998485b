/* card: a driver's own counters of lost, faulty and paused packets (as of ethtool -S) between two
 * scans. They say where a card dropped what the kernel never saw. */
#pragma once

#include "netlab.h"

enum { NL_CARD_SCAN_MAX = 16384 }; /* counters; a driver with more is not scanned */

struct nl_card_value {
	char name[NL_CARD_NAME]; /* terminated; without leading spaces */
	uint64_t value;
};

struct nl_card_scan {
	size_t count; /* 0: the driver has no such counters */
	struct nl_card_value *value; /* owned, see nl_card_scan_free */
};

/* True for the name of a counter of drops, errors or pause frames. Pure. */
int nl_card_counts_loss(const char *name);

/* Read those counters of an interface. 0, or -errno: -EOPNOTSUPP without any. Some drivers ask
 * their card, which takes milliseconds. */
int nl_card_scan(const char *interface, struct nl_card_scan *out);
void nl_card_scan_free(struct nl_card_scan *scan);

/* The counters that grew, the largest growth first, at most NL_CARD_COUNTERS. A counter that one
 * scan lacks is left out, and so is one that went back. Counters of one name, as vmxnet3 has for
 * its queues, are added up. Pure. */
void nl_card_diff(const struct nl_card_scan *before, const struct nl_card_scan *after,
		  struct nl_card *out);
