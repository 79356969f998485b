/* interface: names, indexes and SIOCETHTOOL of the interfaces of this network namespace. */
#pragma once

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

/* Properties of the egress interface that determine batch sizes. */
enum { NL_EGRESS_LARGE_B = 64 << 10 };

struct nl_egress {
	uint64_t packet_B; /* as TCP passes them down; NL_EGRESS_LARGE_B: segmented later */
	uint64_t queues;   /* transmit queues: as many CPUs can send without contention */
};

/* Copy the name of the interface that has the local address of a connection to that address, bound
 * to from unless it is empty; an empty name if there is none. */
void nl_egress_name(const char *to, const char *from, char name[IFNAMSIZ]);

/* Unknown properties default to segmentation offload and one queue, as on most devices. */
struct nl_egress nl_egress_of(const char *interface);
