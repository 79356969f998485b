/* tune: `gensink tune`, requests in and answers out. PROTOCOL.md says which. */
#include "tune.h"
#include "json.h"
#include "tune_session.h"
#include "words.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *nl_version(void);
const char *nl_source_digest(void);

enum { OUT_WAIT_MS = 2500, OUT_CHUNK = 512, HOLD_S = 30, HOLD_S_MAX = 86400 };

#define NS_PER_S UINT64_C(1000000000)

struct tune {
	struct nl_session session;
	uint64_t hold_ns;
	struct nl_json json;
	int deaf;   /* nobody reads our output any more */
	int failed; /* what the exit code says */
};

/* --- answers --- */

/* poll() before each small write, so that a reader that stopped reading cannot hold us. */
static void send_line(struct tune *t)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	size_t done = 0, len;

	if (t->json.failed || !t->json.text) {
		t->deaf = 1;
		return;
	}
	t->json.text[t->json.len] = '\n'; /* the writer always leaves room for it */
	len = t->json.len + 1;
	while (done < len && !t->deaf) {
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
			t->deaf = 1;
	}
}

static struct nl_json *event(struct tune *t, const char *name)
{
	nl_json_reset(&t->json);
	nl_json_open(&t->json, NULL);
	nl_json_text(&t->json, "event", name);
	return &t->json;
}

static void finish(struct tune *t)
{
	nl_json_close(&t->json);
	send_line(t);
}

static void error(struct tune *t, const char *code, const char *key, const char *message)
{
	struct nl_json *j = event(t, "error");

	nl_json_null(j, "run");
	nl_json_text(j, "code", code);
	nl_json_text(j, "key", key);
	nl_json_text(j, "message", message);
	finish(t);
}

static void bad(struct tune *t, const char *key, const char *message)
{
	error(t, "bad_request", key, message);
}

static void session_error(struct tune *t, enum nl_session_code code, const struct nl_reason *why)
{
	static const char *const words[] = {
		[NL_SESSION_OK] = "internal",	     [NL_SESSION_IN_USE] = "in_use",
		[NL_SESSION_REFUSED] = "refused", [NL_SESSION_LOST] = "timeout",
		[NL_SESSION_INTERNAL] = "internal",
	};

	t->failed = 1;
	error(t, words[code], NULL, why->text);
}

static void knob_keys(struct nl_json *j, const struct nl_knob *k)
{
	nl_json_text(j, "knob", nl_knob_ops_of(k)->kind);
	nl_json_text(j, "name", k->name[0] ? k->name : NULL);
	nl_json_text(j, "interface", k->interface[0] ? k->interface : NULL);
}

static void say_reverted(void *context, const struct nl_knob *k, enum nl_reverted status,
			 const char *found, const char *reason)
{
	struct tune *t = context;
	struct nl_json *j = event(t, "reverted");

	knob_keys(j, k);
	nl_json_text(j, "status", nl_reverted_word(status));
	nl_json_text(j, "found", found[0] || !reason ? found : NULL);
	nl_json_text(j, "reason", reason);
	finish(t);
}

static void say_reverted_all(struct tune *t, const struct nl_revert_sum *sum)
{
	struct nl_json *j = event(t, "reverted_all");

	nl_json_u64(j, "conflicts", sum->conflicts);
	nl_json_u64(j, "failed", sum->failed);
	finish(t);
	if (sum->failed)
		t->failed = 1;
}

/* --- requests --- */

/* After the getters: 0, or -1 and an answer when a key was not asked for. */
static int no_more(struct tune *t, const struct nl_words *w)
{
	const char *key = nl_words_untaken(w);

	if (!key)
		return 0;
	bad(t, key, "this request has no such key");
	return -1;
}

static int take_knob(struct tune *t, struct nl_words *w, struct nl_knob *k)
{
	const char *kind = nl_words_get(w, "knob"), *name = nl_words_get(w, "name");
	const char *interface = nl_words_get(w, "interface"), *key, *message;

	if (nl_knob_parse(k, kind, name, interface, &key, &message) == 0)
		return 0;
	bad(t, key, message);
	return -1;
}

static int need_live(struct tune *t)
{
	if (t->session.live)
		return 0;
	bad(t, NULL, "no session: `begin` comes first");
	return -1;
}

