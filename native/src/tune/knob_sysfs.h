/* knob_sysfs: directories of sysfs that belong to an interface of this network namespace. */
#ifndef NL_KNOB_SYSFS_H
#define NL_KNOB_SYSFS_H

#include "tune/knob.h"

/* Open the directory of the interfaces (class/net) that has the knob's. NL_KNOB_OK and an fd in *dir,
 * which the caller closes; or the code of a failure and its reason. */
enum nl_knob_code nl_knob_sysfs_interfaces(const struct nl_knob *k, int *dir, struct nl_err *why);

/* Open the directory of the PCI device behind the knob's interface; as above. */
enum nl_knob_code nl_knob_sysfs_pci(const struct nl_knob *k, int *device, struct nl_err *why);

#endif
