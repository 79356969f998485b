/* tune_cmd: state and answers of `gensink tune`, shared by its answers, requests and process.
 *
 * One thread. An answer is one line on standard output. When the output loses its reader,
 * `output_lost` is set and later answers are dropped. */
#ifndef NL_TUNE_CMD_H
#define NL_TUNE_CMD_H

#include "base/serve.h"
#include "tune/tune_session.h"

struct tune {
	struct nl_serve serve;
	struct nl_session session;
	uint64_t hold_ns;
	struct nl_json json;
	int output_lost;
	int failed; /* the exit code: an error other than bad_request, or a knob not restored */
};

/* -- answers: tune_answers.c -- */

/* Begin an answer; add keys, then call nl_tune_finish. The writer belongs to the tune. */
struct nl_json *nl_tune_event(struct tune *t, const char *name);
void nl_tune_finish(struct tune *t);

/* The answer_error of nl_serve; context is the tune. */
void nl_tune_send_error(void *context, const char *run, const struct nl_err *err);
void nl_tune_knob_keys(struct nl_json *j, const struct nl_knob *k);

/* An nl_reverted_fn; context is the tune. */
void nl_tune_send_reverted(void *context, const struct nl_knob *k, enum nl_reverted status,
			   const char *found, const char *reason);
void nl_tune_send_reverted_all(struct tune *t, const struct nl_revert_sum *sum);

/* -- requests: tune_requests.c -- */

extern const struct nl_verb nl_tune_verbs[];
extern const size_t nl_tune_verb_count;

/* Revert, close the session and answer `ended`; also at the end of input. NL_OK or an error. */
int nl_tune_end_session(struct tune *t, struct nl_err *err);

#endif
