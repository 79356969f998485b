/* tune: the subcommand of gensink that reads, applies and reverts knobs of this host. */
#ifndef NL_TUNE_H
#define NL_TUNE_H

/* `gensink tune ...`; argv[0] is "tune". Returns the exit code. */
int nl_tune_main(int argc, char **argv);

#endif
