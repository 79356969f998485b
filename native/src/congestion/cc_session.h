/* cc_session: `gensink cc`: register BPF congestion controls for as long as it runs. */
#ifndef NL_CC_SESSION_H
#define NL_CC_SESSION_H

#include <stdint.h>

/* Serve requests from in_fd, answer on out_fd; at the end unregister everything. Exit code: 0 after
 * the end of input or `quit`, otherwise 1. */
int nl_cc_session_serve(int in_fd, int out_fd, uint64_t silence_ns);

#endif
