#include "tune/host_restore.h"

#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 5, REPORTED_MAX = 100, RECORD_MAX_B = 256 << 20 };

struct record {
	struct nl_state before, after; /* after the last change; without one, equal */
	int pending; /* a change began, and `after` is from before it */
	int remains; /* a guard's: only its own items are compared */
};

/* -- the file ------------------------------------------------------------------------- */

static const char magic[8] = "NLSTATE2";

struct file_head {
	char magic[8];
	uint32_t remains, pending;
};

struct state_head {
	uint64_t t_ns;
	uint32_t count, missing;
};

struct item_head {
	char interface[IFNAMSIZ];
	uint32_t kind, key_len, value_len, raw_len;
};

static void file_name(const struct nl_journal *j, char name[sizeof(j->name)])
{
	size_t len = strlen(j->name) - strlen("journal");

	snprintf(name, sizeof(j->name), "%.*sstate", (int)len, j->name);
}

int nl_host_recorded(const struct nl_journal *j)
{
	char name[sizeof(j->name)];

	if (j->dir < 0)
		return 0;
	file_name(j, name);
	return faccessat(j->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void record_forget(const struct nl_journal *j)
{
	char name[sizeof(j->name)];

	file_name(j, name);
	unlinkat(j->dir, name, 0);
}

static void put_record_state(FILE *to, const struct nl_state *s)
{
	struct state_head head = {s->t_ns, (uint32_t)s->count, s->missing};

	fwrite(&head, sizeof(head), 1, to);
	for (size_t i = 0; i < s->count; i++) {
		const struct nl_state_item *item = &s->item[i];
		struct item_head h = {.kind = item->kind, .key_len = (uint32_t)strlen(item->key) + 1,
				      .value_len = (uint32_t)strlen(item->value) + 1,
				      .raw_len = (uint32_t)item->raw_len};

		memcpy(h.interface, item->interface, sizeof(h.interface));
		fwrite(&h, sizeof(h), 1, to);
		fwrite(item->key, h.key_len, 1, to);
		fwrite(item->value, h.value_len, 1, to);
		fwrite(item->raw, 1, item->raw_len, to);
	}
}

static int record_save(const struct nl_journal *j, const struct record *record)
{
	struct file_head head = {.remains = (uint32_t)record->remains, .pending = (uint32_t)record->pending};
	char name[sizeof(j->name)], *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	int failed, err;

	if (!to)
		return -1;
	memcpy(head.magic, magic, sizeof(magic));
	fwrite(&head, sizeof(head), 1, to);
	put_record_state(to, &record->before);
	put_record_state(to, &record->after);
	failed = fclose(to) != 0;
	err = ENOMEM;
	file_name(j, name);
	if (!failed) {
		failed = nl_file_replace(j->dir, name, text, len, 0);
		err = errno;
	}
	free(text);
	errno = err;
	return failed ? -1 : 0;
}

/* Copy the next bytes, and move past them. 0, or -1 at the end. */
static int record_take(const char **at, const char *end, void *to, size_t len)
{
	if ((size_t)(end - *at) < len)
		return -1;
	memcpy(to, *at, len);
	*at += len;
	return 0;
}

static int take_record_state(const char **at, const char *end, struct nl_state *out)
{
	struct state_head head;

	if (record_take(at, end, &head, sizeof(head)) < 0)
		return -1;
	out->t_ns = head.t_ns;
	out->missing = head.missing;
	for (uint32_t i = 0; i < head.count; i++) {
		struct nl_state_item item = {0};
		struct item_head h;
		size_t len;

		if (record_take(at, end, &h, sizeof(h)) < 0)
			return -1;
		len = (size_t)h.key_len + h.value_len + h.raw_len;
		if ((size_t)(end - *at) < len || h.kind >= NL_STATE_KINDS || !h.key_len || !h.value_len ||
		    (*at)[h.key_len - 1] || (*at)[h.key_len + h.value_len - 1] || h.interface[IFNAMSIZ - 1])
			return -1;
		item.kind = (enum nl_state_kind)h.kind;
		memcpy(item.interface, h.interface, sizeof(item.interface));
		item.key = (char *)(uintptr_t)*at;
		item.value = item.key + h.key_len;
		item.raw = (uint8_t *)item.value + h.value_len;
		item.raw_len = h.raw_len;
		if (nl_state_add(out, &item) < 0)
			return -1;
		*at += len;
	}
	return 0;
}

static void record_free(struct record *record)
{
	nl_state_free(&record->before);
	nl_state_free(&record->after);
}

static int record_parse(const char *text, size_t len, struct record *out)
{
	const char *at = text, *end = text + len;
	struct file_head head;

	memset(out, 0, sizeof(*out));
	if (record_take(&at, end, &head, sizeof(head)) == 0 && memcmp(head.magic, magic, sizeof(magic)) == 0 &&
	    take_record_state(&at, end, &out->before) == 0 && take_record_state(&at, end, &out->after) == 0) {
		out->remains = head.remains != 0;
		out->pending = head.pending != 0;
		return 0;
	}
	record_free(out);
	return -1;
}

int nl_host_record_parse(const char *text, size_t len, struct nl_state *before, struct nl_state *after)
{
	struct record record;
	int failed = record_parse(text, len, &record);

	*before = record.before;
	*after = record.after;
	return failed;
}

/* 0, or -1 without a whole record. */
static int record_load(const struct nl_journal *j, struct record *out)
{
	char name[sizeof(j->name)], *text = NULL;
	struct stat st;
	int fd, failed = -1;
	long len = 0;

	memset(out, 0, sizeof(*out));
	if (j->dir < 0)
		return -1;
	file_name(j, name);
	fd = openat(j->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_size <= RECORD_MAX_B && (text = malloc((size_t)st.st_size + 1)))
		len = nl_read_all(fd, text, (size_t)st.st_size);
	close(fd);
	if (text && len >= 0)
		failed = record_parse(text, (size_t)len, out);
	free(text);
	return failed;
}

static int same_item(const struct nl_state_item *a, const struct nl_state_item *b)
{
	return a && b ? strcmp(a->value, b->value) == 0 : a == b;
}

int nl_host_record_before(const struct nl_journal *j)
{
	struct record record = {0};
	int failed, err;

	nl_state_capture(&record.before);
	record.after = record.before;
	failed = record_save(j, &record);
	err = errno;
	nl_state_free(&record.before);
	errno = err;
	return failed;
}

/* Take from `old` what differs between it and `seen`, items that only one of them has included. 0 or -1. */
static int keep_foreign(struct nl_state *after, const struct nl_state *old, const struct nl_state *seen)
{
	struct nl_state merged = {.missing = after->missing, .t_ns = after->t_ns};
	int failed = 0;

	for (size_t i = 0; i < after->count && !failed; i++) {
		const char *key = after->item[i].key;

		if (same_item(nl_state_find(old, key), nl_state_find(seen, key)))
			failed = nl_state_add(&merged, &after->item[i]);
	}
	for (size_t i = 0; i < old->count && !failed; i++)
		if (!same_item(&old->item[i], nl_state_find(seen, old->item[i].key)))
			failed = nl_state_add(&merged, &old->item[i]);
	nl_state_sort(&merged);
	nl_state_free(after);
	*after = merged;
	return failed;
}

int nl_host_change_begin(const struct nl_journal *j, struct nl_state *seen)
{
	struct record record;
	int failed, err;

	memset(seen, 0, sizeof(*seen));
	if (record_load(j, &record) < 0)
		return -1;
	nl_state_capture(seen);
	record.pending = 1;
	failed = record_save(j, &record);
	err = errno;
	record_free(&record);
	if (failed)
		nl_state_free(seen);
	errno = err;
	return failed;
}

/* True if a knob of the journal has the item's value: the journal restores and reports it. */
static int is_of_knob(const struct nl_journal *j, const char *key)
{
	char own[NL_KNOB_NAME_MAX + NL_KNOB_INTERFACE_MAX + 32];

	for (size_t i = 0; i < j->count; i++) {
		const struct nl_knob *k = &j->entry[i].knob;
		size_t len;

		if (k->ops == &nl_knob_ops_sysctl)
			snprintf(own, sizeof(own), "sysctl %s", k->name);
		else if (k->ops == &nl_knob_ops_qdisc)
			snprintf(own, sizeof(own), "qdisc dev %s ", k->interface);
		else
			snprintf(own, sizeof(own), "link %s %s", k->interface,
				 k->ops == &nl_knob_ops_offload ? k->name : k->ops->kind);
		len = strlen(own);
		if (k->ops == &nl_knob_ops_qdisc ? strncmp(key, own, len) == 0 : strcmp(key, own) == 0)
			return 1;
	}
	return 0;
}

/* The longest text of a report, in bytes: a route may have hundreds of next hops. */
enum { TEXT_MAX = 1000 };

static const char *shortened_text(const char *text, char to[TEXT_MAX + 4])
{
	snprintf(to, TEXT_MAX + 4, strlen(text) > TEXT_MAX ? "%.*s..." : "%.*s", TEXT_MAX, text);
	return to;
}

static void report_one(nl_changed_fn *changed, void *context, const struct nl_state_item *was,
		       const struct nl_state_item *now)
{
	const char *key = was ? was->key : now->key;
	int is_secret = strstr(key, "stable_secret") != NULL;
	char texts[3][TEXT_MAX + 4];

	changed(context, shortened_text(key, texts[0]),
		!was ? NULL : is_secret ? "a secret" : shortened_text(was->value, texts[1]),
		!now ? NULL : is_secret ? "another" : shortened_text(now->value, texts[2]));
}

/* Report what differs between two states, but for the knobs of the journal. */
static void report_beside(const struct nl_journal *j, const struct nl_state *before, const struct nl_state *after,
			  nl_changed_fn *changed, void *context)
{
	unsigned count = 0;

	for (size_t i = 0; i < before->count && count < REPORTED_MAX; i++) {
		const struct nl_state_item *was = &before->item[i], *now = nl_state_find(after, was->key);

		if (same_item(was, now) || is_of_knob(j, was->key) || (after->missing & (1U << was->kind)))
			continue;
		report_one(changed, context, was, now);
		count++;
	}
	for (size_t i = 0; i < after->count && count < REPORTED_MAX; i++) {
		const struct nl_state_item *now = &after->item[i];

		if (nl_state_find(before, now->key) || is_of_knob(j, now->key) || (before->missing & (1U << now->kind)))
			continue;
		report_one(changed, context, NULL, now);
		count++;
	}
}

void nl_host_change_end(const struct nl_journal *j, struct nl_state *seen, nl_changed_fn *changed, void *context)
{
	struct nl_state after;
	struct record record;

	if (record_load(j, &record) == 0) {
		nl_state_capture(&after);
		record.pending = 0;
		if (changed)
			report_beside(j, seen, &after, changed, context);
		if (keep_foreign(&after, &record.after, seen) == 0) {
			nl_state_free(&record.after);
			record.after = after;
			record_save(j, &record);
		} else {
			nl_state_free(&after);
		}
		record_free(&record);
	}
	nl_state_free(seen);
}

/* -- comparing ------------------------------------------------------------------------ */

/* One pair of states, and the items of a session that are compared between them. */
struct comparison {
	const struct record *record;
	const struct nl_state *found; /* before the revert: another program's changes are in it */
	const struct nl_state *now;
	const struct nl_journal *knobs; /* as before the revert */
};

/* True if another program changed it since the last change of the session. */
static int is_foreign(const struct comparison *c, const char *key)
{
	return !c->record->pending &&
	       !same_item(nl_state_find(&c->record->after, key), nl_state_find(c->found, key));
}

static int is_compared(const struct comparison *c, const struct nl_state_item *item)
{
	if ((c->record->before.missing | c->now->missing) & (1U << item->kind))
		return 0;
	/* interfaces come and go without a tuning, with all that is theirs */
	if (item->interface[0] && !nl_state_has_interface(c->record->remains ? c->now : &c->record->before, c->now,
							  item->interface))
		return 0;
	return !is_of_knob(c->knobs, item->key);
}

/* Restore what differs, and has not been changed by another program since. True if anything was written. */
static int restore_round(const struct comparison *c)
{
	int written = 0;

	for (int kind = 0; kind < NL_STATE_KINDS; kind++)
		for (size_t i = 0; i < c->record->before.count; i++) {
			const struct nl_state_item *was = &c->record->before.item[i], *now;

			if (was->kind != (enum nl_state_kind)kind)
				continue;
			now = nl_state_find(c->now, was->key);
			if (!same_item(was, now) && is_compared(c, was) && !is_foreign(c, was->key))
				written |= nl_state_restore(was, now, c->record->before.t_ns) == 0;
		}
	return written;
}

/* True for an item that was not there before and whose coming is a change of configuration. */
static int is_new(const struct comparison *c, const struct nl_state_item *now)
{
	/* the sysctls of a module come with it, the queues of an interface with their number */
	return now->kind != NL_STATE_SYSCTL && now->kind != NL_STATE_QUEUE && now->kind != NL_STATE_LINK &&
	       !c->record->remains && is_compared(c, now) && !nl_state_find(&c->record->before, now->key);
}

/* Report every difference; those that remain are copied to *left. Their number. */
static unsigned report_all(const struct comparison *c, const struct nl_host_report *report, struct nl_state *left)
{
	unsigned count = 0;

	for (size_t i = 0; i < c->record->before.count && count < REPORTED_MAX; i++) {
		const struct nl_state_item *was = &c->record->before.item[i];
		const struct nl_state_item *now = nl_state_find(c->now, was->key);

		if (same_item(was, now) || !is_compared(c, was) ||
		    (c->record->remains && is_foreign(c, was->key)))
			continue;
		if (report->changed)
			report_one(report->changed, report->context, was, now);
		count++;
		nl_state_add(left, was);
	}
	for (size_t i = 0; i < c->now->count && count < REPORTED_MAX; i++)
		if (is_new(c, &c->now->item[i])) {
			if (report->changed)
				report_one(report->changed, report->context, NULL, &c->now->item[i]);
			count++;
		}
	return count;
}

/* Keep in the record what remains, for a later recover to report. */
static void record_keep_rest(const struct nl_journal *j, struct nl_state *left, const struct nl_state *now)
{
	struct record record = {.before = *left, .after = *now, .remains = 1};

	nl_state_sort(&record.before);
	record_save(j, &record);
}

/* Drop what belongs to interfaces that are not there: one that comes back later has lost it on its way. */
static void forget_absent(struct nl_state *s, const struct nl_state *now)
{
	struct nl_state kept = {.missing = s->missing, .t_ns = s->t_ns};

	for (size_t i = 0; i < s->count; i++)
		if (!s->item[i].interface[0] || nl_state_has_interface(s, now, s->item[i].interface))
			nl_state_add(&kept, &s->item[i]);
	nl_state_free(s);
	*s = kept;
}

static struct nl_journal copy_of(const struct nl_journal *j)
{
	struct nl_journal copy = *j;

	copy.entry = j->count ? malloc(j->count * sizeof(*j->entry)) : NULL;
	copy.count = copy.entry ? j->count : 0;
	if (copy.entry)
		memcpy(copy.entry, j->entry, j->count * sizeof(*j->entry));
	return copy;
}

struct nl_host_sum nl_host_revert(struct nl_journal *j, size_t first, int at_once,
				  const struct nl_host_report *report)
{
	struct nl_host_sum sum = {0};
	struct nl_state found, now, left = {0};
	struct nl_journal knobs = copy_of(j);
	struct comparison c = {.found = &found, .now = &now, .knobs = &knobs};
	struct record record;
	int recorded;

	nl_revert_release();
	recorded = record_load(j, &record) == 0;
	c.record = &record;
	if (recorded)
		nl_state_capture(&found);
	sum.knobs = nl_revert_all(j, first, at_once, report->reverted, report->context);
	if (recorded) {
		nl_revert_release();
		nl_state_capture(&now);
		/* what a guard left is another program's, or cannot be restored */
		for (int i = 0; !record.remains && i < ROUNDS && restore_round(&c); i++) {
			nl_state_free(&now);
			nl_state_capture(&now);
		}
		sum.unrestored = report_all(&c, report, &left);
		sum.uncompared = record.before.missing | now.missing;
		if (left.count && !report->changed)
			record_keep_rest(j, &left, &now);
		else if (j->count <= first)
			record_forget(j);
		else {
			forget_absent(&record.before, &now);
			record_save(j, &record);
		}
		nl_state_free(&now);
		nl_state_free(&found);
		nl_state_free(&left);
		record_free(&record);
		nl_revert_reserve();
	} else {
		record_forget(j);
	}
	free(knobs.entry);
	return sum;
}
