#include "tune/tune_revert.h"

#include "net/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The state of the host takes the most: a directory for each level of /proc/sys, and a file. */
enum { SPARE_FILES = 12 };

/* One thread reverts at a time, and a child of fork has its own. */
static int spare[SPARE_FILES];
static int spares;

void nl_revert_reserve(void)
{
	while (spares < SPARE_FILES) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return;
		spare[spares++] = fd;
	}
}

void nl_revert_release(void)
{
	while (spares > 0)
		close(spare[--spares]);
}

const char *nl_reverted_word(enum nl_reverted status)
{
	static const char *const words[] = {"restored", "conflict", "absent", "failed"};

	return words[status];
}

void nl_revert_sum_add(struct nl_revert_sum *sum, const struct nl_revert_sum *more)
{
	for (int i = 0; i < NL_REVERTED_CODES; i++)
		sum->of[i] += more->of[i];
}

int nl_reverted_done(enum nl_reverted status)
{
	return status == NL_RESTORED || status == NL_CONFLICT;
}

/* The knob under the name that its interface has now; *successor: only its name is there, on another
 * interface. NL_RESTORED, or the reason why not. */
static enum nl_reverted find_entry_interface(const struct nl_entry *e, struct nl_knob *k, int *successor,
				       struct nl_err *why)
{
	char name[IFNAMSIZ] = "";
	int result;

	*k = e->knob;
	*successor = 0;
	if (!e->ifindex)
		return NL_RESTORED;
	result = nl_ifindex_name(e->ifindex, name);
	if (result == 0) {
		memcpy(k->interface, name, sizeof(k->interface));
		return NL_RESTORED;
	}
	if (result != -ENODEV) {
		nl_knob_fail_errno(why, "the interface cannot be looked up", -result);
		return NL_FAILED;
	}
	/* A card that came back from another namespace may have another index, and netlab's value. */
	*successor = nl_ifindex_of(k->interface) > 0;
	if (*successor)
		return NL_RESTORED;
	return nl_knob_fail(why, NL_ABSENT, "no such interface: %s (index %d); it is reverted when it is back",
			    k->interface, e->ifindex);
}

static enum nl_reverted reverted_code(enum nl_knob_code code)
{
	return code == NL_KNOB_GONE || code == NL_KNOB_ABSENT ? NL_ABSENT : NL_FAILED;
}

static const char renewed[] = "another one has its name since; left as found";
static const char changed[] = "another process has changed it since; left as found";

enum nl_reverted nl_revert_entry(const struct nl_entry *e, int at_once, struct nl_value *found,
				 struct nl_err *why)
{
	enum nl_reverted status;
	enum nl_knob_code code;
	struct nl_value after;
	struct nl_err reason;
	struct nl_knob k;
	int successor;

	nl_revert_release();
	why->message[0] = '\0';
	memset(found, 0, sizeof(*found));
	status = find_entry_interface(e, &k, &successor, why);
	if (status != NL_RESTORED)
		return status;
	code = nl_knob_read(&k, found, why);
	if (code != NL_KNOB_OK) {
		memset(found, 0, sizeof(*found));
		if (code == NL_KNOB_FAILED ||
		    !(successor || (k.ops == &nl_knob_ops_irq && code == NL_KNOB_ABSENT)))
			return reverted_code(code);
		if (successor) /* without the setting it never had netlab's value */
			nl_fail(why, NL_REFUSED, "%s", renewed);
		return NL_CONFLICT;
	}
	why->message[0] = '\0';
	if (strcmp(found->exact, e->old) == 0)
		return NL_RESTORED;
	if (!nl_entry_is_ours(e, found, at_once && !successor))
		return nl_knob_fail(why, NL_CONFLICT, "%s", successor ? renewed : changed);
	status = reverted_code(nl_knob_restore(&k, e->old, why));
	code = nl_knob_read(&k, &after, why);
	if (code == NL_KNOB_OK && strcmp(after.exact, e->old) == 0) {
		why->message[0] = '\0';
		return NL_RESTORED;
	}
	reason = *why;
	return nl_knob_fail(why, status, "its old value is %.200s: %s", e->old,
			    reason.message[0] ? reason.message : "that was written, but reads back differently");
}

struct nl_revert_sum nl_revert_all(struct nl_journal *j, size_t first, int at_once, nl_reverted_fn *report,
				   void *context)
{
	struct nl_revert_sum sum = {{0}};

	for (int decisive = 1; decisive >= 0; decisive--)
		for (size_t i = j->count; i-- > first;) {
			struct nl_entry e = j->entry[i];
			enum nl_reverted status;
			struct nl_value found;
			struct nl_err why;

			if ((e.knob.ops == &nl_knob_ops_sysctl &&
			     strcmp(e.knob.name, "net.core.default_qdisc") == 0) != decisive)
				continue;
			status = nl_revert_entry(&e, at_once, &found, &why);
			sum.of[status]++;
			if (nl_reverted_done(status)) {
				nl_journal_drop(j, i);
				nl_journal_save(j);
			}
			if (report)
				report(context, &e.knob, status, found.text,
				       why.message[0] ? why.message : NULL);
		}
	nl_revert_reserve();
	return sum;
}
