/* The journal's parser. The first byte selects: `r` raw bytes, anything else lines that get their
 * checksums here, which no fuzzer would find. */
#include "base/request.h"
#include "tune/journal.h"
#include "tune/journal_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Each line of data with its checksum. The length of what is written to `out`. */
static size_t seal(const char *data, size_t len, char *out)
{
	size_t at = 0, size = 0;

	while (at < len) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t line = end ? (size_t)(end - data) - at : len - at;

		snprintf(out + size, 10, "%08x ", nl_record_crc(data + at, line));
		memcpy(out + size + 9, data + at, line);
		size += 9 + line;
		if (end)
			out[size++] = '\n';
		at += line + (end != NULL);
	}
	return size;
}

static void check_entry(const struct nl_journal *j, size_t i)
{
	const struct nl_entry *e = &j->entry[i];
	struct nl_value found = {.text = ""};
	struct nl_knob again;

	if (strlen(e->old) > NL_KNOB_VALUE_MAX || strlen(e->wanted) > NL_KNOB_VALUE_MAX ||
	    strlen(e->readback) > NL_KNOB_VALUE_MAX || e->n >= NL_JOURNAL_ENTRIES_MAX ||
	    e->ifindex < 0 || (!e->written && !e->pending))
		abort();
	/* a knob that a journal names is one that a request may name */
	if (nl_knob_parse(&again, nl_knob_ops_of(&e->knob)->kind, e->knob.name[0] ? e->knob.name : NULL,
			  e->knob.interface[0] ? e->knob.interface : NULL, NULL) ||
	    !nl_knob_same(&again, &e->knob))
		abort();
	for (size_t other = 0; other < i; other++)
		if (j->entry[other].n == e->n)
			abort();
	/* the exact value that was read back is netlab's own, always */
	memcpy(found.exact, e->readback, sizeof(e->readback));
	if (e->written && !nl_entry_is_ours(e, &found, 0))
		abort();
	memcpy(found.text, e->wanted, sizeof(e->wanted));
	if (e->pending && !nl_entry_is_ours(e, &found, 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data + 1;
	struct nl_journal j, shorter;
	char *sealed = NULL;
	size_t size;

	if (len < 1)
		return 0;
	size = len - 1;
	if (data[0] != 'r') {
		sealed = malloc(size * 10 + 10);
		if (!sealed)
			return 0;
		size = seal(text, size, sealed);
		text = sealed;
	}
	if (nl_journal_parse(&j, text, size) == 0) {
		if (j.count > NL_JOURNAL_ENTRIES_MAX || strlen(j.owner) > NL_JOURNAL_OWNER_MAX)
			abort();
		for (size_t i = 0; i < j.count; i++)
			check_entry(&j, i);
		/* a torn end forgets no knob of the lines before it */
		if (size > 0 && nl_journal_parse(&shorter, text, size - 1) == 0) {
			if (shorter.count > j.count || shorter.bad_lines > j.bad_lines)
				abort();
			nl_journal_free(&shorter);
		}
		nl_journal_free(&j);
	}
	free(sealed);
	return 0;
}
