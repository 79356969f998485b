#include "io/sequence.h"

#include <stdlib.h>

/* The word of a number, and its bit there. */
static uint64_t *word_of(struct nl_sequence *s, uint64_t number, uint64_t *bit)
{
	*bit = UINT64_C(1) << (number % 64);
	return &s->seen[number % NL_SEQUENCE_WINDOW / 64];
}

static void count_lost(struct nl_sequence *s, uint64_t count)
{
	s->count.bursts += s->burst == 0;
	s->burst += count;
	if (s->burst > s->count.burst_max)
		s->count.burst_max = s->burst;
}

static void settle_until(struct nl_sequence *s, uint64_t end)
{
	uint64_t bit, *word;

	for (; s->settled < end && s->settled < s->next; s->settled++) {
		word = word_of(s, s->settled, &bit);
		if (*word & bit)
			s->burst = 0;
		else
			count_lost(s, 1);
		*word &= ~bit;
	}
	if (s->settled < end) { /* never in the window */
		count_lost(s, end - s->settled);
		s->settled = end;
	}
}

int nl_sequence_take(struct nl_sequence *s, uint64_t number)
{
	uint64_t bit, *word = word_of(s, number, &bit);
	int late = number < s->next;

	if (late ? number < s->settled : number - s->next > NL_SEQUENCE_JUMP) {
		s->count.invalid++;
		return 0;
	}
	if (late && (*word & bit)) {
		s->count.duplicates++;
		return 0;
	}
	if (!late && number >= NL_SEQUENCE_WINDOW)
		settle_until(s, number + 1 - NL_SEQUENCE_WINDOW);
	if (!late)
		s->next = number + 1;
	s->count.reordered += (uint64_t)late;
	s->count.received++;
	*word |= bit;
	return 1;
}

int nl_sequence_end(struct nl_sequence *s, uint64_t sent)
{
	if (s->next > sent)
		return -1;
	settle_until(s, sent);
	return 0;
}

void nl_jitter_take(struct nl_jitter *jitter, uint32_t arrived_ns, uint32_t sent_ns)
{
	uint32_t transit_ns = arrived_ns - sent_ns;
	double change_ns = (double)llabs((int64_t)(int32_t)(transit_ns - jitter->transit_ns));

	if (jitter->has_transit) {
		jitter->count++;
		jitter->ns += (change_ns - jitter->ns) / 16;
		jitter->sum_ns += jitter->ns;
	}
	jitter->transit_ns = transit_ns;
	jitter->has_transit = 1;
}

void nl_jitter_skip(struct nl_jitter *jitter)
{
	jitter->has_transit = 0;
}

uint64_t nl_jitter_ns(const struct nl_jitter *jitter)
{
	return jitter->count ? (uint64_t)(jitter->sum_ns / (double)jitter->count) : 0;
}
