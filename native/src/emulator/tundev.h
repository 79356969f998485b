/* tundev: a TUN device in a network namespace, with virtio headers and segmentation offload. It
 * exists until its descriptor is closed. */
#ifndef NL_TUNDEV_H
#define NL_TUNDEV_H

#include "netlab.h"

/* Create the device in the namespace behind a path (/run/netns/NAME, /proc/PID/ns/net) and open it,
 * non-blocking. The calling thread returns to its own namespace. NL_OK and *fd, which the caller
 * closes; or a code. */
int nl_tundev_open(const char *namespace, const char *device, int *fd, struct nl_err *err);

#endif
