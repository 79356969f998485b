/* tune_answers: the answers of `gensink tune`, see PROTOCOL.md. */
#include "base/error_json.h"
#include "tune/tune_cmd.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { OUT_WAIT_MS = 2500, OUT_CHUNK = 512 };

static void lose_output(struct tune *t)
{
	t->output_lost = t->serve.stop = 1;
}

/* poll() before each small write, so that a reader that stopped reading cannot block the process. */
static void send_line(struct tune *t)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	size_t done = 0, len;

	if (t->json.failed || !t->json.text) {
		lose_output(t);
		return;
	}
	t->json.text[t->json.len] = '\n'; /* the writer always leaves room for it */
	len = t->json.len + 1;
	while (done < len && !t->output_lost) {
		size_t chunk = len - done < OUT_CHUNK ? len - done : OUT_CHUNK;
		ssize_t n = 0;
		int ready = poll(&out, 1, OUT_WAIT_MS);

		if (ready > 0 && !(out.revents & POLLOUT))
			ready = 0;
		if (ready > 0)
			n = write(STDOUT_FILENO, t->json.text + done, chunk);
		if (n > 0)
			done += (size_t)n;
		else if (ready >= 0 || errno != EINTR)
			lose_output(t);
	}
}

struct nl_json *nl_tune_event(struct tune *t, const char *name)
{
	nl_json_reset(&t->json);
	nl_json_open(&t->json, NULL);
	nl_json_text(&t->json, "event", name);
	return &t->json;
}

void nl_tune_finish(struct tune *t)
{
	nl_json_close(&t->json);
	send_line(t);
}

void nl_tune_send_error(void *context, const char *run, const struct nl_err *err)
{
	struct tune *t = context;

	nl_json_reset(&t->json);
	nl_json_error(&t->json, run, err);
	send_line(t);
	if (err->code != NL_BAD_REQUEST)
		t->failed = 1;
}

void nl_tune_knob_keys(struct nl_json *j, const struct nl_knob *k)
{
	nl_json_text(j, "knob", nl_knob_ops_of(k)->kind);
	nl_json_text(j, "name", k->name[0] ? k->name : NULL);
	nl_json_text(j, "interface", k->interface[0] ? k->interface : NULL);
}

void nl_tune_send_reverted(void *context, const struct nl_knob *k, enum nl_reverted status,
			   const char *found, const char *reason)
{
	struct tune *t = context;
	struct nl_json *j = nl_tune_event(t, "reverted");

	nl_tune_knob_keys(j, k);
	nl_json_text(j, "status", nl_reverted_word(status));
	nl_json_text(j, "found", found[0] || !reason ? found : NULL);
	nl_json_text(j, "reason", reason);
	nl_tune_finish(t);
}

void nl_tune_send_reverted_all(struct tune *t, const struct nl_revert_sum *sum)
{
	struct nl_json *j = nl_tune_event(t, "reverted_all");

	nl_json_u64(j, "conflicts", sum->conflicts);
	nl_json_u64(j, "absent", sum->absent);
	nl_json_u64(j, "failed", sum->failed);
	if (sum->failed || sum->absent)
		t->failed = 1;
	nl_tune_finish(t);
}
