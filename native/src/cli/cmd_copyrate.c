/* gensink copyrate: the copy rate of one thread on this machine, as a line of JSON. */
#include "cli/cli.h"
#include "commands.h"

int nl_copyrate_main(int argc, char **argv)
{
	enum { MAX_MS = 60000 };
	uint64_t budget_ms;
	const struct nl_argument row[] = {
		{.name = "budget-ms", .value = "N", .initial = "200", .help = "approximate CPU time in ms",
		 .min = 1, .max = MAX_MS, .count = &budget_ms},
	};
	const struct nl_command_line line = {
		.cmd = argv[0],
		.about = "Copies memory in one thread: 64 KiB in cache, then 64 MiB.\n",
		.row = row,
		.rows = sizeof(row) / sizeof(row[0])};
	struct nl_copy_report report;
	struct nl_json json = {0};
	struct nl_err err;
	int code = nl_cli_arguments(&line, argc, argv, NULL);

	if (code != NL_CLI_GO_ON)
		return code;
	if (nl_copy_rate(budget_ms, &report, &err))
		return nl_cli_fail(argv[0], &err);
	nl_json_event(&json, "copyrate");
	PUT_MEMBERS(&json, OF(&report, hot_Bps), OF(&report, cold_Bps));
	nl_json_close(&json);
	return nl_cli_print(&json, &err) ? nl_cli_fail(argv[0], &err) : 0;
}
