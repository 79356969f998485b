/* emulate_report: statistics of an emulator, collected while it runs and written as JSON. */
#pragma once

#include "base/json.h"
#include "emulator/emulate_opts.h"
#include "emulator/link.h"

enum { NL_LATENESS_BINS = 12, NL_EMULATE_SAMPLES = 16384 };

/* Histogram of how late each piece was sent. */
struct nl_lateness {
	uint64_t max_ns, late, bin[NL_LATENESS_BINS];
};

struct nl_emulate_sample {
	uint64_t t_ns, queue_B[NL_LINKS], queue_packets[NL_LINKS];
	uint64_t dropped[NL_LINKS]; /* packets so far, all reasons */
	uint64_t cpu_us;     /* of this process so far */
};

struct nl_emulate_report {
	int links; /* in use */
	uint64_t begun_ns, late_ns, sample_ns, next_sample_ns;
	uint64_t busy_max_ns; /* longest time between two polls of the devices while awake */
	uint64_t wake_ns;     /* mean wake-up latency, as measured so far */
	struct nl_lateness lateness[NL_LINKS];
	size_t samples;
	uint64_t cpu0_us[2], waited0_ns; /* of this process, at the start */
	struct nl_emulate_sample sample[NL_EMULATE_SAMPLES];
};

/* Begin a report of 2 links, or of NL_LINKS, whose memory is zero. */
void nl_emulate_report_begin(struct nl_emulate_report *r, int links, uint64_t now_ns, uint64_t sample_ms,
			     uint64_t late_us);

/* Restart the samples and every maximum; counts continue. */
void nl_emulate_report_restart(struct nl_emulate_report *r, struct nl_link link[NL_LINKS],
			       uint64_t now_ns, uint64_t sample_ms);

void nl_emulate_report_left(struct nl_emulate_report *r, int link, uint64_t late_ns);
/* Take a sample if one is due. When the array is full, every other sample is dropped and the
 * interval doubles. */
void nl_emulate_report_sample(struct nl_emulate_report *r, struct nl_link link[NL_LINKS], uint64_t now_ns);

/* Write the `emulation` event. */
void nl_emulate_report_json(const struct nl_emulate_report *r, struct nl_link link[NL_LINKS],
			    uint64_t now_ns, int final, int with_samples, struct nl_json *j);
