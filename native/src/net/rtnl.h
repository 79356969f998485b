/* rtnl: the 64-bit counters of one interface, over rtnetlink. */
#ifndef NL_RTNL_H
#define NL_RTNL_H

#include "netlab.h"

/* Parse the counters from one rtnetlink answer. Pure. 0; a positive errno sent by the kernel; -1 if
 * the answer has no counters. */
int nl_rtnl_parse(const void *answer, size_t len, int32_t *ifindex, struct nl_interface *out);

/* Query the kernel. 0, or a positive errno (ENODEV: no such interface). */
int nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out);

#endif
