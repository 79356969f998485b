/* journal: what was changed on this host, written down before it is changed.
 *
 * One file per session, append-only, one record a line:
 *
 *     <crc32, 8 hex digits> <record>\n
 *
 * where a record is a line of words, as requests are, and the checksum is over it:
 *
 *     open version=1 netns=I cookie=C boot=UUID pid=P started=T owner=WORD
 *     set n=N knob=K [name=..] [interface=..] old=EXACT wanted=TEXT    before the knob is written
 *     wrote n=N readback=EXACT                                        after it was read back
 *     done n=N status=restored|conflict                               after it was put back
 *
 * A crash leaves at most one `set` without its `wrote`: that knob holds the old value, the
 * wanted one, or, since a sysctl that takes several numbers stores each as it parses it, some
 * of both. A line that does not check is passed over and counted; a torn last line is normal.
 *
 * Locks. Every living process of a session holds flock(LOCK_SH) on the file, so one that can be
 * locked exclusively is stale, whatever process has its pid by now. */
#ifndef NL_JOURNAL_H
#define NL_JOURNAL_H

#include "tune/knob.h"

enum {
	NL_JOURNAL_ENTRIES_MAX = 512,
	NL_JOURNAL_BYTES_MAX = 4 * 1024 * 1024,
	NL_JOURNAL_OWNER_MAX = 64,
	NL_JOURNAL_FILE_MAX = 96,
};

/* Where and when the changes hold: gone with the namespace, gone with the boot. The inode of
 * a namespace is given again to a later one; its cookie (Linux 5.14, else 0) never is. */
struct nl_place {
	uint64_t netns, cookie;
	char boot[40];
};

struct nl_entry {
	struct nl_knob knob;
	char old[NL_KNOB_VALUE_MAX + 1];      /* exact: what to put back */
	char readback[NL_KNOB_VALUE_MAX + 1]; /* exact: what the last write left */
	char wanted[NL_KNOB_VALUE_MAX + 1];   /* text of the last write */
	uint64_t n;
	int written; /* readback is known at all */
	int pending; /* a write began and its readback is not known */
	int done;
};

struct nl_journal {
	struct nl_place place;
	char owner[NL_JOURNAL_OWNER_MAX + 1];
	uint64_t pid, started;
	int has_open; /* an `open` record was found */
	struct nl_entry *entry;
	size_t count, cap;
	size_t bad_lines; /* that did not check, a torn last one included */
};

/* Pure: fill *out from len bytes. 0, or -1 when memory is short. Free with nl_journal_free. */
int nl_journal_parse(struct nl_journal *out, const char *text, size_t len);
void nl_journal_free(struct nl_journal *j);

/* The live entry of a knob, or NULL. */
struct nl_entry *nl_journal_find(struct nl_journal *j, const struct nl_knob *k);
/* A new zeroed entry, or NULL (memory, or too many). Older pointers are invalid after. */
struct nl_entry *nl_journal_add(struct nl_journal *j);

/* Whether the value found is what netlab left, given what the entry knows. `at_once` says that
 * the write happened just now, so that a pending entry's value can be nobody else's. */
int nl_entry_is_ours(const struct nl_entry *e, const struct nl_value *found, int at_once);

/* Fill *out for the calling process. 0, or -1 with errno. */
int nl_place_here(struct nl_place *out);

enum nl_place_match {
	NL_PLACE_HERE,
	NL_PLACE_ELSEWHERE, /* another namespace, perhaps alive: not ours to judge */
	NL_PLACE_REBOOTED,  /* an earlier boot: what it changed is gone */
	NL_PLACE_DELETED,   /* a namespace that is gone; ours has its number now */
};
enum nl_place_match nl_place_compare(const struct nl_place *journal, const struct nl_place *here);

/* Open DIR, made 0700 when missing (its parent is not). It must be a directory of ours that
 * nobody else can write. The fd, or -1 with a reason. */
int nl_journal_dir(const char *path, struct nl_err *why);

/* Make the journal of this process in dir, with its `open` record, durable and share-locked.
 * The fd and its name, or -1 with a reason and nothing left behind. */
int nl_journal_create(int dir, const struct nl_place *place, const char *owner,
		      char file[NL_JOURNAL_FILE_MAX], struct nl_err *why);

/* Another open file description of it, share-locked; -1 with errno. */
int nl_journal_reopen(int dir, const char *file);

/* Append; each is 0, or -1 with errno and the file as it was before. _set is durable. */
int nl_journal_set(int fd, const struct nl_entry *e);
int nl_journal_wrote(int fd, const struct nl_entry *e);
int nl_journal_done(int fd, const struct nl_entry *e, const char *status);

/* Read and parse a whole journal. 0, or -1 with errno. */
int nl_journal_load(int fd, struct nl_journal *out);

/* Unlink and make that durable. */
int nl_journal_remove(int dir, const char *file);

/* Call found(context, fd, file, journal, match) for each stale journal in dir that is not of
 * another namespace. The journal is locked exclusively during the call. The number of calls, or
 * -1 with errno. `found` may remove it. */
int nl_journal_stale(int dir, const struct nl_place *here,
		     void (*found)(void *context, int fd, const char *file,
				   struct nl_journal *journal, enum nl_place_match match),
		     void *context);

#endif
