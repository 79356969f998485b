/* ifindex: names and indexes of the interfaces of this network namespace. */
#ifndef NL_IFINDEX_H
#define NL_IFINDEX_H

#include <net/if.h>

/* Execute an interface request. Its result, 0 or more, or -errno. */
int nl_interface_ioctl(unsigned long call, struct ifreq *ifr);

/* The index of an interface, or -errno (-ENODEV: no such interface). */
int nl_ifindex_of(const char *name);

/* The name of an interface. 0, or -errno (-ENODEV: no such index). */
int nl_ifindex_name(int index, char name[IFNAMSIZ]);

#endif