static void do_read(struct tune *t, struct nl_words *w)
{
	enum nl_knob_access access;
	struct nl_reason why = {""};
	struct nl_value value;
	enum nl_knob_code code;
	struct nl_json *j;
	struct nl_knob k;

	if (take_knob(t, w, &k) || no_more(t, w))
		return;
	code = nl_knob_ops_of(&k)->read(&k, &value, &access, &why);
	j = event(t, "value");
	knob_keys(j, &k);
	nl_json_text(j, "value", code == NL_KNOB_OK ? value.text : NULL);
	nl_json_bool(j, "supported", code == NL_KNOB_OK);
	nl_json_bool(j, "writable", code == NL_KNOB_OK && access == NL_KNOB_WRITABLE);
	nl_json_text(j, "reason", why.text[0] ? why.text : NULL);
	finish(t);
}

static int owner_ok(const char *owner)
{
	size_t len = strspn(owner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-.:@");

	return len > 0 && len <= NL_JOURNAL_OWNER_MAX && owner[len] == '\0';
}

static void do_begin(struct tune *t, struct nl_words *w)
{
	const char *owner = nl_words_get(w, "owner");
	enum nl_session_code code;
	struct nl_reason why;

	if (!owner || !owner_ok(owner)) {
		bad(t, "owner", "an owner is 1 to 64 letters, digits or _-.:@");
		return;
	}
	if (no_more(t, w))
		return;
	if (t->session.live) {
		bad(t, NULL, "a session is open already");
		return;
	}
	code = nl_session_begin(&t->session, owner, t->hold_ns, &why);
	if (code != NL_SESSION_OK) {
		session_error(t, code, &why);
		return;
	}
	event(t, "begun");
	finish(t);
}

static void do_set(struct tune *t, struct nl_words *w)
{
	static const char *const words[] = {"applied", "unchanged", "unsupported", "refused",
					    "differs"};
	const char *value = nl_words_get(w, "value"), *message;
	struct nl_set_result r;
	enum nl_session_code code;
	struct nl_reason why;
	struct nl_json *j;
	struct nl_knob k;

	if (take_knob(t, w, &k))
		return;
	if (!value) {
		bad(t, "value", "the value is missing");
		return;
	}
	if (nl_knob_check_value(&k, value, &message)) {
		bad(t, "value", message);
		return;
	}
	if (no_more(t, w) || need_live(t))
		return;
	code = nl_session_set(&t->session, &k, value, &r, &why);
	if (code != NL_SESSION_OK) {
		session_error(t, code, &why);
		return;
	}
	j = event(t, "set");
	knob_keys(j, &k);
	nl_json_text(j, "old", r.has_old ? r.old : NULL);
	nl_json_text(j, "value", value);
	nl_json_text(j, "readback", r.has_readback ? r.readback : NULL);
	nl_json_text(j, "status", words[r.status]);
	nl_json_text(j, "reason", r.why.text[0] ? r.why.text : NULL);
	finish(t);
}

static void say_drift(void *context, const struct nl_knob *k, const char *expected,
		      const char *found)
{
	struct tune *t = context;
	struct nl_json *j = event(t, "drift");

	knob_keys(j, k);
	nl_json_text(j, "expected", expected);
	nl_json_text(j, "found", found);
	finish(t);
}

static void do_verify(struct tune *t, struct nl_words *w)
{
	enum nl_session_code code;
	struct nl_reason why;
	unsigned drifted;

	if (no_more(t, w) || need_live(t))
		return;
	code = nl_session_verify(&t->session, say_drift, t, &drifted, &why);
	if (code != NL_SESSION_OK) {
		session_error(t, code, &why);
		return;
	}
	nl_json_u64(event(t, "verified"), "drifted", drifted);
	finish(t);
}

static void do_revert(struct tune *t, struct nl_words *w)
{
	struct nl_revert_sum sum;
	enum nl_session_code code;
	struct nl_reason why;

	if (no_more(t, w) || need_live(t))
		return;
	code = nl_session_revert(&t->session, say_reverted, t, &sum, &why);
	if (code != NL_SESSION_OK)
		session_error(t, code, &why);
	else
		say_reverted_all(t, &sum);
}

static void do_keepalive(struct tune *t, struct nl_words *w)
{
	enum nl_session_code code = NL_SESSION_OK;
	struct nl_reason why;

	if (no_more(t, w))
		return;
	if (t->session.live)
		code = nl_session_heard(&t->session, &why);
	if (code != NL_SESSION_OK) {
		session_error(t, code, &why);
		return;
	}
	event(t, "alive");
	finish(t);
}

static void end_session(struct tune *t)
{
	struct nl_revert_sum sum;
	struct nl_reason why;
	enum nl_session_code code = nl_session_end(&t->session, say_reverted, t, &sum, &why);
	struct nl_json *j;

	if (code != NL_SESSION_OK) {
		session_error(t, code, &why);
		return;
	}
	if (sum.failed)
		t->failed = 1;
	j = event(t, "ended");
	nl_json_u64(j, "conflicts", t->session.sum.conflicts);
	nl_json_u64(j, "failed", sum.failed);
	finish(t);
}

static void do_end(struct tune *t, struct nl_words *w)
{
	if (no_more(t, w) || need_live(t))
		return;
	end_session(t);
}

struct recovery {
	struct tune *tune;
	struct nl_revert_sum sum;
};

static void recover_one(void *context, int fd, const char *file, struct nl_journal *journal,
			enum nl_place_match match)
{
	struct recovery *r = context;
	struct nl_revert_sum sum = {0, 0, 0};

	if (match == NL_PLACE_HERE) {
		sum = nl_revert_all(journal, fd, 0, say_reverted, r->tune);
	} else {
		struct nl_json *j = event(r->tune, "discarded");

		nl_json_text(j, "journal", file);
		nl_json_text(j, "owner", journal->owner);
		nl_json_text(j, "reason",
			     match == NL_PLACE_REBOOTED
				     ? "it is of an earlier boot: what it changed is gone"
				     : "its network namespace is gone, and what it changed with it");
		finish(r->tune);
	}
	r->sum.conflicts += sum.conflicts;
	r->sum.failed += sum.failed;
	if (sum.failed == 0)
		nl_journal_remove(r->tune->session.dir, file);
}

static void do_recover(struct tune *t, struct nl_words *w)
{
	struct recovery r = {.tune = t, .sum = {0, 0, 0}};
	int address;

	if (no_more(t, w))
		return;
	if (t->session.live) {
		bad(t, NULL, "`recover` comes before `begin`");
		return;
	}
	address = nl_session_address();
	if (address < 0) {
		t->failed = 1;
		error(t, errno == EADDRINUSE ? "in_use" : "refused", NULL,
		      errno == EADDRINUSE ? "somebody else is tuning this host" : strerror(errno));
		return;
	}
	nl_journal_stale(t->session.dir, &t->session.place, recover_one, &r);
	close(address);
	say_reverted_all(t, &r.sum);
}

static const struct request {
	const char *verb;
	void (*run)(struct tune *t, struct nl_words *w);
} requests[] = {
	{"read", do_read},     {"begin", do_begin},	    {"set", do_set}, {"verify", do_verify},
	{"revert", do_revert}, {"keepalive", do_keepalive}, {"end", do_end}, {"recover", do_recover},
};

static void answer(struct tune *t, const char *line, size_t len)
{
	struct nl_words w;
	enum nl_words_code code = nl_words_parse(&w, line, len);

	if (code != NL_WORDS_OK) {
		bad(t, w.bad_key[0] ? w.bad_key : NULL, nl_words_message(code));
		return;
	}
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].verb, w.verb) == 0) {
			requests[i].run(t, &w);
			return;
		}
	}
	bad(t, NULL, "not a request: read, begin, set, verify, revert, keepalive, end or recover");
}

