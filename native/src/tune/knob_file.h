/* knob_file: values in small files under /proc and /sys, and the directories of sysfs that belong to an
 * interface of this network namespace. */
#ifndef NL_KNOB_FILE_H
#define NL_KNOB_FILE_H

#include "tune/knob.h"

/* Read path, relative to dir, into out->text and out->exact, folded. 0, or errno (EMSGSIZE: longer
 * than NL_KNOB_VALUE_MAX; EILSEQ: not printable). */
int nl_knob_file_read(int dir, const char *path, struct nl_value *out);

/* WRITABLE, or why not; `mount` names the filesystem for the message. */
enum nl_knob_access nl_knob_file_access(int dir, const char *path, const char *mount, struct nl_err *why);

/* Write text and a newline in one write(2). 0, or errno. */
int nl_knob_file_write(int dir, const char *path, const char *text);

/* Open the directory of the interfaces (class/net) that has the knob's. NL_KNOB_OK and an fd in *dir,
 * which the caller closes; or the code of a failure and its reason. */
enum nl_knob_code nl_knob_sysfs_interfaces(const struct nl_knob *k, int *dir, struct nl_err *why);

/* Open the directory of the PCI device behind the knob's interface; as above. */
enum nl_knob_code nl_knob_sysfs_pci(const struct nl_knob *k, int *device, struct nl_err *why);

#endif
