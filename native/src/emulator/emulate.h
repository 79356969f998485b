/* emulate: the subcommand that is the path between two hosts; see PROTOCOL.md.
 *
 * One thread moves the packets; it sleeps until one arrives or is due. */
#ifndef NL_EMULATE_H
#define NL_EMULATE_H

#include <stdint.h>

/* Serve requests from in_fd, answer on out_fd until the input ends, however long it is silent. The exit
 * code. */
int nl_emulate_serve(int in_fd, int out_fd, uint64_t silence_ns);

#endif