/* --- the process --- */

static volatile sig_atomic_t told_to_stop;

static void on_stop(int signal_number)
{
	(void)signal_number;
	told_to_stop = 1;
}

static void signals(sigset_t *while_waiting)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction act;
	sigset_t block;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_stop;
	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		sigaction(stops[i], &act, NULL);
		sigaddset(&block, stops[i]);
	}
	/* Delivered only while waiting for a request, so never in the middle of one. */
	sigprocmask(SIG_BLOCK, &block, while_waiting);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		sigdelset(while_waiting, stops[i]);
	signal(SIGPIPE, SIG_IGN);
}

/* Requests until the input ends, the output is not read, or a signal. */
static void serve(struct tune *t, const sigset_t *while_waiting)
{
	struct pollfd in[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = STDOUT_FILENO, .events = 0}};
	char buf[NL_LINE_MAX + 2];
	size_t have = 0;
	int skipping = 0; /* the rest of a line that is too long */

	while (!t->deaf) {
		ssize_t n;
		char *end;

		if (ppoll(in, 2, NULL, while_waiting) < 0) {
			if (errno != EINTR)
				t->failed = 1;
			if (errno != EINTR || told_to_stop)
				return;
			continue;
		}
		if (in[1].revents & (POLLERR | POLLHUP | POLLNVAL))
			return;
		if (!in[0].revents)
			continue;
		n = read(STDIN_FILENO, buf + have, sizeof(buf) - have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return;
		have += (size_t)n;
		while (!t->deaf && (end = memchr(buf, '\n', have)) != NULL) {
			size_t len = (size_t)(end - buf);

			if (skipping)
				skipping = 0;
			else
				answer(t, buf, len);
			have -= len + 1;
			memmove(buf, end + 1, have);
		}
		if (have == sizeof(buf)) {
			if (!skipping)
				bad(t, NULL, nl_words_message(NL_WORDS_TOO_LONG));
			skipping = 1;
			have = 0;
		}
	}
}

