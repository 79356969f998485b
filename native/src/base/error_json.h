/* error_json: a struct nl_err as an `error` event of PROTOCOL.md. */
#ifndef NL_ERROR_JSON_H
#define NL_ERROR_JSON_H

#include "base/json.h"
#include "netlab.h"

/* Write an error event; run is text or NULL. */
void nl_json_error(struct nl_json *j, const char *run, const struct nl_err *err);

#endif
