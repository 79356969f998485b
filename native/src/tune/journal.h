/* journal: the changes to this host that are not reverted, recorded before they are made.
 *
 * One file for each user, network namespace and boot, tune-INODE-COOKIE-BOOT.journal in the directory of
 * base/files.h. Every knob ends with the boot, and so does the directory where it is in memory. It has one
 * line for each knob, in the order of the changes, in the format of a request:
 *
 *     set knob=K [name=..] [interface=.. ifindex=I] old=EXACT [wanted=TEXT] [readback=EXACT]
 *
 * Every change of it writes a new file and renames it over the old one, so it is whole at any moment.
 * `wanted` marks a write that began and was not read back, at most one after a crash: the knob has the
 * value of before, the wanted one, or a mixture, since a sysctl of several numbers stores each one as it
 * is parsed.
 *
 * An inode of a namespace is used again, its cookie (Linux 5.14, else 0) is not within a boot. The first
 * namespace has the same of both in every boot. An interface is identified by its index, which outlives a
 * change of its name.
 *
 * Only the process that has the lock of the session (tune_session.h) reads or changes it. */
#pragma once

#include "tune/knob.h"

enum {
	NL_JOURNAL_ENTRIES_MAX = 512,
	NL_JOURNAL_BYTES_MAX = 4 * 1024 * 1024,
};

struct nl_entry {
	struct nl_knob knob;
	char old[NL_KNOB_VALUE_MAX + 1];      /* exact: the value to restore */
	char readback[NL_KNOB_VALUE_MAX + 1]; /* exact: the result of the last write */
	char wanted[NL_KNOB_VALUE_MAX + 1];   /* text of a pending write */
	int ifindex; /* of the knob's interface when it was written; 0: none */
	int written; /* readback is valid */
	int pending; /* a write began; its readback is unknown */
};

struct nl_journal {
	struct nl_entry *entry;
	size_t count, cap;
	int dir; /* of the file; -1: not open, and no file */
	char name[64], path[128];
};

/* Replace the entries by those of len bytes. Pure. 0, or -1 with errno: ENOMEM, or EBADMSG for a line of
 * another version of netlab, or a damaged one. Free with nl_journal_free. */
int nl_journal_parse(struct nl_journal *j, const char *text, size_t len);
void nl_journal_free(struct nl_journal *j); /* the entries */

/* The entry of a knob, or NULL. With ifindex (0: unknown) an interface is found under any name, and
 * another interface of the same name is not. */
struct nl_entry *nl_journal_find(struct nl_journal *j, const struct nl_knob *k, int ifindex);
/* A new zeroed entry, or NULL (out of memory, or too many). Invalidates older pointers. */
struct nl_entry *nl_journal_add(struct nl_journal *j);
void nl_journal_drop(struct nl_journal *j, size_t i);

/* True if netlab wrote the value found, according to the entry. With `at_once` the write has only
 * just happened, so a pending entry's value must be netlab's. */
int nl_entry_is_ours(const struct nl_entry *e, const struct nl_value *found, int at_once);

/* Reason why the journal may end before the changes that it records; NULL without one. */
const char *nl_journal_note(void);

/* Name the journal of this process's namespace and open its directory, if it is there. NL_OK or an error. */
int nl_journal_open(struct nl_journal *j, struct nl_err *err);
void nl_journal_close(struct nl_journal *j); /* also frees the entries */

/* Remove the journals of other boots, and the states beside them. */
void nl_journal_forget_boots(const struct nl_journal *j);

/* Read and parse; an absent file has no entries. 0, or -1 with errno as nl_journal_parse. */
int nl_journal_load(struct nl_journal *j);

/* Write all entries, or remove the file if there are none. 0, or -1 with errno and the file as it was. */
int nl_journal_save(const struct nl_journal *j);
