/* comp: sleeping before something is due, without being late for having slept.
 *
 * A processor that slept takes its time to wake. How long is learnt from every sleep that ran
 * out: the last stretch before a due time is spent awake, and what ended a sleep before its time
 * came, by as much, before it was seen. */
#ifndef NL_WAKE_COMP_H
#define NL_WAKE_COMP_H

#include <stdint.h>

enum {
	NL_WAKE_COMP_LONG_NS = 50 * 1000, /* a shorter sleep is not worth the name */
	NL_WAKE_COMP_WAKE_MAX_NS = 200 * 1000,
	NL_WAKE_COMP_STEP_NS = 100 * 1000, /* writing one frame and reading another take less */
};

struct nl_wake_comp {
	uint64_t begun_ns, until_ns; /* the last sleep; 0: there was none worth the name */
	uint64_t due_ns; /* what was slept for, and is now awaited awake */
	uint64_t most_ns, mean_ns; /* what most sleeps took longer than asked, and on average */
};

void nl_wake_comp_init(struct nl_wake_comp *comp);

/* How long to sleep now, for something due at due_ns and a look around at look_ns, which may be
 * late; 0 to look again at once. */
uint64_t nl_wake_comp_begin(struct nl_wake_comp *comp, uint64_t now_ns, uint64_t due_ns, uint64_t look_ns);
/* The sleep that nl_wake_comp_begin asked for is over, by itself or because something came. */
void nl_wake_comp_end(struct nl_wake_comp *comp, uint64_t now_ns);
/* When that something came, as far as can be told: now_ns or a little before. */
uint64_t nl_wake_comp_ended_by_ns(const struct nl_wake_comp *comp, uint64_t now_ns);
/* When came what was found between two looks at the clock: by the first, as other work of this
 * process hid it since. Not so if they are far apart: others ran, and it may have come meanwhile. */
uint64_t nl_wake_comp_found_by_ns(uint64_t before_ns, uint64_t after_ns);

#endif
