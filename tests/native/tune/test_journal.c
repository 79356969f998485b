/* The journal's parser; fuzz_journal.c feeds it any bytes. */
#include "tune/journal.h"

#include "check.h"

#include <errno.h>

#define MTU "set knob=mtu interface=v0 "
#define RMEM "set knob=sysctl name=net.ipv4.tcp_rmem "

static struct nl_journal j = {.dir = -1};

static int parse(const char *text)
{
	return nl_journal_parse(&j, text, strlen(text));
}

static void free_entries(void)
{
	nl_journal_free(&j);
}

#define JOURNAL(function) TEST_WITH(function, NULL, free_entries)

static int has(size_t i, const char *kind, const char *name, const char *old, const char *wanted,
	       const char *readback)
{
	const struct nl_entry *e = &j.entry[i];

	return strcmp(e->knob.ops->kind, kind) == 0 && strcmp(e->knob.name, name) == 0 &&
	       strcmp(e->old, old) == 0 && strcmp(e->wanted, wanted) == 0 &&
	       strcmp(e->readback, readback) == 0;
}

/* True if netlab wrote this text, which is the exact value, too. */
static int is_ours(size_t i, const char *text)
{
	struct nl_value found = {.text = ""};

	memcpy(found.text, text, strlen(text) + 1);
	memcpy(found.exact, text, strlen(text) + 1);
	return nl_entry_is_ours(&j.entry[i], &found, 0);
}

JOURNAL(lines_are_entries_in_order)
{
	CHECK(parse(MTU "ifindex=3 old=1500 readback=9000\n" RMEM
			"old=1%202%203 wanted=4%205%206 readback=1%202%203\n") == 0 && j.count == 2);
	CHECK(has(0, "mtu", "", "1500", "", "9000") && strcmp(j.entry[0].knob.interface, "v0") == 0);
	CHECK(j.entry[0].written && !j.entry[0].pending && !is_ours(0, ""));
	CHECK(has(1, "sysctl", "net.ipv4.tcp_rmem", "1 2 3", "4 5 6", "1 2 3"));
	CHECK(j.entry[1].written && j.entry[1].pending && is_ours(1, "4 5 6"));
}

JOURNAL(any_text_is_a_value)
{
	CHECK(parse(MTU "old= wanted=%20%25=%3D%7e~ readback=%21\n") == 0);
	CHECK(has(0, "mtu", "", "", " %==~~", "!") && is_ours(0, " %==~~"));
}

TEST(an_invalid_line_is_refused)
{
	static const char *const bad[] = {
		"set knob=mtu interface=.. old=1 wanted=2\n",
		"set knob=sysctl name=kernel.core_pattern old=1 wanted=2\n",
		MTU "old=1\n",
		MTU "wanted=2\n",
		MTU "old=1 wanted=2 more=3\n",
		MTU "ifindex=0 old=1 wanted=2\n",
		RMEM "ifindex=1 old=1 wanted=2\n",
		MTU "old=3 readback=4\n", /* a second one */
		"done n=0\n",
		"\n",
		"torn",
		"\xff\n",
	};
	char text[200];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), MTU "old=1 wanted=2\n%s", bad[i]);
		CHECK(parse(text) == -1 && errno == EBADMSG && j.count == 0);
	}
}
