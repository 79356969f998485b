/* agent: the subcommand of gensink for a controller; see PROTOCOL.md. */
#ifndef NL_AGENT_H
#define NL_AGENT_H

#include <stdint.h>

/* Serve requests from in_fd, answer on out_fd until the input ends, or until there was none for
 * silence_ns (0: no limit). The exit code. */
int nl_agent_serve(int in_fd, int out_fd, uint64_t silence_ns);

#endif
