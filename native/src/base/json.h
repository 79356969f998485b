/* json: write one object or array to a growing buffer.
 *
 * A writer of zeros is empty. It owns its buffer until nl_json_free, and inserts the commas. A failed allocation sets
 * `failed` and makes later calls no-ops; check once, at the end. One thread at a time. */
#pragma once

#include "netlab.h"

struct nl_json {
	char *text;
	size_t len, cap;
	int failed;
	int comma; /* a comma is due before the next item */
};

void nl_json_free(struct nl_json *j);
void nl_json_reset(struct nl_json *j); /* empty; keeps the buffer */

/* Empty it, and begin the object of an event. */
void nl_json_event(struct nl_json *j, const char *event);
/* `{`; key is NULL inside an array or at the top. */
void nl_json_open(struct nl_json *j, const char *key);
/* The same if it is known, else null. Returns `known`. */
int nl_json_open_known(struct nl_json *j, const char *key, int known);
void nl_json_close(struct nl_json *j);                  /* `}` */
void nl_json_array(struct nl_json *j, const char *key); /* `[` */
void nl_json_array_end(struct nl_json *j);              /* `]` */
void nl_json_u64(struct nl_json *j, const char *key, uint64_t value);
void nl_json_i64(struct nl_json *j, const char *key, int64_t value);
void nl_json_bool(struct nl_json *j, const char *key, int value);
/* Any bytes: control characters, quotes and what is not UTF-8 are escaped as \u00XX. NULL writes null. */
void nl_json_text(struct nl_json *j, const char *key, const char *value);
void nl_json_null(struct nl_json *j, const char *key);
/* The value if it is known, else null. */
void nl_json_known(struct nl_json *j, const char *key, int known, uint64_t value);

struct nl_json_member {
	const char *key;
	uint64_t value;
};

/* Write unsigned members into an open object. */
void nl_json_members(struct nl_json *j, const struct nl_json_member *member, size_t count);

/* A member that has the name of its field. */
#define OF(from, field) {#field, (from)->field}

#define PUT_MEMBERS(j, ...)                                                                        \
	do {                                                                                       \
		const struct nl_json_member list_[] = {__VA_ARGS__};                               \
		nl_json_members(j, list_, sizeof(list_) / sizeof(list_[0]));                       \
	} while (0)

#define PUT_OBJECT(j, key, ...)                                                                    \
	do {                                                                                       \
		nl_json_open(j, key);                                                              \
		PUT_MEMBERS(j, __VA_ARGS__);                                                       \
		nl_json_close(j);                                                                  \
	} while (0)

/* Write the text and a newline to fd in full. 0, or -1 with errno (ENOMEM when failed). */
int nl_json_line(struct nl_json *j, int fd);

/* Write an error event; run is text or NULL. */
void nl_json_error(struct nl_json *j, const char *run, const struct nl_err *err);
