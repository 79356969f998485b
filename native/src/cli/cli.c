#include "cli/cli.h"

#include <stdio.h>

int nl_cli_fail(const char *cmd, const struct nl_err *err)
{
	fprintf(stderr, "%s: %s\n", cmd, err->message);
	return err->code == NL_BAD_REQUEST ? 2 : 1;
}
