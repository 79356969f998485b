/* gensink: one binary, a table of subcommands. */
#include "commands.h"
#include "base/clock.h"
#include "base/serve.h"
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Subcommands that answer requests. */
static const struct {
	const char *name, *about;
	int (*serve)(int in_fd, int out_fd, uint64_t silence_ns);
	int ends_after_silence; /* has the option --silence-s */
} server[] = {
	{"agent", "Serves a controller; requests come from standard input.\n", nl_agent_serve, 1},
	{"emulate", "Emulates the path between two hosts; requests come from standard input.\n",
	 nl_emulate_serve, 0},
	{"cc", "Registers BPF congestion controls until it ends; requests come from standard input.\n",
	 nl_cc_session_serve, 1},
};

static int serve_main(int argc, char **argv)
{
	uint64_t silence_s = 0;
	const struct nl_argument silence = nl_serve_silence_argument(&silence_s);
	struct nl_command_line line = {.cmd = argv[0], .row = &silence};
	int which = 0, code;

	while (strcmp(server[which].name, argv[0]) != 0)
		which++;
	line.about = server[which].about;
	line.rows = server[which].ends_after_silence ? 1 : 0;
	code = nl_cli_arguments(&line, argc, argv, NULL);
	if (code != NL_CLI_GO_ON)
		return code;
	return server[which].serve(STDIN_FILENO, STDOUT_FILENO, silence_s * NL_NS_PER_S);
}

static int version_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("gensink %s %s\n", nl_version(), nl_source_digest());
	return 0;
}

static int help_main(int argc, char **argv);

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *help;
} command[] = {
	{"gen", nl_run_main, "send over parallel TCP streams to a sink"},
	{"sink", nl_run_main, "receive from a gen and measure"},
	{"meter", nl_meter_main, "measure the throughput of an interface from its counters"},
	{"copyrate", nl_copyrate_main, "measure how fast one thread copies memory"},
	{"agent", serve_main, "serve a controller over standard input and output"},
	{"emulate", serve_main, "emulate the path between two hosts: rate, delay, queue, loss"},
	{"cc", serve_main, "register BPF congestion controls, driven over standard input"},
	{"tune", nl_tune_main, "read, apply and revert knobs, driven over standard input"},
	{"version", version_main, "print version and source digest"},
	{"help", help_main, "print this help, or the options of a subcommand"},
	{"--help", help_main, NULL},
	{"-h", help_main, NULL},
	{"--version", version_main, NULL},
};

enum { COMMANDS = sizeof(command) / sizeof(command[0]) };

static void print_commands(FILE *to)
{
	fprintf(to, "Usage: gensink COMMAND [--option value ...]\n\n");
	for (int i = 0; i < COMMANDS && command[i].help; i++)
		fprintf(to, "  %-8s %s\n", command[i].name, command[i].help);
	fprintf(to, "\nCalled as gen4 or sink4: hostname server_port record_length setsockopt\n");
}

static int help_main(int argc, char **argv)
{
	char word[] = "--help", *rest[] = {argv[argc > 1], word, NULL};

	if (argc < 2) {
		print_commands(stdout);
		return 0;
	}
	for (int i = 0; i < COMMANDS; i++)
		if (strcmp(command[i].name, argv[1]) == 0 && command[i].main != version_main &&
		    command[i].main != help_main)
			return command[i].main(2, rest);
	print_commands(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;

	name = name ? name + 1 : argc > 0 ? argv[0] : "gensink";
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(name, "gen4") == 0 || strcmp(name, "sink4") == 0)
		return nl_classic_main(name, argc, argv);
	for (int i = 0; argc > 1 && i < COMMANDS; i++)
		if (strcmp(command[i].name, argv[1]) == 0)
			return command[i].main(argc - 1, argv + 1);
	print_commands(stderr);
	return 2;
}
