/* schedule: how many datagrams of a stream are due, at one rate, also after its gen had no CPU.
 *
 * A gen that comes late by more than NL_STALL_NS catches up at NL_CATCH_UP_PERCENT of its rate, as all at once
 * would overflow buffers. What is due for longer than NL_CATCH_UP_NS is skipped. */
#pragma once

#include <stdint.h>

enum {
	NL_TURN_NS = 50 * 1000, /* between two turns at least: a wake-up costs as much as many datagrams */
	NL_STALL_NS = 500 * 1000,
	NL_CATCH_UP_NS = 10 * 1000 * 1000,
	NL_CATCH_UP_PERCENT = 125,
};

struct nl_schedule {
	double per_ns;     /* datagrams that become due */
	uint64_t ahead_ns; /* how much earlier, for a kernel that paces them */
	uint64_t most;     /* of NL_CATCH_UP_NS */
	uint64_t begin_ns; /* 0: not yet */
	uint64_t turn_ns, next_ns; /* times of this turn and of the next one */
	uint64_t due, late; /* by now; those held back for later turns */
};

struct nl_schedule nl_schedule_of(double per_s, uint64_t ahead_ns);

/* Set what is due at the time of a turn, and when the next one is; the number of datagrams to skip, part of `due`. */
uint64_t nl_schedule_turn(struct nl_schedule *schedule, uint64_t now);
