/* rtnl: the 64-bit counters of one interface, from rtnetlink. */
#ifndef NL_RTNL_H
#define NL_RTNL_H

#include "netlab.h"

/* Find the counters in one rtnetlink answer. Pure. 0; a positive errno that the kernel
 * answered; -1 when it is not an answer with counters. */
int nl_rtnl_parse(const void *answer, size_t len, int32_t *ifindex, struct nl_interface *out);

/* Ask the kernel. 0, or a positive errno (ENODEV: no such interface). */
int nl_rtnl_interface(const char *name, int32_t *ifindex, struct nl_interface *out);

#endif
