/* journal: parse records and interpret them. Pure. */
#include "base/request.h"
#include "tune/journal.h"
#include "tune/journal_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CRC-32 of IEEE 802.3. */
uint32_t nl_record_crc(const char *bytes, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= (unsigned char)bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (UINT32_C(0xEDB88320) & (0U - (crc & 1)));
	}
	return ~crc;
}

void nl_journal_free(struct nl_journal *j)
{
	free(j->entry);
	memset(j, 0, sizeof(*j));
}

static int is_of(const struct nl_entry *e, const struct nl_knob *k, int ifindex)
{
	if (!e->ifindex || !ifindex)
		return nl_knob_same(&e->knob, k);
	return e->ifindex == ifindex && e->knob.kind == k->kind && strcmp(e->knob.name, k->name) == 0;
}

struct nl_entry *nl_journal_find(struct nl_journal *j, const struct nl_knob *k, int ifindex)
{
	for (size_t i = 0; i < j->count; i++)
		if (!j->entry[i].done && is_of(&j->entry[i], k, ifindex))
			return &j->entry[i];
	return NULL;
}

struct nl_entry *nl_journal_add(struct nl_journal *j)
{
	if (j->count == NL_JOURNAL_ENTRIES_MAX)
		return NULL;
	if (j->count == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 16;
		struct nl_entry *entry = realloc(j->entry, cap * sizeof(*entry));

		if (!entry)
			return NULL;
		j->entry = entry;
		j->cap = cap;
	}
	memset(&j->entry[j->count], 0, sizeof(j->entry[0]));
	j->entry[j->count].n = j->count;
	return &j->entry[j->count++];
}

/* Copy a value into a field of the same limit. 0, or -1. */
static int take(struct nl_request *request, const char *key, char *to, size_t max)
{
	const char *text = nl_request_get(request, key);

	if (!text || strlen(text) > max)
		return -1;
	memcpy(to, text, strlen(text) + 1);
	return 0;
}

static int parse_open(struct nl_journal *j, struct nl_request *request)
{
	struct nl_journal o;
	uint64_t version;

	memset(&o, 0, sizeof(o));
	if (j->has_open || nl_request_u64(request, "version", 1, 1, &version) ||
	    nl_request_u64(request, "netns", 0, UINT64_MAX, &o.place.netns) ||
	    nl_request_u64(request, "cookie", 0, UINT64_MAX, &o.place.cookie) ||
	    nl_request_u64(request, "pid", 1, INT32_MAX, &o.pid) ||
	    nl_request_u64(request, "started", 0, UINT64_MAX, &o.started) ||
	    take(request, "boot", o.place.boot, sizeof(o.place.boot) - 1) ||
	    take(request, "owner", o.owner, NL_JOURNAL_OWNER_MAX) || nl_request_unread(request))
		return -1;
	j->place = o.place;
	j->pid = o.pid;
	j->started = o.started;
	memcpy(j->owner, o.owner, sizeof(j->owner));
	j->has_open = 1;
	return 0;
}

/* -1: invalid record, -2: no memory */
static int parse_set(struct nl_journal *j, struct nl_request *request)
{
	const char *kind = nl_request_get(request, "knob"), *name = nl_request_get(request, "name");
	const char *interface = nl_request_get(request, "interface");
	char old[NL_KNOB_VALUE_MAX + 1], wanted[NL_KNOB_VALUE_MAX + 1];
	struct nl_entry *e;
	struct nl_knob k;
	uint64_t n, ifindex = 0;

	if (nl_knob_parse(&k, kind, name, interface, NULL) ||
	    nl_request_u64(request, "n", 0, NL_JOURNAL_ENTRIES_MAX - 1, &n) ||
	    nl_request_u64(request, "ifindex", 1, INT32_MAX, &ifindex) < 0 ||
	    (ifindex && !interface) ||
	    take(request, "old", old, NL_KNOB_VALUE_MAX) ||
	    take(request, "wanted", wanted, NL_KNOB_VALUE_MAX) || nl_request_unread(request))
		return -1;
	e = nl_journal_find(j, &k, (int)ifindex);
	if (e && e->n != n)
		return -1;
	if (!e) {
		for (size_t i = 0; i < j->count; i++)
			if (j->entry[i].n == n)
				return -1;
		e = nl_journal_add(j);
		if (!e)
			return -2;
		e->knob = k;
		e->n = n;
		e->ifindex = (int)ifindex;
	}
	/* A later `set` found a foreign value: revert to that one. */
	if (strcmp(e->old, old) != 0)
		e->written = 0;
	memcpy(e->old, old, sizeof(old));
	memcpy(e->wanted, wanted, sizeof(wanted));
	e->pending = 1;
	return 0;
}

