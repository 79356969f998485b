/* error: fill struct nl_err. */
#ifndef NL_ERROR_H
#define NL_ERROR_H

#include "netlab.h"

/* Fill *err (unless NULL) and return code. */
int nl_fail(struct nl_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with NL_BAD_REQUEST, naming the key or option at fault. */
int nl_fail_key(struct nl_err *err, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A failed call: the message is "what: strerror", the code follows from errnum. */
int nl_fail_errno(struct nl_err *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for an option that the kernel refuses: "what (key): strerror"; errnum 0: no strerror. */
int nl_fail_option(struct nl_err *err, const char *key, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
