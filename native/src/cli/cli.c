#include "cli/cli.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int nl_cli_fail(const char *cmd, const struct nl_err *err)
{
	fprintf(stderr, "%s: %s\n", cmd, err->message);
	return err->code == NL_BAD_REQUEST ? 2 : 1;
}

int nl_cli_print(struct nl_json *j, struct nl_err *err)
{
	int code = nl_json_line(j, STDOUT_FILENO) ? nl_fail_errno(err, errno, "write") : NL_OK;

	nl_json_free(j);
	return code;
}

int nl_cli_arguments(const struct nl_command_line *line, int argc, char **argv,
		     const char **operand)
{
	struct nl_err err;
	int code = nl_arguments_parse(line, argc, argv, operand, &err);

	if (code == NL_ARGUMENTS_HELP) {
		nl_arguments_help(line, stdout);
		return 0;
	}
	return code ? nl_cli_fail(line->cmd, &err) : NL_CLI_GO_ON;
}
