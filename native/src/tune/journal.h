/* journal: the changes to this host, recorded before they are made.
 *
 * One append-only file per session, one record per line:
 *
 *     <crc32, 8 hex digits> <record>\n
 *
 * The checksum covers the record, which has the format of a request:
 *
 *     open version=1 netns=I cookie=C boot=UUID pid=P started=T owner=WORD
 *     set n=N knob=K [name=..] [interface=.. ifindex=I] old=EXACT wanted=TEXT
 *                                                                     before the knob is written
 *     wrote n=N readback=EXACT                                        after it was read back
 *     done n=N status=restored|conflict                               after it was reverted
 *
 * A crash leaves at most one `set` without its `wrote`. That knob has the old value, the wanted
 * one, or a mixture: a sysctl of several numbers stores each one as it is parsed. Invalid lines are
 * skipped and counted. A last line without a newline is torn, which is normal: a knob is written
 * only after its complete line. Any other invalid line is damage.
 *
 * An interface is identified by its index, which outlives a change of its name. Journals of versions
 * without `ifindex` identify it by its name.
 *
 * Every live process of a session has flock(LOCK_SH) on the file. A journal that can be locked
 * exclusively is therefore stale, whatever process has its pid now. */
#ifndef NL_JOURNAL_H
#define NL_JOURNAL_H

#include "tune/knob.h"

enum {
	NL_JOURNAL_ENTRIES_MAX = 512,
	NL_JOURNAL_BYTES_MAX = 4 * 1024 * 1024,
	NL_JOURNAL_OWNER_MAX = 64,
	NL_JOURNAL_FILE_MAX = 96,
};

/* Scope of the changes: they end with the network namespace and with the boot. A namespace's inode
 * is reused; its cookie (Linux 5.14, else 0) is not. */
struct nl_place {
	uint64_t netns, cookie;
	char boot[40];
};

struct nl_entry {
	struct nl_knob knob;
	char old[NL_KNOB_VALUE_MAX + 1];      /* exact: the value to restore */
	char readback[NL_KNOB_VALUE_MAX + 1]; /* exact: the result of the last write */
	char wanted[NL_KNOB_VALUE_MAX + 1];   /* text of the last write */
	uint64_t n;
	int ifindex;   /* of the knob's interface when it was written; 0: none, or unknown */
	int written; /* readback is valid */
	int pending; /* a write began; its readback is unknown */
	int done;
};

struct nl_journal {
	struct nl_place place;
	char owner[NL_JOURNAL_OWNER_MAX + 1];
	uint64_t pid, started;
	int has_open; /* an `open` record was found */
	struct nl_entry *entry;
	size_t count, cap;
	size_t bad_lines; /* invalid lines, without a torn last one */
	int torn;         /* the last line is incomplete */
};

/* Parse len bytes into *out. Pure. 0, or -1 when out of memory. Free with nl_journal_free. */
int nl_journal_parse(struct nl_journal *out, const char *text, size_t len);
void nl_journal_free(struct nl_journal *j);

/* The open entry of a knob, or NULL. With ifindex (0: unknown) an interface is found under any name,
 * and another interface of the same name is not. */
struct nl_entry *nl_journal_find(struct nl_journal *j, const struct nl_knob *k, int ifindex);
/* A new zeroed entry, or NULL (out of memory, or too many). Invalidates older pointers. */
struct nl_entry *nl_journal_add(struct nl_journal *j);

/* True if netlab wrote the value found, according to the entry. With `at_once` the write has only
 * just happened, so a pending entry's value must be netlab's. */
int nl_entry_is_ours(const struct nl_entry *e, const struct nl_value *found, int at_once);

/* Fill *out for the calling process. 0, or -1 with errno. */
int nl_place_here(struct nl_place *out);

enum nl_place_match {
	NL_PLACE_HERE,
	NL_PLACE_ELSEWHERE, /* another namespace, possibly alive: leave it alone */
	NL_PLACE_REBOOTED,  /* an earlier boot: its changes are gone */
	NL_PLACE_DELETED,   /* a deleted namespace; ours has its inode now */
};
enum nl_place_match nl_place_compare(const struct nl_place *journal, const struct nl_place *here);

/* Open DIR, created with mode 0700 if missing (its parent is not). It must belong to this user and
 * be writable for no other. The fd, or -1 with a reason. */
int nl_journal_dir(const char *path, struct nl_err *why);

/* Create this process's journal in dir, with its `open` record, durable and share-locked. The fd
 * and its name, or -1 with a reason and no file. */
int nl_journal_create(int dir, const struct nl_place *place, const char *owner,
		      char file[NL_JOURNAL_FILE_MAX], struct nl_err *why);

/* Open another file description of it, share-locked; -1 with errno. */
int nl_journal_reopen(int dir, const char *file);

/* Append a record. 0, or -1 with errno and the file unchanged. _set is durable. */
int nl_journal_set(int fd, const struct nl_entry *e);
int nl_journal_wrote(int fd, const struct nl_entry *e);
int nl_journal_done(int fd, const struct nl_entry *e, const char *status);

/* Read and parse a whole journal. 0, or -1 with errno. */
int nl_journal_load(int fd, struct nl_journal *out);

/* Unlink, durably. */
int nl_journal_remove(int dir, const char *file);

/* One stale journal of this network namespace, locked exclusively during the call of `found`. */
struct nl_stale {
	const char *file;
	int fd;                    /* -1: it cannot be opened */
	struct nl_journal *journal; /* NULL: it cannot be read */
	enum nl_place_match match;
	const char *damage; /* the fault of the file, or NULL */
};

/* Call found(context, stale) for each stale journal in dir, except those of other namespaces;
 * `found` may remove it. The number of calls, or -1 with errno. */
int nl_journal_stale(int dir, const struct nl_place *here,
		     void (*found)(void *context, const struct nl_stale *stale), void *context);

#endif
