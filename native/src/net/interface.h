/* interface: names, indexes and SIOCETHTOOL of the interfaces of this network namespace. */
#ifndef NL_INTERFACE_H
#define NL_INTERFACE_H

#include <net/if.h>
#include <stdint.h>

/* Execute an interface request; name: of the interface, or NULL. Its result, 0 or more, or -errno. */
int nl_interface_ioctl(unsigned long call, const char *name, struct ifreq *ifr);

/* The index of an interface, or -errno (-ENODEV: no such interface). */
int nl_ifindex_of(const char *name);

/* The name of an interface. 0, or -errno (-ENODEV: no such index). */
int nl_ifindex_name(int index, char name[IFNAMSIZ]);

/* Execute the command at the start of data. The call's result, 0 or more, or -errno. */
int nl_ethtool(const char *interface, void *data);

struct ethtool_gstrings;

/* The strings of a set (ETH_SS_...), at least 1, which the caller frees. 0 or -errno: -EOPNOTSUPP without
 * any, or with more than `most`; -EAGAIN if their number changed meanwhile. */
int nl_ethtool_strings(const char *interface, uint32_t set, uint32_t most, struct ethtool_gstrings **out);

/* True if TCP passes down multi-segment packets (TSO or GSO), or if unknown, as on almost every
 * device. */
int nl_ethtool_segments(const char *interface);

#endif
