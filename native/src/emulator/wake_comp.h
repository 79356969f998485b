/* wake_comp: sleep until a due time, compensated for the wake-up latency.
 *
 * A sleeping CPU wakes late. The latency is measured at every sleep that timed out: sleeps end that
 * much earlier, and the rest of the wait is busy polling. An event that interrupts a sleep happened
 * about the mean latency before it is seen. */
#pragma once

#include <stdint.h>

enum {
	NL_WAKE_COMP_LONG_NS = 50 * 1000, /* shorter sleeps are not measured */
	NL_WAKE_COMP_WAKE_MAX_NS = 200 * 1000,
	NL_WAKE_COMP_STEP_NS = 100 * 1000, /* more than writing one frame and reading another */
};

struct nl_wake_comp {
	uint64_t begun_ns, until_ns; /* the last sleep; 0: none, or a short one */
	uint64_t due_ns; /* the event that the sleep and the busy polling wait for */
	uint64_t most_ns, mean_ns; /* usual maximum and mean of the wake-up latency */
};

void nl_wake_comp_init(struct nl_wake_comp *comp);

/* Length of the next sleep, for an event due at due_ns and a poll at poll_ns, which may be late; 0:
 * poll again at once. */
uint64_t nl_wake_comp_begin(struct nl_wake_comp *comp, uint64_t now_ns, uint64_t due_ns,
			    uint64_t poll_ns);
/* Call after the sleep, whether it timed out or was interrupted. */
void nl_wake_comp_end(struct nl_wake_comp *comp, uint64_t now_ns);
/* Estimated time of the interrupting event: now_ns or a little before. */
uint64_t nl_wake_comp_ended_by_ns(const struct nl_wake_comp *comp, uint64_t now_ns);
/* Arrival time of a packet found between two clock reads: the first, since other work of this
 * process hid the packet. The second if they are far apart: the process was preempted, and the
 * packet may have arrived meanwhile. */
uint64_t nl_wake_comp_found_by_ns(uint64_t before_ns, uint64_t after_ns);
