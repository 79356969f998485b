/* emulate_report: what an emulator did, gathered on the way and written as JSON. */
#ifndef NL_EMULATE_REPORT_H
#define NL_EMULATE_REPORT_H

#include "base/json.h"
#include "emulator/link.h"

enum { NL_LATENESS_BINS = 12, NL_EMULATE_SAMPLES = 16384 };

/* How much after its time each piece left. */
struct nl_lateness {
	uint64_t max_ns, late, bin[NL_LATENESS_BINS];
};

struct nl_emulate_sample {
	uint64_t t_ns, queue_B[2], queue_packets[2];
	uint64_t dropped[2]; /* packets so far, whatever the reason */
	uint64_t cpu_us;     /* of this process so far */
};

struct nl_emulate_report {
	uint64_t begun_ns, late_ns, sample_ns, next_sample_ns;
	uint64_t busy_max_ns; /* longest that the devices were not looked at while awake */
	uint64_t wake_ns;     /* what waking up takes on average, as learnt so far */
	struct nl_lateness lateness[2];
	struct nl_emulate_sample *sample; /* [NL_EMULATE_SAMPLES] */
	size_t samples;
	uint64_t cpu0_us[2], waited0_ns; /* this process at the beginning */
};

/* 0, or -1 with errno. */
int nl_emulate_report_begin(struct nl_emulate_report *r, uint64_t now_ns, uint64_t sample_ms,
			    uint64_t late_us);
void nl_emulate_report_free(struct nl_emulate_report *r);

/* Begin the samples and every maximum anew; counts go on. */
void nl_emulate_report_restart(struct nl_emulate_report *r, struct nl_link link[2],
			       uint64_t now_ns, uint64_t sample_ms);

void nl_emulate_report_left(struct nl_emulate_report *r, int link, uint64_t late_ns);
/* Take a sample if one is due. When there are too many, every other one is dropped and the
 * interval doubles. */
void nl_emulate_report_sample(struct nl_emulate_report *r, struct nl_link link[2], uint64_t now_ns);

/* The `emulation` event as one object. */
void nl_emulate_report_json(const struct nl_emulate_report *r, struct nl_link link[2],
			    uint64_t now_ns, int final, int with_samples, struct nl_json *j);

#endif
