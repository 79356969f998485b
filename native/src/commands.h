/* commands: the subcommands of gensink, for main.c. Each returns the exit code; argv[0] is its name. */
#pragma once

#include <stdint.h>

/* 0, 1: a run failed, 2: bad input. */
int nl_run_main(int argc, char **argv); /* gen or sink */
int nl_meter_main(int argc, char **argv);
int nl_copyrate_main(int argc, char **argv);

/* GenSink of 2003: name is gen4 or sink4. */
int nl_classic_main(const char *name, int argc, char **argv);

/* `gensink tune ...`: read, apply and revert knobs of this host. */
int nl_tune_main(int argc, char **argv);

/* Serve requests from in_fd, answer on out_fd until the input ends, or until there was none for silence_ns
 * (0: no limit); see PROTOCOL.md. */
int nl_agent_serve(int in_fd, int out_fd, uint64_t silence_ns);

/* The path between two hosts, however long the input is silent. One thread moves the packets; it sleeps
 * until one arrives or is due. */
int nl_emulate_serve(int in_fd, int out_fd, uint64_t silence_ns);

/* Register BPF congestion controls; unregister everything at the end. */
int nl_cc_session_serve(int in_fd, int out_fd, uint64_t silence_ns);