static void count_one(void *context, int fd, const char *file, struct nl_journal *journal,
		      enum nl_place_match match)
{
	(void)context, (void)fd, (void)file, (void)journal, (void)match;
}

static void say_ready(struct tune *t)
{
	int stale = nl_journal_stale(t->session.dir, &t->session.place, count_one, NULL);
	struct nl_json *j = event(t, "ready");
	char hostname[256] = "";

	gethostname(hostname, sizeof(hostname) - 1);
	nl_json_u64(j, "protocol", 1);
	nl_json_text(j, "version", nl_version());
	nl_json_text(j, "digest", nl_source_digest());
	nl_json_u64(j, "pid", (uint64_t)getpid());
	nl_json_text(j, "hostname", hostname);
	nl_json_bool(j, "may_write", nl_knob_may_write());
	nl_json_u64(j, "stale", stale > 0 ? (uint64_t)stale : 0);
	finish(t);
}

/* 0, or -1 and an answer. */
static int options(struct tune *t, int argc, char **argv, const char **journal)
{
	uint64_t hold_s = HOLD_S;

	*journal = NULL;
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc) {
			bad(t, argv[i], "an option needs a value");
			return -1;
		}
		if (strcmp(argv[i], "--journal") == 0) {
			*journal = argv[i + 1];
		} else if (strcmp(argv[i], "--hold-s") == 0 && nl_knob_is_number(argv[i + 1])) {
			hold_s = strtoull(argv[i + 1], NULL, 10);
		} else {
			bad(t, argv[i], "usage: gensink tune --journal DIR [--hold-s 1..86400]");
			return -1;
		}
	}
	if (!*journal || hold_s < 1 || hold_s > HOLD_S_MAX) {
		bad(t, *journal ? "--hold-s" : "--journal",
		    "usage: gensink tune --journal DIR [--hold-s 1..86400]");
		return -1;
	}
	t->hold_ns = hold_s * NS_PER_S;
	return 0;
}

int nl_tune_main(int argc, char **argv)
{
	static struct tune t; /* large for a stack; the process has one */
	const char *journal;
	struct nl_reason why;
	sigset_t while_waiting;
	int dir;

	nl_json_init(&t.json);
	if (options(&t, argc, argv, &journal) < 0)
		return 2;
	signals(&while_waiting);
	dir = nl_journal_dir(journal, &why);
	if (dir < 0) {
		error(&t, "refused", NULL, why.text);
		return 1;
	}
	if (nl_session_init(&t.session, dir) < 0) {
		nl_reason_errno(&why, "/proc of this host", errno);
		error(&t, "refused", NULL, why.text);
		close(dir);
		return 1;
	}
	say_ready(&t);
	serve(&t, &while_waiting);
	if (t.session.live)
		end_session(&t);
	nl_json_free(&t.json);
	close(dir);
	return t.failed || told_to_stop ? 1 : 0;
}
