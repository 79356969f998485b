/* error: fill struct nl_err. */
#pragma once

#include "netlab.h"

enum { NL_FROM_ERRNO = -1 };

/* Fill *err (unless NULL) and return its code. A key (NULL: none) names the option at fault; errnum (0: none)
 * ends the message, and is what NL_FROM_ERRNO takes the code from. */
int nl_fail_with(struct nl_err *err, int code, const char *key, int errnum, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#define nl_fail(err, code, ...) nl_fail_with(err, code, NULL, 0, __VA_ARGS__)

/* The same with NL_BAD_REQUEST, naming the key or option at fault. */
#define nl_fail_key(err, key, ...) nl_fail_with(err, NL_BAD_REQUEST, key, 0, __VA_ARGS__)

/* A failed call: the message is "what: strerror", the code follows from errnum. */
#define nl_fail_errno(err, errnum, ...) nl_fail_with(err, NL_FROM_ERRNO, NULL, errnum, __VA_ARGS__)

/* The same for an option that the kernel refuses: "what (key): strerror"; errnum 0: no strerror. */
#define nl_fail_option(err, key, errnum, ...) nl_fail_with(err, NL_FROM_ERRNO, key, errnum, __VA_ARGS__)
