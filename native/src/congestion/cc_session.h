/* stacks: `gensink stacks`, which holds congestion controls for as long as a study needs them. */
#ifndef NL_CC_SESSION_H
#define NL_CC_SESSION_H

/* Answer requests from in_fd on out_fd until the input ends, nobody reads, or a signal; all that
 * was loaded is then taken back. Exit code: 0, or 1 when it was not by the end of input or quit. */
int nl_cc_session_serve(int in_fd, int out_fd);

#endif
