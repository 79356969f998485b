#include "fuzz.h"
#include "io/sequence.h"
#include "net/wire.h"

/* The first byte of the input is the length of each datagram in it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t token[NL_TOKEN_B] = "0123456789abcde";
	static struct nl_sequence sequence;
	uint8_t again[NL_DATAGRAM_B];
	struct nl_datagram datagram;
	uint64_t taken = 0;

	sequence = (struct nl_sequence){0};
	for (size_t each = len ? data[0] : 0, at = 1; each && at < len; at += each) {
		size_t most = len - at < each ? len - at : each;

		if (nl_datagram_parse(data + at, most, token, 7, &datagram))
			continue;
		/* an accepted datagram begins as the one that would be written */
		nl_datagram_write(again, token, 7, &datagram);
		want(most >= NL_DATAGRAM_B && memcmp(again, data + at, NL_DATAGRAM_B) == 0);
		nl_sequence_take(&sequence, datagram.sequence);
		taken++;
	}
	want(sequence.count.received + sequence.count.duplicates + sequence.count.invalid == taken);
	want(sequence.count.received <= sequence.next && sequence.count.reordered <= sequence.count.received);
	want(nl_sequence_end(&sequence, sequence.next) == 0);
	/* losses are those numbers that were not received */
	want((sequence.next == sequence.count.received) == (sequence.count.bursts == 0));
	want(sequence.count.burst_max <= sequence.next - sequence.count.received);
	return 0;
}
