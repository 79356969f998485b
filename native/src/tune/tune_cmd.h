/* tune_face: the parts of `gensink tune`, shared by its answers, its requests and its process.
 *
 * One thread. Answers are whole lines on standard output; when nobody reads them the face goes
 * output_lost, and every later answer is nothing. */
#ifndef NL_TUNE_CMD_H
#define NL_TUNE_CMD_H

#include "base/json.h"
#include "tune/tune_session.h"

struct tune {
	struct nl_session session;
	uint64_t hold_ns;
	struct nl_json json;
	int output_lost;   /* nobody reads our output any more */
	int failed; /* what the exit code says */
};

/* -- answers: tune_answers.c -- */

/* Begin an answer; add keys, then nl_tune_finish. The writer belongs to the tune. */
struct nl_json *nl_tune_event(struct tune *t, const char *name);
void nl_tune_finish(struct tune *t);

void nl_tune_error(struct tune *t, const char *code, const char *key, const char *message);
void nl_tune_bad(struct tune *t, const char *key, const char *message);
void nl_tune_session_error(struct tune *t, enum nl_session_code code, const struct nl_reason *why);
void nl_tune_knob_keys(struct nl_json *j, const struct nl_knob *k);

/* An nl_reverted_fn; context is the tune. */
void nl_tune_send_reverted(void *context, const struct nl_knob *k, enum nl_reverted status,
			   const char *found, const char *reason);
void nl_tune_send_reverted_all(struct tune *t, const struct nl_revert_sum *sum);

/* -- requests: tune_requests.c -- */

/* Take one request line and answer it. */
void nl_tune_answer(struct tune *t, const char *line, size_t len);

/* What `end` and the end of input do. */
void nl_tune_end_session(struct tune *t);

#endif
