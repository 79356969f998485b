#include "base/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int nl_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void note_key(struct nl_request *r, const char *key, size_t len)
{
	if (len > NL_KEY_MAX)
		len = NL_KEY_MAX;
	for (size_t i = 0; i < len; i++)
		r->bad_key[i] = (key[i] > 32 && key[i] < 127) ? key[i] : '?';
	r->bad_key[len] = '\0';
}

/* Decode a percent-encoded value in place, and terminate it. Its length, or -1. */
static long percent_decode(char *value, const char *end)
{
	char *to = value;

	for (const char *from = value; from < end; from++) {
		unsigned char c = (unsigned char)*from;

		if (c == '%') {
			int hi = end - from < 3 ? -1 : nl_hex_digit(from[1]);
			int lo = hi < 0 ? -1 : nl_hex_digit(from[2]);

			if (lo < 0)
				return -1;
			c = (unsigned char)(hi * 16 + lo);
			from += 2;
		}
		if (c < 32 || c > 126)
			return -1;
		*to++ = (char)c;
	}
	*to = '\0';
	return to - value;
}

static char *find_char(char *at, char *end, char c)
{
	char *found = memchr(at, c, (size_t)(end - at));

	return found ? found : end;
}

/* Check a verb or key, and terminate it. */
static enum nl_request_code take_key(char *key, char *end)
{
	if (end - key > NL_KEY_MAX)
		return NL_REQUEST_TOO_LONG;
	for (const char *c = key; c < end; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_' || *c == 'B'))
			return NL_REQUEST_BAD_KEY;
	*end = '\0';
	return NL_REQUEST_OK;
}

static enum nl_request_code take_pair(struct nl_request *out, char *key, char *end)
{
	char *equals = find_char(key, end, '=');
	enum nl_request_code code;
	long len;

	note_key(out, key, (size_t)(equals - key));
	if (equals == end)
		return NL_REQUEST_NO_EQUALS;
	if (equals == key)
		return NL_REQUEST_BAD_KEY;
	code = out->count == NL_PAIRS_MAX ? NL_REQUEST_TOO_LONG : take_key(key, equals);
	if (code != NL_REQUEST_OK)
		return code;
	if (nl_request_has(out, key))
		return NL_REQUEST_TWICE;
	len = percent_decode(equals + 1, end);
	if (len < 0)
		return NL_REQUEST_BAD_VALUE;
	out->pair[out->count++] = (struct nl_pair){key, equals + 1, (size_t)len, 0};
	return NL_REQUEST_OK;
}

enum nl_request_code nl_request_parse(struct nl_request *out, const char *line, size_t len)
{
	char *at = out->store, *end, *next;
	enum nl_request_code code;

	memset(out, 0, sizeof(*out));
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (len > NL_LINE_MAX)
		return NL_REQUEST_TOO_LONG;
	memcpy(at, line, len);
	out->verb = at;
	end = at + len;
	next = find_char(at, end, ' ');
	code = next == at ? NL_REQUEST_EMPTY : take_key(at, next);
	while (code == NL_REQUEST_OK && next < end) {
		at = next + 1;
		next = find_char(at, end, ' ');
		code = take_pair(out, at, next);
	}
	if (code == NL_REQUEST_OK)
		out->bad_key[0] = '\0';
	return code;
}

const char *nl_request_message(enum nl_request_code code)
{
	static const char *const message[] = {
		[NL_REQUEST_OK] = "ok",
		[NL_REQUEST_EMPTY] = "a request starts with a verb",
		[NL_REQUEST_TOO_LONG] = "the request is too long",
		[NL_REQUEST_NO_EQUALS] = "a word after the verb is key=value",
		[NL_REQUEST_BAD_KEY] = "not a key",
		[NL_REQUEST_TWICE] = "the key is given twice",
		[NL_REQUEST_BAD_VALUE] = "the value is not printable ASCII, percent-encoded",
	};

	return message[code];
}

const char *nl_request_get(struct nl_request *r, const char *key)
{
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->pair[i].key, key) == 0) {
			r->pair[i].read = 1;
			return r->pair[i].value;
		}
	}
	return NULL;
}

int nl_request_has(const struct nl_request *r, const char *key)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->pair[i].key, key) == 0)
			return 1;
	return 0;
}

int nl_decimal_take(const char **at, const char *end, uint64_t *out)
{
	uint64_t n = 0;
	const char *c;

	for (c = *at; c < end && *c >= '0' && *c <= '9'; c++) {
		uint64_t digit = (uint64_t)(*c - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return -1;
		n = n * 10 + digit;
	}
	if (c == *at)
		return -1;
	*at = c;
	*out = n;
	return 0;
}

int nl_decimal_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *end = text + strlen(text);
	uint64_t n;

	if (nl_decimal_take(&text, end, &n) || text != end || n < min || n > max)
		return -1;
	*out = n;
	return 0;
}

void nl_decimal_format(char out[24], uint64_t value)
{
	snprintf(out, 24, "%" PRIu64, value);
}

int nl_hex_parse(const char *text, uint8_t *out, size_t len)
{
	if (strlen(text) != 2 * len)
		return -1;
	for (size_t i = 0; i < len; i++) {
		int hi = nl_hex_digit(text[2 * i]), lo = nl_hex_digit(text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -1;
		out[i] = (uint8_t)(hi * 16 + lo);
	}
	return 0;
}

int nl_request_u64(struct nl_request *r, const char *key, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *text = nl_request_get(r, key);

	return text ? nl_decimal_parse(text, min, max, out) : 1;
}

int nl_request_number(struct nl_request *r, const char *key, uint64_t min, uint64_t max, uint64_t *out,
		      struct nl_err *err)
{
	if (nl_request_u64(r, key, min, max, out) >= 0)
		return NL_OK;
	return nl_fail_key(err, key, "%s: expected an integer from %" PRIu64 " to %" PRIu64, key, min, max);
}

const char *nl_request_unread(const struct nl_request *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (!r->pair[i].read)
			return r->pair[i].key;
	return NULL;
}

int nl_dispatch(const struct nl_verb *verbs, void *context, const char *line, size_t len,
		struct nl_request *request, struct nl_err *err)
{
	enum nl_request_code parsed = NL_REQUEST_TOO_LONG;

	request->bad_key[0] = '\0';
	if (line)
		parsed = nl_request_parse(request, line, len);
	if (parsed != NL_REQUEST_OK) {
		request->count = 0;
		return nl_fail_key(err, request->bad_key, "%s", nl_request_message(parsed));
	}
	while (verbs->name && strcmp(verbs->name, request->verb) != 0)
		verbs++;
	if (!verbs->name)
		return nl_fail(err, NL_BAD_REQUEST, "unknown request %s", request->verb);
	if (verbs->bare && nl_request_only_known(request, err))
		return err->code;
	return verbs->handle ? verbs->handle(context, request, err) : NL_DISPATCH_UNHANDLED;
}

int nl_request_only_known(const struct nl_request *request, struct nl_err *err)
{
	const char *key = nl_request_unread(request);

	return key ? nl_fail_key(err, key, "%s: unknown key %s", request->verb, key) : NL_OK;
}
