/* knob_file: knobs that are small files under /proc and /sys, and the directories of sysfs that belong to
 * an interface of this network namespace. */
#pragma once

#include "tune/knob.h"

/* The file of a knob. */
struct nl_knob_place {
	int dir;    /* path is relative to it */
	int device; /* directory of the interface's PCI device; -1: not needed */
	int absent; /* the knob's device has no such file */
	char path[NL_KNOB_NAME_MAX + NL_KNOB_INTERFACE_MAX + 2];
};

/* The `detail` of a kind whose knobs are files. */
struct nl_knob_file {
	/* Open the directories and name the file. NL_KNOB_OK, or the code of a failure with nothing open. */
	enum nl_knob_code (*enter)(const struct nl_knob *k, struct nl_knob_place *p, struct nl_err *why);
	enum nl_knob_access (*access)(const struct nl_knob *k, const struct nl_knob_place *p,
				      struct nl_err *why);
	enum nl_knob_code missing; /* the code without such a file */
	const char *lacks;         /* and its reason, which ends with the member's number */
	/* The reason that text cannot be written, before a write (errnum 0) and after a failed one;
	 * NL_KNOB_OK: none that is known. May be NULL. */
	enum nl_knob_code (*refusal)(const struct nl_knob *k, const struct nl_knob_place *p,
				     const char *text, int errnum, struct nl_err *why);
};

/* The operations of such a kind. */
enum nl_knob_code nl_knob_file_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why);
enum nl_knob_code nl_knob_file_write(const struct nl_knob *k, const char *text, struct nl_err *why);

/* Open the file's directories, and close them. */
enum nl_knob_code nl_knob_file_enter(const struct nl_knob *k, struct nl_knob_place *p, struct nl_err *why);
void nl_knob_file_leave(struct nl_knob_place *p);

/* WRITABLE, or why not; `mount` names the filesystem for the message. */
enum nl_knob_access nl_knob_file_access(const struct nl_knob_place *p, const char *mount,
					struct nl_err *why);

/* Read path, relative to dir, into out->text and out->exact, folded. 0, or errno (EMSGSIZE: longer
 * than NL_KNOB_VALUE_MAX; EILSEQ: not printable). */
int nl_knob_text_read(int dir, const char *path, struct nl_value *out);

/* Open the directory of the PCI device behind the knob's interface. NL_KNOB_OK and an fd in *device, which
 * the caller closes; or the code of a failure and its reason. */
enum nl_knob_code nl_knob_sysfs_pci(const struct nl_knob *k, int *device, struct nl_err *why);

/* Open the directory of the interfaces (class/net) that has the knob's; as above. */
enum nl_knob_code nl_knob_sysfs_interfaces(const struct nl_knob *k, int *dir, struct nl_err *why);

/* -- kinds of which a host has many, each a file with a number: the governor of a CPU, and the CPUs of an
 * interrupt of an interface's PCI device -- */

enum { NL_MEMBERS_MAX = 1024, NL_HANDLER_MAX = 63 };

struct nl_members {
	size_t count;
	struct nl_member {
		unsigned number;
		char handler[NL_HANDLER_MAX + 1]; /* the driver's name of an interrupt; "" for a CPU */
	} of[NL_MEMBERS_MAX]; /* ascending */
	char online[NL_KNOB_VALUE_MAX + 1]; /* CPUs, in the kernel's notation */
	char near[NL_KNOB_VALUE_MAX + 1];   /* those of the interface's NUMA node; "" if unknown */
};

/* The members of a kind; the name of *k is not read. NL_KNOB_OK with at least one, or why not. */
enum nl_knob_code nl_knob_members(const struct nl_knob *k, struct nl_members *out, struct nl_err *why);
