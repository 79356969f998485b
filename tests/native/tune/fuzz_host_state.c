/* The items that the state of a host has of a message of rtnetlink, or of a file: a byte for the kind, then the
 * message after its header, or the file's path, a NUL and its text. */
#include "base/clock.h"
#include "fuzz.h"
#include "tune/host_state.h"

#include <linux/rtnetlink.h>
#include <stdio.h>

static void check_item(const struct nl_state *s, const struct nl_state_item *item)
{
	_Alignas(8) uint8_t message[NL_STATE_MESSAGE_MAX];
	struct nl_state again = {0};
	size_t len;

	want(memchr(item->interface, 0, sizeof(item->interface)) != NULL);
	want(nl_state_find(s, item->key) != NULL);
	want(nl_state_has_interface(s, s, item->interface) >= 0);
	if (item->kind != NL_STATE_ADDRESS && item->kind != NL_STATE_NEIGHBOUR && item->kind != NL_STATE_ROUTE)
		return;
	len = nl_state_compose(item, RTM_NEWADDR, 0, nl_now_ns(), message);
	want(len <= sizeof(message));
	if (len == 0 || item->kind == NL_STATE_ROUTE)
		return;
	/* what is restored is what was there */
	want(nl_state_parse(&again, item->kind, message, len) == 0);
	want(again.count == 1 && strcmp(again.item[0].key, item->key) == 0);
	want(strcmp(again.item[0].value, item->value) == 0);
	nl_state_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t message[NLMSG_HDRLEN + 65536];
	static char text[65536];
	struct nl_state s = {0};
	enum nl_state_kind kind;
	size_t split;

	if (len < 1 || len >= sizeof(text))
		return 0;
	kind = (enum nl_state_kind)(data[0] % NL_STATE_KINDS);
	if (kind == NL_STATE_SYSCTL) {
		memcpy(text, data + 1, len - 1);
		text[len - 1] = '\0';
		split = strlen(text);
		nl_state_parse_sysctl(&s, text, split + 1 < len ? text + split + 1 : "");
	} else {
		memcpy(message + NLMSG_HDRLEN, data + 1, len - 1);
		split = nl_state_parse(&s, kind, message, NLMSG_HDRLEN + len - 1) != 0;
	}
	nl_state_sort(&s);
	/* a kind of which an item could not be read is not compared */
	for (size_t i = 0; i < s.count && (kind == NL_STATE_SYSCTL || !split); i++)
		check_item(&s, &s.item[i]);
	nl_state_free(&s);
	return 0;
}
