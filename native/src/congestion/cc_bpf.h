/* cc_bpf: give a window cc to the kernel as a congestion control, for as long as one holds it.
 *
 * One thread. The registration belongs to a link that is open in this process alone, so that it
 * ends with the process however that ends; connections that still use it keep it alive until
 * they are gone, under no name. A build without libbpf answers NL_REFUSED with "unsupported:". */
#ifndef NL_CC_BPF_H
#define NL_CC_BPF_H

#include "congestion/cc_params.h"
#include "netlab.h"

enum { NL_CC_NAME_MAX = 15 };

struct nl_cc_loaded; /* a cc the kernel has taken */

/* Whether this build and this kernel can; if not, why. */
int nl_cc_supported(char why[NL_MESSAGE_MAX]);

/* sha256 of a cc's object code, hex; static storage. NULL in a build without. */
const char *nl_cc_sha256(int cc);

/* Register the cc (an index into nl_cc_table) under a name of its own, nl_LAW_xx with xx two
 * characters that no other has taken. NULL and *err when the kernel says no. */
struct nl_cc_loaded *nl_cc_load(int cc, const struct nl_cc_params *params, struct nl_err *err);

/* The name that TCP_CONGESTION takes. */
const char *nl_cc_name(const struct nl_cc_loaded *loaded);

/* Take it from the kernel and free it; the name is gone from the list when this returns. */
void nl_cc_unload(struct nl_cc_loaded *loaded);

#endif
