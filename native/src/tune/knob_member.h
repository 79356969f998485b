/* knob_member: kinds of knobs of which a host has many, each a file with a number: the frequency
 * governor of a CPU, and the CPUs that serve an interrupt of an interface's PCI device. */
#ifndef NL_KNOB_MEMBER_H
#define NL_KNOB_MEMBER_H

#include "tune/knob.h"

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

#endif
