#include "tune/tune_revert.h"

#include "net/ifindex.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A knob of sysfs takes the most: two directories, a filesystem, a mount, a file. */
enum { SPARE_FILES = 6 };

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

void nl_revert_reserve_child(void)
{
	spares = 0;
	nl_revert_reserve();
}

static void release_spare(void)
{
	while (spares > 0)
		close(spare[--spares]);
}

const char *nl_reverted_word(enum nl_reverted status)
{
	static const char *const words[] = {"restored", "conflict", "absent", "failed"};

	return words[status];
}

/* The knob under the name that its interface has now. NL_RESTORED, or the reason why not. */
static enum nl_reverted find_interface(const struct nl_entry *e, struct nl_knob *k,
				       struct nl_err *why)
{
	char name[IFNAMSIZ] = "";
	int result;

	*k = e->knob;
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
	/* A card that came back from another namespace, or whose driver was loaded again, may have
	 * another index. Its value shows in nl_revert_entry whether it is the same one. */
	if (nl_ifindex_of(k->interface) > 0)
		return NL_RESTORED;
	nl_fail(why, NL_REFUSED, "no such interface: %s (index %d); it is reverted when it is back",
		k->interface, e->ifindex);
	return NL_ABSENT;
}

/* True if the entry's interface is there under its index, or has none. */
static int is_same_interface(const struct nl_entry *e)
{
	char name[IFNAMSIZ];

	return !e->ifindex || nl_ifindex_name(e->ifindex, name) == 0;
}

static enum nl_reverted reverted_code(enum nl_knob_code code)
{
	return code == NL_KNOB_GONE || code == NL_KNOB_ABSENT ? NL_ABSENT : NL_FAILED;
}

enum nl_reverted nl_revert_entry(const struct nl_entry *e, int at_once, struct nl_value *found,
				 struct nl_err *why)
{
	const struct nl_knob_ops *ops = nl_knob_ops_of(&e->knob);
	enum nl_knob_access access;
	enum nl_reverted status;
	enum nl_knob_code code;
	struct nl_value after;
	struct nl_err reason;
	struct nl_knob k;
	int ours;

	release_spare();
	why->message[0] = '\0';
	memset(found, 0, sizeof(*found));
	status = find_interface(e, &k, why);
	if (status != NL_RESTORED)
		return status;
	code = ops->read(&k, found, &access, why);
	if (code != NL_KNOB_OK) {
		memset(found, 0, sizeof(*found));
		return reverted_code(code);
	}
	why->message[0] = '\0';
	ours = nl_entry_is_ours(e, found, at_once);
	/* The original may be in another namespace: only netlab's own value proves that it is this one. */
	if (!ours && !is_same_interface(e)) {
		nl_fail(why, NL_REFUSED, "interface %s (index %d) is gone, and another one has its "
			"name; it is reverted when it is back", e->knob.interface, e->ifindex);
		return NL_ABSENT;
	}
	if (strcmp(found->exact, e->old) == 0)
		return NL_RESTORED;
	if (!ours) {
		nl_fail(why, NL_REFUSED, "another process has changed it since; left as found");
		return NL_CONFLICT;
	}
	status = reverted_code(ops->restore(&k, e->old, why));
	code = ops->read(&k, &after, &access, why);
	if (code == NL_KNOB_OK && strcmp(after.exact, e->old) == 0) {
		why->message[0] = '\0';
		return NL_RESTORED;
	}
	reason = *why;
	nl_fail(why, NL_REFUSED, "its old value is %.200s: %s", e->old,
		reason.message[0] ? reason.message : "that was written, but reads back differently");
	return status;
}

struct nl_revert_sum nl_revert_all(struct nl_journal *j, int fd, int at_once,
				   nl_reverted_fn *report, void *context)
{
	struct nl_revert_sum sum = {0, 0, 0, 0};

	for (size_t i = j->count; i-- > 0;) {
		struct nl_entry *e = &j->entry[i];
		enum nl_reverted status;
		struct nl_value found;
		struct nl_err why;

		if (e->done)
			continue;
		status = nl_revert_entry(e, at_once, &found, &why);
		if (status == NL_FAILED) {
			sum.failed++;
		} else if (status == NL_ABSENT) {
			sum.absent++;
		} else {
			e->done = 1;
			nl_journal_done(fd, e, nl_reverted_word(status));
			if (status == NL_RESTORED)
				sum.restored++;
			else
				sum.conflicts++;
		}
		if (report)
			report(context, &e->knob, status, found.text,
			       why.message[0] ? why.message : NULL);
	}
	nl_revert_reserve();
	return sum;
}

int nl_revert_complete(const struct nl_journal *j, const struct nl_revert_sum *sum)
{
	return sum->failed == 0 && sum->absent == 0 && j->bad_lines == 0 && j->has_open;
}
