/* ethtool: queries through SIOCETHTOOL. */
#ifndef NL_ETHTOOL_H
#define NL_ETHTOOL_H

#include <stdint.h>

/* Execute the command at the start of data. The call's result, 0 or more, or -errno. */
int nl_ethtool(const char *interface, void *data);

/* Number of strings in a set (ETH_SS_...), at least 1. -errno: -EOPNOTSUPP without any, or with more
 * than `most`. */
int nl_ethtool_strings(const char *interface, uint32_t set, uint32_t most);

/* True if TCP passes down multi-segment packets (TSO or GSO), or if unknown, as on almost every
 * device. */
int nl_ethtool_segments(const char *interface);

#endif
