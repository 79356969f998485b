#include "base/dealt.h"

#include "base/request.h"

#include <string.h>

/* The item at a place of the list, and for how many streams it stands. */
static const char *item_at(const char *at, uint64_t *streams)
{
	const char *digits = at;

	if (!nl_decimal_take(&digits, at + strlen(at), streams) && *digits == '*')
		return digits + 1;
	*streams = 1;
	return at;
}

uint64_t nl_dealt_streams(const char *list)
{
	uint64_t sum = 0, streams;

	for (const char *at = list;; at = strchr(at, ',') + 1) {
		item_at(at, &streams);
		sum += streams;
		if (!strchr(at, ','))
			return sum;
	}
}

const char *nl_dealt_item(const char *list, uint64_t stream, size_t *len)
{
	uint64_t skip = stream % nl_dealt_streams(list), streams;
	const char *item = item_at(list, &streams);

	for (; skip >= streams; item = item_at(strchr(item, ',') + 1, &streams))
		skip -= streams;
	*len = strcspn(item, ",");
	return item;
}

uint64_t nl_dealt_number(const char *list, uint64_t stream)
{
	size_t len;
	const char *item = nl_dealt_item(list, stream, &len);
	uint64_t number = 0;

	nl_decimal_take(&item, item + len, &number);
	return number;
}

/* The item at a place of the list as a number, and for how many streams it stands. */
static uint64_t number_at(const char *at, uint64_t *streams)
{
	const char *item = item_at(at, streams);
	uint64_t number = 0;

	nl_decimal_take(&item, item + strcspn(item, ","), &number);
	return number;
}

uint64_t nl_dealt_count(const char *list)
{
	uint64_t sum = 0, streams;

	if (!*list)
		return 1;
	for (const char *at = list;; at = strchr(at, ',') + 1) {
		if (number_at(at, &streams))
			sum += streams;
		if (!strchr(at, ','))
			return sum;
	}
}

uint64_t nl_dealt_nth(const char *list, uint64_t k)
{
	uint64_t of_turn = nl_dealt_count(list), stream, streams;

	if (!*list)
		return k;
	stream = k / of_turn * nl_dealt_streams(list);
	k %= of_turn;
	for (const char *at = list;; at = strchr(at, ',') + 1) {
		if (number_at(at, &streams)) {
			if (k < streams)
				return stream + k;
			k -= streams;
		}
		stream += streams;
	}
}
