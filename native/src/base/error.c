#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *nl_code_name(int code)
{
	static const char *const name[] = {"ok",   "bad_request", "in_use", "refused",
					   "peer", "timeout",     "limit",  "internal"};

	if (code < 0 || code > NL_INTERNAL)
		return "internal";
	return name[code];
}

static int code_of(int errnum)
{
	switch (errnum) {
	case EADDRINUSE:
		return NL_IN_USE;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
	case EAGAIN:
		return NL_LIMIT;
	case ECONNRESET:
	case EPIPE:
	case EPROTO:
		return NL_PEER;
	case ETIMEDOUT:
		return NL_TIMEOUT;
	default:
		return NL_REFUSED;
	}
}

/* GNU's strerror_r returns the text, which may be static; that of POSIX, and musl, fills the buffer. */
#define TEXT_OF(errnum, buffer)                                                                    \
	_Generic(strerror_r(errnum, buffer, sizeof(buffer)),                                       \
		char *: strerror_r(errnum, buffer, sizeof(buffer)),                                \
		int: (strerror_r(errnum, buffer, sizeof(buffer)), buffer))

int nl_fail_with(struct nl_err *err, int code, const char *key, int errnum, const char *format, ...)
{
	size_t at;
	char text[96] = "";
	va_list args;

	if (code == NL_FROM_ERRNO)
		code = code_of(errnum);
	if (!err)
		return code;
	memset(err, 0, sizeof(*err));
	err->code = code;
	if (key)
		snprintf(err->key, sizeof(err->key), "%s", key);
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	at = strlen(err->message);
	/* the message of a bad request is about the key anyway */
	if (key && code != NL_BAD_REQUEST)
		snprintf(err->message + at, sizeof(err->message) - at, " (%s)", err->key);
	at = strlen(err->message);
	if (errnum)
		snprintf(err->message + at, sizeof(err->message) - at, ": %s (errno %d)",
			 TEXT_OF(errnum, text), errnum);
	return code;
}
