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

static int fill(struct nl_err *err, int code, const char *key, const char *format, va_list args)
{
	if (!err)
		return code;
	memset(err, 0, sizeof(*err));
	err->code = code;
	if (key)
		snprintf(err->key, sizeof(err->key), "%s", key);
	vsnprintf(err->message, sizeof(err->message), format, args);
	return code;
}

int nl_fail(struct nl_err *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(err, code, NULL, format, args);
	va_end(args);
	return code;
}

int nl_fail_key(struct nl_err *err, const char *key, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(err, NL_BAD_REQUEST, key, format, args);
	va_end(args);
	return NL_BAD_REQUEST;
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

static void add_key(struct nl_err *err)
{
	size_t at = strlen(err->message);

	snprintf(err->message + at, sizeof(err->message) - at, " (%s)", err->key);
}

static void add_errno(struct nl_err *err, int errnum)
{
	size_t at;
	char text[96];

	if (!err)
		return;
	at = strlen(err->message);
	/* the GNU strerror_r: may return static storage, never fails */
	snprintf(err->message + at, sizeof(err->message) - at, ": %s (errno %d)",
		 strerror_r(errnum, text, sizeof(text)), errnum);
}

int nl_fail_errno(struct nl_err *err, int errnum, const char *format, ...)
{
	int code = code_of(errnum);
	va_list args;

	va_start(args, format);
	fill(err, code, NULL, format, args);
	va_end(args);
	add_errno(err, errnum);
	return code;
}

int nl_fail_option(struct nl_err *err, const char *key, int errnum, const char *format, ...)
{
	int code = errnum ? code_of(errnum) : NL_REFUSED;
	va_list args;

	va_start(args, format);
	fill(err, code, key, format, args);
	va_end(args);
	if (err)
		add_key(err);
	if (errnum)
		add_errno(err, errnum);
	return code;
}
