/* Print the journals on standard input: the parser under a sanitizer. */
#include "tune/journal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	static char text[1 << 20];
	struct nl_journal j = {.dir = -1};
	uint32_t len;

	/* Many journals in one process: a length in native byte order, then the bytes. */
	while (fread(&len, sizeof(len), 1, stdin) == 1) {
		if (len > sizeof(text) || fread(text, 1, len, stdin) != len)
			return 2;
		if (nl_journal_parse(&j, text, len) < 0) {
			if (errno != EBADMSG)
				return 1;
			puts("bad");
		}
		for (size_t i = 0; i < j.count; i++) {
			const struct nl_entry *e = &j.entry[i];
			struct nl_value found;

			snprintf(found.text, sizeof(found.text), "%s", e->wanted);
			snprintf(found.exact, sizeof(found.exact), "%s", e->wanted);
			printf("%s|%s|%s|%s|%s|%s|%d%d|%d\n", e->knob.ops->kind,
			       e->knob.name, e->knob.interface, e->old, e->wanted, e->readback,
			       e->written, e->pending, nl_entry_is_ours(e, &found, 0));
		}
		puts(".");
		fflush(stdout);
		nl_journal_free(&j);
	}
	return 0;
}
