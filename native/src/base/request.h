/* words: request lines, `verb key=value ...`, parsed over a bounded buffer.
 *
 * A parsed line borrows nothing: it owns copies. Parsing is pure; it never
 * allocates, prints or touches the clock. Not thread-shared. */
#ifndef NL_REQUEST_H
#define NL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

enum {
	NL_LINE_MAX = 4096, /* bytes of one request, without the newline */
	NL_PAIRS_MAX = 40,
	NL_KEY_MAX = 24,
};

enum nl_request_code {
	NL_REQUEST_OK = 0,
	NL_REQUEST_EMPTY,     /* no verb */
	NL_REQUEST_TOO_LONG,  /* line, key or number of words */
	NL_REQUEST_NO_EQUALS, /* a word without `=` */
	NL_REQUEST_BAD_KEY,   /* a key that is empty or not [a-z0-9_] + capital B */
	NL_REQUEST_TWICE,     /* a key repeated */
	NL_REQUEST_BAD_VALUE, /* a control byte, or a broken percent escape */
};

struct nl_pair {
	const char *key;   /* NUL-terminated, in the line's own store */
	const char *value; /* decoded, NUL-terminated */
	size_t value_len;
	int read; /* set by the getters; nl_request_unread finds the rest */
};

struct nl_request {
	const char *verb;
	struct nl_pair pair[NL_PAIRS_MAX];
	size_t count;
	char store[NL_LINE_MAX + 1];
	char bad_key[NL_KEY_MAX + 1]; /* the key at fault, when a code names one */
};

/* Parse len bytes at line (no newline). On failure *out is unusable except bad_key. */
enum nl_request_code nl_request_parse(struct nl_request *out, const char *line, size_t len);

/* One sentence for a code; never NULL. */
const char *nl_request_message(enum nl_request_code code);

/* The value of key, or NULL; marks it read. */
const char *nl_request_get(struct nl_request *r, const char *key);

/* Decimal u64 in [min, max]. 0 ok, 1 absent, -1 malformed or out of range. */
int nl_request_u64(struct nl_request *r, const char *key, uint64_t min, uint64_t max, uint64_t *out);

/* Whether key is there; does not mark it read. */
int nl_request_has(const struct nl_request *r, const char *key);

/* The whole text as a decimal in [min, max]. 0, or -1. */
int nl_decimal_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* A number as decimal text. */
void nl_decimal_format(char out[24], uint64_t value);

/* The whole text as 2 * len hex digits. 0, or -1. */
int nl_hex_parse(const char *text, uint8_t *out, size_t len);

/* First key that no getter asked for, or NULL. */
const char *nl_request_unread(const struct nl_request *r);

#endif
