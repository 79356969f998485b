/* request: parse a request line, `verb key=value ...`, over a bounded buffer.
 *
 * A parsed request owns copies of everything. Pure: no allocation, output or clock. Not
 * thread-safe. */
#pragma once

#include "base/error.h"

enum {
	NL_LINE_MAX = 4096, /* bytes of one request, without the newline */
	NL_PAIRS_MAX = 40,
	NL_KEY_MAX = 24,
};

enum nl_request_code {
	NL_REQUEST_OK = 0,
	NL_REQUEST_EMPTY,     /* no verb */
	NL_REQUEST_TOO_LONG,  /* line, key or number of pairs */
	NL_REQUEST_NO_EQUALS, /* a pair without `=` */
	NL_REQUEST_BAD_KEY,   /* a key that is empty or not [a-z0-9_] and capital B */
	NL_REQUEST_TWICE,     /* a repeated key */
	NL_REQUEST_BAD_VALUE, /* a control byte, or an invalid percent escape */
};

struct nl_pair {
	const char *key;   /* NUL-terminated, in the request's store */
	const char *value; /* decoded, NUL-terminated */
	size_t value_len;
	int read; /* set by the getters; see nl_request_unread */
};

struct nl_request {
	const char *verb;
	struct nl_pair pair[NL_PAIRS_MAX];
	size_t count;
	char store[NL_LINE_MAX + 1];
	char bad_key[NL_KEY_MAX + 1]; /* the key at fault, for codes that have one */
};

/* Parse len bytes at line (without newline). On failure only bad_key of *out is valid. */
enum nl_request_code nl_request_parse(struct nl_request *out, const char *line, size_t len);

/* The message for a code; never NULL. */
const char *nl_request_message(enum nl_request_code code);

/* The value of key, or NULL; marks it read. */
const char *nl_request_get(struct nl_request *r, const char *key);

/* A decimal u64 in [min, max]. 0: valid, 1: absent, -1: malformed or out of range. */
int nl_request_u64(struct nl_request *r, const char *key, uint64_t min, uint64_t max,
		   uint64_t *out);

/* The same, and *err with the key and its bounds unless it is valid or absent. NL_OK or NL_BAD_REQUEST. */
int nl_request_number(struct nl_request *r, const char *key, uint64_t min, uint64_t max, uint64_t *out,
		      struct nl_err *err);

/* True if the key is present; does not mark it read. */
int nl_request_has(const struct nl_request *r, const char *key);

/* Parse the decimal digits at *at, which moves past them. 0, or -1 without any or beyond 64 bits. */
int nl_decimal_take(const char **at, const char *end, uint64_t *out);

/* Parse the whole text as a decimal in [min, max]. 0, or -1. */
int nl_decimal_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

void nl_decimal_format(char out[24], uint64_t value);

/* The value of a hex digit, or -1. */
int nl_hex_digit(char c);

/* Parse the whole text as 2 * len hex digits. 0, or -1. */
int nl_hex_parse(const char *text, uint8_t *out, size_t len);

/* The first key that no getter has read, or NULL. */
const char *nl_request_unread(const struct nl_request *r);

struct nl_verb {
	const char *name;
	/* NL_OK, or an error code with *err filled. NULL: the caller of nl_dispatch handles it. */
	int (*handle)(void *context, struct nl_request *request, struct nl_err *err);
	int bare; /* takes no key */
};

enum { NL_DISPATCH_UNHANDLED = -1 };

/* Parse a line (NULL: an overlong one) and call the handler among verbs, of which the last has no name. NL_OK,
 * NL_DISPATCH_UNHANDLED for a verb without a handler, or an error code with *err filled. *request receives
 * the parsed line; no pairs if it was malformed. */
int nl_dispatch(const struct nl_verb *verbs, void *context, const char *line, size_t len,
		struct nl_request *request, struct nl_err *err);

/* NL_OK if every key has been read by a getter, else an error naming the unknown key. */
int nl_request_only_known(const struct nl_request *request, struct nl_err *err);
