#include "base/json.h"

#include "base/files.h"
#include "base/request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nl_json_free(struct nl_json *j)
{
	free(j->text);
	memset(j, 0, sizeof(*j));
}

void nl_json_reset(struct nl_json *j)
{
	j->len = 0;
	j->failed = 0;
	j->comma = 0;
}

static void json_put(struct nl_json *j, const char *bytes, size_t len)
{
	if (j->failed)
		return;
	if (j->cap - j->len < len + 2) {
		size_t cap = j->cap ? j->cap : 256;
		char *text;

		while (cap - j->len < len + 2)
			cap *= 2;
		text = realloc(j->text, cap);
		if (!text) {
			j->failed = 1;
			return;
		}
		j->text = text;
		j->cap = cap;
	}
	memcpy(j->text + j->len, bytes, len);
	j->len += len;
}

/* Length of the character of UTF-8 at c if it is valid and longer than a byte, else 0. */
static size_t utf8_len(const unsigned char *c)
{
	size_t len = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;

	/* overlong, a surrogate, or above U+10FFFF */
	if (c[0] < 0xc2 || c[0] > 0xf4 || (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static void json_put_quoted(struct nl_json *j, const char *text)
{
	json_put(j, "\"", 1);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		size_t len = utf8_len(c);
		char escape[8];

		if (len) {
			json_put(j, (const char *)c, len);
			c += len - 1;
		} else if (*c == '"' || *c == '\\') {
			json_put(j, "\\", 1);
			json_put(j, (const char *)c, 1);
		} else if (*c < 32 || *c > 126) {
			snprintf(escape, sizeof(escape), "\\u%04x", *c);
			json_put(j, escape, 6);
		} else {
			json_put(j, (const char *)c, 1);
		}
	}
	json_put(j, "\"", 1);
}

static void json_begin_item(struct nl_json *j, const char *key)
{
	if (j->comma)
		json_put(j, ",", 1);
	if (key) {
		json_put_quoted(j, key);
		json_put(j, ":", 1);
	}
	j->comma = 1;
}

static void json_put_bracket(struct nl_json *j, const char *which, int comma)
{
	json_put(j, which, 1);
	j->comma = comma;
}

void nl_json_open(struct nl_json *j, const char *key)
{
	json_begin_item(j, key);
	json_put_bracket(j, "{", 0);
}

int nl_json_open_known(struct nl_json *j, const char *key, int known)
{
	if (known)
		nl_json_open(j, key);
	else
		nl_json_null(j, key);
	return known;
}

void nl_json_array(struct nl_json *j, const char *key)
{
	json_begin_item(j, key);
	json_put_bracket(j, "[", 0);
}

void nl_json_close(struct nl_json *j) { json_put_bracket(j, "}", 1); }
void nl_json_array_end(struct nl_json *j) { json_put_bracket(j, "]", 1); }

void nl_json_event(struct nl_json *j, const char *event)
{
	nl_json_reset(j);
	nl_json_open(j, NULL);
	nl_json_text(j, "event", event);
}

/* A member whose value needs no quotes. */
static void json_put_plain(struct nl_json *j, const char *key, const char *value)
{
	json_begin_item(j, key);
	json_put(j, value, strlen(value));
}

void nl_json_u64(struct nl_json *j, const char *key, uint64_t value)
{
	char digits[24];

	nl_decimal_format(digits, value);
	json_put_plain(j, key, digits);
}

void nl_json_i64(struct nl_json *j, const char *key, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	json_put_plain(j, key, digits);
}

void nl_json_bool(struct nl_json *j, const char *key, int value)
{
	json_put_plain(j, key, value ? "true" : "false");
}

void nl_json_null(struct nl_json *j, const char *key)
{
	json_put_plain(j, key, "null");
}

void nl_json_text(struct nl_json *j, const char *key, const char *value)
{
	if (!value) {
		nl_json_null(j, key);
		return;
	}
	json_begin_item(j, key);
	json_put_quoted(j, value);
}

void nl_json_known(struct nl_json *j, const char *key, int known, uint64_t value)
{
	if (known)
		nl_json_u64(j, key, value);
	else
		nl_json_null(j, key);
}

void nl_json_members(struct nl_json *j, const struct nl_json_member *member, size_t count)
{
	for (size_t i = 0; i < count; i++)
		nl_json_u64(j, member[i].key, member[i].value);
}

int nl_json_line(struct nl_json *j, int fd)
{
	json_put(j, "", 0);
	if (j->failed) {
		errno = ENOMEM;
		return -1;
	}
	j->text[j->len] = '\n'; /* json_put() always leaves room for two bytes */
	return nl_write_all(fd, j->text, j->len + 1);
}

void nl_json_error(struct nl_json *j, const char *run, const struct nl_err *err)
{
	uint64_t number = 0;
	int known = run && nl_decimal_parse(run, 0, UINT64_MAX, &number) == 0;

	nl_json_event(j, "error");
	nl_json_known(j, "run", known, number);
	nl_json_text(j, "code", nl_code_name(err->code));
	nl_json_text(j, "key", err->key[0] ? err->key : NULL);
	nl_json_text(j, "message", err->message);
	nl_json_close(j);
}
