#include "check.h"
#include "io/stream.h"

static struct nl_stream *stream;

static void open_stream(void)
{
	stream = aligned_alloc(NL_CACHE_LINE_B, sizeof(*stream));
	CHECK(stream != NULL);
	memset(stream, 0, sizeof(*stream));
	stream->zc_pending = calloc(1, sizeof(*stream->zc_pending));
	CHECK(stream->zc_pending != NULL);
}

static void close_stream(void)
{
	free(stream->zc_pending);
	free(stream);
}

#define STREAM(function) TEST_WITH(function, open_stream, close_stream)

STREAM(completions_count_once_in_any_order)
{
	uint32_t number[3];

	for (uint32_t i = 0; i < 3; i++) {
		number[i] = nl_zc_pending_begin(stream);
		nl_zc_pending_sent(stream, number[i], 100 + i);
	}
	nl_zc_pending_done(stream, number[2], 1);
	CHECK(nl_zc_pending_any(stream) && stream->completed_bytes == 102 && stream->copied_bytes == 102);
	nl_zc_pending_done(stream, number[0], 0);
	nl_zc_pending_done(stream, number[0], 1); /* a duplicate */
	nl_zc_pending_done(stream, 77, 1);        /* never sent */
	CHECK(stream->completed_bytes == 202 && stream->copied_bytes == 102);
	nl_zc_pending_done(stream, number[1], 0);
	CHECK(!nl_zc_pending_any(stream) && stream->completed_bytes == 303);
}

STREAM(numbers_wrap_and_slots_are_bounded)
{
	uint64_t sent = 0;

	stream->zc_pending->oldest = stream->zc_pending->next = UINT32_MAX - 5;
	for (int round = 0; round < 3; round++) {
		uint32_t first = stream->zc_pending->next;

		while (!nl_zc_pending_full(stream)) {
			nl_zc_pending_sent(stream, nl_zc_pending_begin(stream), 7);
			sent += 7;
		}
		CHECK(stream->zc_pending->next - first == NL_ZC_PENDING_MAX);
		for (uint32_t i = 0; i < NL_ZC_PENDING_MAX; i++)
			nl_zc_pending_done(stream, first + i, round % 2);
		CHECK(!nl_zc_pending_any(stream));
	}
	CHECK(stream->completed_bytes == sent && stream->copied_bytes == sent / 3);
}

STREAM(an_empty_send_completes)
{
	stream->zc_pending->oldest = stream->zc_pending->next = 9;
	nl_zc_pending_done(stream, nl_zc_pending_begin(stream), 1);
	CHECK(!nl_zc_pending_any(stream) && stream->completed_bytes == 0);
}
