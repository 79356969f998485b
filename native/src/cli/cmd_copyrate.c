/* gensink copyrate: the copy rate of one thread on this machine, as a line of JSON. */
#include "base/error.h"
#include "base/json.h"
#include "base/request.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

enum { DEFAULT_MS = 200, MAX_MS = 60000 };

static void print_help(void)
{
	printf("Usage: gensink copyrate [--budget-ms %d]\n\n"
	       "Copies memory in one thread: 64 KiB in cache, then 64 MiB.\n",
	       DEFAULT_MS);
}

static int measure(uint64_t budget_ms, struct nl_err *err)
{
	struct nl_copy_report report;
	struct nl_json json;
	int code = nl_copy_rate(budget_ms, &report, err);

	if (code)
		return code;
	nl_json_init(&json);
	nl_json_open(&json, NULL);
	nl_json_text(&json, "event", "copyrate");
	nl_json_u64(&json, "hot_Bps", report.hot_Bps);
	nl_json_u64(&json, "cold_Bps", report.cold_Bps);
	nl_json_close(&json);
	if (nl_json_line(&json, STDOUT_FILENO))
		code = nl_fail_errno(err, errno, "write");
	nl_json_free(&json);
	return code;
}

int nl_copyrate_main(int argc, char **argv)
{
	enum { BUDGET = 256, HELP };
	static const struct option option[] = {
		{"budget-ms", required_argument, NULL, BUDGET},
		{"help", no_argument, NULL, HELP},
		{NULL, 0, NULL, 0},
	};
	uint64_t budget_ms = DEFAULT_MS;
	struct nl_err err = {0};
	int found;

	optind = 0; /* scan from the start, whoever scanned before */
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", option, NULL)) != -1) {
		if (found == HELP) {
			print_help();
			return 0;
		}
		if (found != BUDGET)
			nl_arguments_fail(found, argv, &err);
		else if (nl_decimal_parse(optarg, 1, MAX_MS, &budget_ms))
			nl_fail_key(&err, "budget_ms", "--budget-ms: expected an integer from 1 to %d", MAX_MS);
		if (err.code)
			return nl_cli_fail(argv[0], &err);
	}
	if (optind < argc)
		nl_fail_key(&err, argv[optind], "unexpected argument %s", argv[optind]);
	else
		measure(budget_ms, &err);
	return err.code ? nl_cli_fail(argv[0], &err) : 0;
}
