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

/* A key is in brackets in the message unless the message is about it anyway, as that of a bad request. */
__attribute__((format(printf, 5, 0))) static int fill(struct nl_err *err, int code, const char *key,
						      int errnum, const char *format, va_list args)
{
	size_t at;
	char text[96];

	if (!err)
		return code;
	memset(err, 0, sizeof(*err));
	err->code = code;
	if (key)
		snprintf(err->key, sizeof(err->key), "%s", key);
	vsnprintf(err->message, sizeof(err->message), format, args);
	if (key && code != NL_BAD_REQUEST) {
		at = strlen(err->message);
		snprintf(err->message + at, sizeof(err->message) - at, " (%s)", err->key);
	}
	at = strlen(err->message);
	/* the GNU strerror_r: may return static storage, never fails */
	if (errnum)
		snprintf(err->message + at, sizeof(err->message) - at, ": %s (errno %d)",
			 strerror_r(errnum, text, sizeof(text)), errnum);
	return code;
}

int nl_fail(struct nl_err *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(err, code, NULL, 0, format, args);
	va_end(args);
	return code;
}

int nl_fail_key(struct nl_err *err, const char *key, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(err, NL_BAD_REQUEST, key, 0, format, args);
	va_end(args);
	return NL_BAD_REQUEST;
}

int nl_fail_errno(struct nl_err *err, int errnum, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(err, code_of(errnum), NULL, errnum, format, args);
	va_end(args);
	return code_of(errnum);
}

int nl_fail_option(struct nl_err *err, const char *key, int errnum, const char *format, ...)
{
	int code = errnum ? code_of(errnum) : NL_REFUSED;
	va_list args;

	va_start(args, format);
	fill(err, code, key, errnum, format, args);
	va_end(args);
	return code;
}
