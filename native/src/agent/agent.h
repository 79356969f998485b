/* agent: the subcommand of gensink for a controller; see PROTOCOL.md. */
#ifndef NL_AGENT_H
#define NL_AGENT_H

/* Serve requests from in_fd, answer on out_fd until the input ends. The exit code. */
int nl_agent_serve(int in_fd, int out_fd);

#endif
