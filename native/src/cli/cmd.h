/* cmd: subcommands of gensink. Each returns the exit code: 0, 1: a run failed, 2: bad input;
 * argv[0] is the name of the subcommand. */
#ifndef NL_CMD_H
#define NL_CMD_H

int nl_gen_main(int argc, char **argv);
int nl_sink_main(int argc, char **argv);
int nl_meter_main(int argc, char **argv);
int nl_copyrate_main(int argc, char **argv);

/* GenSink of 2003: name is gen4 or sink4. */
int nl_classic_main(const char *name, int argc, char **argv);

#endif
