/* knob: one setting of this host that can be read, written and restored.
 *
 * Stateless: every call opens what it needs and closes it. Thread-safe. */
#pragma once

#include "base/error.h"

enum {
	NL_KNOB_NAME_MAX = 200,
	NL_KNOB_INTERFACE_MAX = 15, /* IFNAMSIZ without its NUL */
	NL_KNOB_VALUE_MAX = 800,
};

enum nl_knob_code {
	NL_KNOB_OK = 0,
	NL_KNOB_ABSENT,      /* no such setting in this kernel or namespace */
	NL_KNOB_UNSUPPORTED, /* the device lacks the setting, or it cannot be read */
	NL_KNOB_REFUSED,     /* the kernel rejected the value or this user */
	NL_KNOB_GONE,        /* no such interface */
	NL_KNOB_FAILED,      /* out of files or memory: the state of the knob is unknown */
};

enum nl_knob_access {
	NL_KNOB_READ_ONLY = 0, /* for every user here */
	NL_KNOB_WRITABLE,
	NL_KNOB_NO_PRIVILEGE, /* for this user */
};

struct nl_knob {
	const struct nl_knob_ops *ops;             /* of its kind */
	char name[NL_KNOB_NAME_MAX + 1];           /* "" for mtu, txqueuelen, qdisc */
	char interface[NL_KNOB_INTERFACE_MAX + 1]; /* "" for sysctl, module and governor */
};

/* `text` is the value for users, blanks folded. `exact` restores the knob bit for bit: the same
 * text, or for offloads the requested bits. */
struct nl_value {
	char text[NL_KNOB_VALUE_MAX + 1];
	char exact[NL_KNOB_VALUE_MAX + 1];
	enum nl_knob_access access; /* whether a write can succeed */
	uint32_t most;              /* what the device takes at most; 0 if it does not say */
};

/* The operations of a kind. */
struct nl_knob_ops {
	const char *kind;
	const char *const *names; /* NULL-terminated; NULL: free names, or none */
	int (*is_name)(const char *name); /* of free names; NULL: those above, or none */
	const char *expected;             /* a free name, for messages */
	int has_interface;
	int has_members; /* the name is that of a CPU or interrupt: see knob_file.h */
	const void *detail; /* what one implementation of several kinds needs of this one */
	/* out->access is READ_ONLY before; unless it is WRITABLE, *why has the reason. */
	enum nl_knob_code (*read)(const struct nl_knob *k, struct nl_value *out, struct nl_err *why);
	enum nl_knob_code (*write)(const struct nl_knob *k, const char *text, struct nl_err *why);
	/* Write back an earlier value. Applies no checks of its own: the kernel decides. NULL: as write. */
	enum nl_knob_code (*restore)(const struct nl_knob *k, const char *exact, struct nl_err *why);
	/* Probe by writing the present value again: a value that is refused could not be restored. */
	int restore_probe;
	/* After an interrupted write: true if `found` is partly `before` (exact) and partly `wanted`
	 * (text). NULL: a write is whole. */
	int (*is_mixture)(const struct nl_value *found, const char *before, const char *wanted);
	/* OK if this host can have the value, for a plan. NULL: only a write tells. */
	enum nl_knob_code (*can)(const struct nl_knob *k, const char *text, struct nl_err *why);
	/* The form of a value: one of two words, or a decimal number up to `most`; without both, text that
	 * write() parses. */
	const char *const *words;
	uint32_t least, most;
};

extern const struct nl_knob_ops nl_knob_ops_sysctl, nl_knob_ops_mtu, nl_knob_ops_txqueuelen,
	nl_knob_ops_ring, nl_knob_ops_coalesce, nl_knob_ops_feature, nl_knob_ops_defer,
	nl_knob_ops_adaptive, nl_knob_ops_pause, nl_knob_ops_channels, nl_knob_ops_napi,
	nl_knob_ops_offload, nl_knob_ops_qdisc, nl_knob_ops_module, nl_knob_ops_governor,
	nl_knob_ops_irq, nl_knob_ops_pci;

/* Validate kind, name and interface (name and interface may be NULL) and fill *out. NL_OK, or
 * NL_BAD_REQUEST with the key at fault. Checks the form only; opens nothing. */
int nl_knob_parse(struct nl_knob *out, const char *kind, const char *name, const char *interface,
		  struct nl_err *err);

/* Validate the form of a value. NL_OK or NL_BAD_REQUEST. */
int nl_knob_check_value(const struct nl_knob *k, const char *text, struct nl_err *err);

/* The value and access of a knob, or why not. */
enum nl_knob_code nl_knob_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why);
enum nl_knob_code nl_knob_restore(const struct nl_knob *k, const char *exact, struct nl_err *why);

/* True if a write may change more than the knob's own value, see knob.c. */
int nl_knob_has_effects(const struct nl_knob *k);

/* The place of a knob's name in the names of its kind. */
size_t nl_knob_name_index(const struct nl_knob *k);
int nl_knob_same(const struct nl_knob *a, const struct nl_knob *b);

/* Fold every run of blanks to one blank, and remove those at the ends; in place. */
void nl_knob_fold(char *text);

/* True if this process is in the network namespace of the machine's start. */
int nl_knob_in_first_namespace(void);
/* True if this process has CAP_NET_ADMIN over its own user namespace. */
int nl_knob_may_write(void);
/* WRITABLE, or NO_PRIVILEGE with *why filled. */
enum nl_knob_access nl_knob_privilege(struct nl_err *why);

extern const char *const nl_knob_switch[]; /* the words on and off */

/* Fill text and exact alike. */
void nl_knob_put_text(struct nl_value *out, const char *text);
void nl_knob_put_number(struct nl_value *out, uint32_t value);

/* Fill *why for an interface that is not there: NL_KNOB_GONE. */
enum nl_knob_code nl_knob_gone(const struct nl_knob *k, struct nl_err *why);
/* The same for a failed read: NL_KNOB_FAILED after a shortage, else NL_KNOB_UNSUPPORTED. */
enum nl_knob_code nl_knob_unreadable(struct nl_err *why, const char *what, int errnum);

/* The code of a failed SIOCETHTOOL; `lacks` says what a device without it has not. */
enum nl_knob_code nl_knob_ethtool_failed(const struct nl_knob *k, const char *call,
					 const char *lacks, int errnum, struct nl_err *why);

/* Fill *why and return the result, a code of any kind. */
#define nl_knob_fail(why, result, ...) (nl_fail(why, NL_REFUSED, __VA_ARGS__), (result))

/* True if errnum is a shortage of files or memory: the state of the knob is unknown. */
int nl_knob_is_shortage(int errnum);

/* Fill *why with "what: strerror(errnum)"; returns the code that errnum means for a write. */
enum nl_knob_code nl_knob_fail_errno(struct nl_err *why, const char *what, int errnum);
