/* cc_bpf: register a BPF congestion control with the kernel, for the lifetime of this process.
 *
 * One thread. The registration belongs to a BPF link that only this process has open, so it ends
 * with the process in any case. Connections that use it keep the program alive until they close,
 * but its name is gone. A build without libbpf returns NL_REFUSED with "unsupported:". */
#pragma once

#include "congestion/cc_params.h"
#include "netlab.h"

enum { NL_CC_NAME_MAX = 15 };

struct nl_cc_loaded; /* a registered congestion control */

/* True if this build and this kernel support it; otherwise why has the reason. */
int nl_cc_supported(char why[NL_MESSAGE_MAX]);

/* sha256 of the object code, hex; static storage. NULL in a build without BPF. */
const char *nl_cc_sha256(int cc);

/* Register a congestion control (an index into nl_cc_table) under a new name, nl_CC_xx with xx two
 * unused characters. NULL and *err if the kernel refuses it. */
struct nl_cc_loaded *nl_cc_load(int cc, const struct nl_cc_params *params, struct nl_err *err);

/* The name that TCP_CONGESTION takes. */
const char *nl_cc_name(const struct nl_cc_loaded *loaded);

/* Unregister and free it; the name is gone from the list on return. */
void nl_cc_unload(struct nl_cc_loaded *loaded);
