#include "base/error_json.h"

#include "base/request.h"

void nl_json_error(struct nl_json *j, const char *run, const struct nl_err *err)
{
	uint64_t number;

	nl_json_open(j, NULL);
	nl_json_text(j, "event", "error");
	if (run && nl_decimal_parse(run, 0, UINT64_MAX, &number) == 0)
		nl_json_u64(j, "run", number);
	else
		nl_json_null(j, "run");
	nl_json_text(j, "code", nl_code_name(err->code));
	nl_json_text(j, "key", err->key[0] ? err->key : NULL);
	nl_json_text(j, "message", err->message);
	nl_json_close(j);
}
