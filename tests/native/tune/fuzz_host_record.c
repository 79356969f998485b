/* The record of a host's state beside the journal. */
#include "fuzz.h"
#include "tune/host_restore.h"

static void check_state(const struct nl_state *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct nl_state_item *item = &s->item[i];

		want(item->kind < NL_STATE_KINDS && strlen(item->key) < 65536 && strlen(item->value) < 65536);
		want(memchr(item->interface, 0, sizeof(item->interface)) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_state before, after;

	if (nl_host_record_parse((const char *)data, len, &before, &after) == 0) {
		check_state(&before);
		check_state(&after);
	}
	nl_state_free(&before);
	nl_state_free(&after);
	return 0;
}