static struct nl_entry *numbered(struct nl_journal *j, struct nl_request *request)
{
	uint64_t n;

	if (nl_request_u64(request, "n", 0, NL_JOURNAL_ENTRIES_MAX - 1, &n))
		return NULL;
	for (size_t i = 0; i < j->count; i++)
		if (j->entry[i].n == n)
			return &j->entry[i];
	return NULL;
}

static int parse_wrote(struct nl_journal *j, struct nl_request *request)
{
	struct nl_entry *e = numbered(j, request);
	char readback[NL_KNOB_VALUE_MAX + 1];

	if (!e || take(request, "readback", readback, NL_KNOB_VALUE_MAX) || nl_request_unread(request))
		return -1;
	memcpy(e->readback, readback, sizeof(readback));
	e->written = 1;
	e->pending = 0;
	return 0;
}

static int parse_done(struct nl_journal *j, struct nl_request *request)
{
	struct nl_entry *e = numbered(j, request);

	if (!e || !nl_request_get(request, "status") || nl_request_unread(request))
		return -1;
	e->done = 1;
	return 0;
}

static int parse_record(struct nl_journal *j, const char *record, size_t len)
{
	struct nl_request request;

	if (nl_request_parse(&request, record, len) != NL_REQUEST_OK)
		return -1;
	if (strcmp(request.verb, "open") == 0)
		return parse_open(j, &request);
	if (strcmp(request.verb, "set") == 0)
		return parse_set(j, &request);
	if (strcmp(request.verb, "wrote") == 0)
		return parse_wrote(j, &request);
	if (strcmp(request.verb, "done") == 0)
		return parse_done(j, &request);
	return -1;
}

static int checks(const char *line, size_t len)
{
	char digits[9];

	if (len < 10 || line[8] != ' ')
		return 0;
	snprintf(digits, sizeof(digits), "%08x", nl_record_crc(line + 9, len - 9));
	return memcmp(digits, line, 8) == 0;
}

int nl_journal_parse(struct nl_journal *out, const char *text, size_t len)
{
	size_t at = 0;

	memset(out, 0, sizeof(*out));
	while (at < len) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t size = end ? (size_t)(end - text) - at : 0;
		int code = -1;

		if (!end) {
			out->torn = 1;
			break;
		}
		if (checks(text + at, size))
			code = parse_record(out, text + at + 9, size - 9);
		if (code == -2) {
			nl_journal_free(out);
			return -1;
		}
		if (code != 0)
			out->bad_lines++;
		at += size + 1;
	}
	return 0;
}

int nl_entry_is_ours(const struct nl_entry *e, const struct nl_value *found, int at_once)
{
	const struct nl_knob_ops *ops = nl_knob_ops_of(&e->knob);
	const char *before = e->written ? e->readback : e->old;

	if (e->written && strcmp(found->exact, e->readback) == 0)
		return 1;
	if (!e->pending)
		return 0;
	return at_once || strcmp(found->text, e->wanted) == 0 ||
	       (ops->is_mixture && ops->is_mixture(found, before, e->wanted));
}

enum nl_place_match nl_place_compare(const struct nl_place *journal, const struct nl_place *here)
{
	if (strcmp(journal->boot, here->boot) != 0)
		return NL_PLACE_REBOOTED;
	if (journal->netns != here->netns)
		return NL_PLACE_ELSEWHERE;
	if (journal->cookie != here->cookie && journal->cookie && here->cookie)
		return NL_PLACE_DELETED;
	return NL_PLACE_HERE;
}
