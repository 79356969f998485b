/* The journal's parser. */
#include "fuzz.h"
#include "tune/journal.h"

static void check_entry(struct nl_journal *j, size_t i)
{
	const struct nl_entry *e = &j->entry[i];
	struct nl_value found = {.text = ""};
	struct nl_knob again;

	want(strlen(e->old) <= NL_KNOB_VALUE_MAX && strlen(e->wanted) <= NL_KNOB_VALUE_MAX);
	want(strlen(e->readback) <= NL_KNOB_VALUE_MAX && e->ifindex >= 0 && (e->written || e->pending));
	/* a knob that a journal names is one that a request may name */
	want(nl_knob_parse(&again, e->knob.ops->kind, e->knob.name[0] ? e->knob.name : NULL,
			   e->knob.interface[0] ? e->knob.interface : NULL, NULL) == NL_OK);
	want(nl_knob_same(&again, &e->knob) && nl_journal_find(j, &e->knob, e->ifindex) == e);
	/* the exact value that was read back is netlab's own, always */
	memcpy(found.exact, e->readback, sizeof(e->readback));
	want(!e->written || nl_entry_is_ours(e, &found, 0));
	memcpy(found.text, e->wanted, sizeof(e->wanted));
	want(!e->pending || nl_entry_is_ours(e, &found, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_journal j = {.dir = -1};

	if (nl_journal_parse(&j, (const char *)data, len) == 0) {
		want(j.count <= NL_JOURNAL_ENTRIES_MAX);
		for (size_t i = 0; i < j.count; i++)
			check_entry(&j, i);
		nl_journal_free(&j);
	}
	return 0;
}
