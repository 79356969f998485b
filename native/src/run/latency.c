/* The latency probe of a run: what the path does to others while the streams fill it.
 *
 * A gen sends questions at a mean interval, each at a random time of its own interval, so that they
 * coincide with nothing periodic; a sink answers those of its run. Arrivals are stamped by the kernel, so
 * that a busy processor does not add to them: RTT = arrival of the answer - sending - time at the sink.
 * Questions go as datagrams, over a TCP connection of their own, or both. */
#include "base/clock.h"
#include "base/clock_steps.h"
#include "base/error.h"
#include "base/files.h"
#include "base/prng.h"
#include "net/sock.h"
#include "net/sockopts.h"
#include "run/probe_channel.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	READ_BATCH = 256, /* reads between two checks for the end, so that a flood does not delay it */
	DONE_COPIES = 3,  /* one may be lost */
	SPARE = 16,
	SPARE_MS = 2000,
};

enum { UDP, TCP, CHANNELS };

/* The questions of a gen by one channel, and when the next one is due. */
struct schedule {
	uint64_t due, due_ns; /* number and time of the next interval's question */
	uint64_t last_answered;
};

struct nl_latency_probe {
	struct nl_run *run;
	struct nl_probe_channel channel[CHANNELS];
	struct schedule schedule[CHANNELS]; /* gen */
	int notice; /* eventfd: readable once end_ns or a channel's fd is set */
	int started, done; /* done: the gen asks no more */
	pthread_t thread;
	_Atomic uint64_t end_ns; /* 0: not yet; a gen sends until then, a sink answers until then */
	struct nl_address from;
	struct nl_stamps stamps;
	struct nl_prng prng;
	uint64_t capacity, first_ns;
};

/* Sleep until something arrives, due_ns (0: never), or there is a notice. */
static void wait_until(struct nl_latency_probe *p, uint64_t due_ns)
{
	struct pollfd fds[] = {
		{.fd = p->run->wake, .events = POLLIN},
		{.fd = p->notice, .events = POLLIN},
		{.fd = nl_probe_fd(&p->channel[UDP]), .events = POLLIN},
		{.fd = nl_probe_fd(&p->channel[TCP]), .events = POLLIN},
	};
	uint64_t now = nl_now_ns(), count;
	struct timespec left = nl_timespec(due_ns > now ? due_ns - now : 0);

	ppoll(fds, sizeof(fds) / sizeof(fds[0]), due_ns ? &left : NULL, NULL);
	(void)!read(p->notice, &count, sizeof(count));
}

/* -- the sink's thread ----------------------------------------------------------------- */

static void answer_question(struct nl_latency_probe *p, struct nl_probe_channel *c, struct nl_probe_arrival *question)
{
	struct nl_probe *probe = &question->probe;

	if (probe->kind == NL_PROBE_DONE) {
		p->done = 1;
	} else if (probe->kind != NL_PROBE_QUESTION) {
		c->report->invalid++;
	} else {
		probe->kind = NL_PROBE_ANSWER;
		probe->arrived_ns = question->t_ns;
		probe->held_ns = question->t_ns ? nl_now_ns() - question->t_ns : UINT64_MAX;
		c->report->count += (uint64_t)c->transport->send(c, probe, question);
	}
}

static void *answer_probes(void *argument)
{
	struct nl_latency_probe *p = argument;

	while (!atomic_load(&p->run->stop_requested)) {
		uint64_t end_ns = atomic_load(&p->end_ns);
		uint64_t answered = p->channel[UDP].report->count + p->channel[TCP].report->count;
		struct nl_probe_arrival question;

		/* without a question there is nobody who would say that it is done */
		if (end_ns && (p->done || !answered || nl_now_ns() >= end_ns))
			break;
		wait_until(p, end_ns);
		for (int i = 0; i < CHANNELS; i++)
			for (int budget = READ_BATCH; nl_probe_receive(&p->channel[i], &budget, &question);)
				answer_question(p, &p->channel[i], &question);
		p->done |= p->channel[TCP].is_closed && !p->channel[UDP].report->interval_ms;
	}
	return NULL;
}

/* -- the gen's thread -------------------------------------------------------------------- */

static void plan_question(struct nl_latency_probe *p, int channel, uint64_t now)
{
	struct schedule *s = &p->schedule[channel];
	uint64_t interval_ns = p->channel[channel].report->interval_ms * NL_NS_PER_MS;
	uint64_t current = (now - p->first_ns) / interval_ns;

	/* a thread that came late skips intervals: a burst would measure itself */
	s->due = s->due < current ? current : s->due + 1;
	s->due_ns = p->first_ns + s->due * interval_ns + nl_prng_below(&p->prng, interval_ns);
}

static void send_probe(struct nl_probe_channel *c, enum nl_probe_kind kind)
{
	struct nl_probe question = {.kind = kind, .sequence = c->report->count};

	if (kind == NL_PROBE_QUESTION)
		c->report->row[c->report->count++] =
			(struct nl_probe_row){.t_ns = nl_now_ns(), .rtt_us = UINT32_MAX};
	c->transport->send(c, &question, NULL);
}

static void record_answer(struct nl_latency *report, struct schedule *s, const struct nl_probe_arrival *arrival)
{
	const struct nl_probe *probe = &arrival->probe;
	struct nl_probe_row *row;
	uint64_t after_ns;

	if (probe->kind != NL_PROBE_ANSWER || probe->sequence >= report->count) {
		report->invalid++;
		return;
	}
	row = &report->row[probe->sequence];
	if (row->rtt_us != UINT32_MAX) {
		row->duplicates += row->duplicates < UINT16_MAX;
		return;
	}
	if (!arrival->t_ns || probe->held_ns == UINT64_MAX) /* a clock was set */
		return;
	after_ns = arrival->t_ns - row->t_ns;
	if (arrival->t_ns < row->t_ns || probe->held_ns > after_ns || probe->arrived_ns > INT64_MAX) {
		report->invalid++;
		return;
	}
	if (after_ns - probe->held_ns > NL_PROBE_LOST_NS)
		return;
	row->rtt_us = (uint32_t)((after_ns - probe->held_ns + 500) / 1000);
	row->arrived_ns = probe->arrived_ns;
	row->reordered = probe->sequence < s->last_answered;
	if (!row->reordered)
		s->last_answered = probe->sequence;
}

/* True if an answer may still arrive in time. */
static int is_waiting(const struct nl_probe_channel *c, uint64_t now)
{
	if (nl_probe_fd(c) < 0)
		return 0;
	for (uint64_t i = c->report->count; i-- > 0 && c->report->row[i].t_ns + NL_PROBE_LOST_NS > now;)
		if (c->report->row[i].rtt_us == UINT32_MAX)
			return 1;
	return 0;
}

static void *send_probes(void *argument)
{
	struct nl_latency_probe *p = argument;
	struct nl_probe_arrival arrival;

	for (;;) {
		uint64_t now = nl_now_ns(), end_ns = atomic_load(&p->end_ns);
		uint64_t due_ns = now + p->run->opts.latency_interval_ms * NL_NS_PER_MS;
		int over = end_ns && now >= end_ns;

		if (atomic_load(&p->run->stop_requested) ||
		    (over && !is_waiting(&p->channel[UDP], now) && !is_waiting(&p->channel[TCP], now)))
			break;
		for (int i = 0; !over && i < CHANNELS; i++) {
			struct nl_probe_channel *c = &p->channel[i];

			if (nl_probe_fd(c) < 0)
				continue;
			if (now >= p->schedule[i].due_ns) {
				if (c->report->count < p->capacity)
					send_probe(c, NL_PROBE_QUESTION);
				plan_question(p, i, now);
			}
			due_ns = nl_sooner(due_ns, p->schedule[i].due_ns);
		}
		wait_until(p, due_ns);
		for (int i = 0; i < CHANNELS; i++)
			for (int budget = READ_BATCH; nl_probe_receive(&p->channel[i], &budget, &arrival);)
				record_answer(p->channel[i].report, &p->schedule[i], &arrival);
	}
	for (int i = 0; i < DONE_COPIES * CHANNELS; i++)
		if (nl_probe_fd(&p->channel[i % CHANNELS]) >= 0)
			send_probe(&p->channel[i % CHANNELS], NL_PROBE_DONE);
	return NULL;
}

/* -- the TCP connection ------------------------------------------------------------------------ */

static int set_stream(int fd, struct nl_err *err)
{
	/* a question does not wait for the acknowledgement of the one before */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int)))
		return nl_fail_errno(err, errno, "options of the latency probe's connection");
	return NL_OK;
}

int nl_latency_take(struct nl_run *run, int fd)
{
	struct nl_latency_probe *p = run->latency;
	int family = (int)nl_sockopts_number(fd, SOL_SOCKET, SO_DOMAIN), none = -1;
	struct nl_err ignored;

	/* without an option the run is as good, and its probes are not: they have no RTT */
	if (nl_sockopts_congestion(fd, &run->opts, 0, &ignored) || set_stream(fd, &ignored) ||
	    nl_sockopts_dscp(fd, run->opts.latency_dscp, family, &ignored) ||
	    !atomic_compare_exchange_strong(&p->channel[TCP].fd, &none, fd))
		return -1;
	(void)!write(p->notice, &(uint64_t){1}, sizeof(uint64_t));
	return 0;
}

/* Connect as stream 0 would, and say hello as the stream after the last. */
static int connect_stream(struct nl_latency_probe *p, struct nl_err *err)
{
	struct nl_run_opts opts = p->run->opts;
	struct pollfd fds[] = {{.fd = -1, .events = POLLOUT}, {.fd = p->run->wake, .events = POLLIN}};
	int code, ready;

	opts.dscp = opts.latency_dscp ? opts.latency_dscp : opts.dscp;
	opts.pacing_Bps = 0;
	opts.pacings_Bps[0] = '\0';
	opts.source_ports[0] = '\0';
	code = nl_sock_connect(&opts, 0, &fds[0].fd, err);
	atomic_store(&p->channel[TCP].fd, fds[0].fd);
	if (code || set_stream(fds[0].fd, err))
		return err->code;
	ready = poll(fds, 2, nl_poll_ms(nl_now_ns() + opts.connect_ms * NL_NS_PER_MS));
	if (atomic_load(&p->run->stop_requested))
		return NL_OK;
	if (!ready)
		return nl_fail(err, NL_TIMEOUT, "%s port %" PRIu64 " did not answer within %" PRIu64 " ms", opts.address,
			       opts.port, opts.connect_ms);
	return nl_gen_hello(&opts, fds[0].fd, nl_hello_of_probe(&opts), NULL, err);
}

/* -- both ends ------------------------------------------------------------------------------- */

/* Number of intervals that a run may last, and memory for as many rows of a channel. */
static int open_rows(struct nl_latency_probe *p, struct nl_probe_channel *c, struct nl_err *err)
{
	const struct nl_run_opts *opts = &p->run->opts;
	uint64_t most_ms = 2 * opts->latency_idle_ms + opts->connect_ms + opts->warmup_ms + opts->window_ms +
			   opts->tail_ms + opts->drain_ms + SPARE_MS;

	p->capacity = most_ms / opts->latency_interval_ms + SPARE;
	if (p->capacity > NL_PROBES_MAX)
		return nl_fail_with(err, NL_LIMIT, "latency_interval_ms", 0,
				    "more than %d probes: make latency_interval_ms %" PRIu64 " or more", NL_PROBES_MAX,
				    most_ms / (NL_PROBES_MAX - SPARE) + 1);
	c->report->row = calloc(p->capacity, sizeof(*c->report->row));
	return c->report->row ? NL_OK : nl_fail_errno(err, ENOMEM, "memory for %" PRIu64 " probes", p->capacity);
}

int nl_latency_open(struct nl_run *run, struct nl_err *err)
{
	const struct nl_run_opts *opts = &run->opts;
	uint32_t port = opts->role == NL_SINK ? run->port : (uint32_t)opts->port;
	struct nl_latency_probe *p;
	int fd = -1, code = NL_OK;

	if (!opts->latency_interval_ms)
		return NL_OK;
	run->latency = p = calloc(1, sizeof(*p));
	if (!p)
		return nl_fail_errno(err, ENOMEM, "memory for the latency probe");
	p->run = run;
	p->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->notice < 0)
		code = nl_fail_errno(err, errno, "eventfd");
	for (int i = 0; i < CHANNELS; i++) {
		struct nl_probe_channel *c = &p->channel[i];

		c->transport = i == TCP ? &nl_probe_stream : &nl_probe_datagrams;
		c->opts = opts;
		c->from = &p->from;
		c->stamps = &p->stamps;
		c->report = &run->report.latency[i];
		atomic_init(&c->fd, -1);
		if (opts->latency_probe & (1U << i))
			c->report->interval_ms = opts->latency_interval_ms;
		if (!code && opts->role == NL_GEN && c->report->interval_ms)
			code = open_rows(p, c, err);
	}
	if (code)
		return code;
	if (opts->role == NL_SINK && nl_address_parse(opts->from, 0, &p->from))
		return nl_fail_key(err, "from", "%s is not a numeric address", opts->from);
	if (p->channel[UDP].report->interval_ms)
		code = nl_sock_probe(opts, port, &fd, err);
	atomic_store(&p->channel[UDP].fd, fd);
	return code;
}

int nl_latency_start(struct nl_run *run, struct nl_err *err)
{
	struct nl_latency_probe *p = run->latency;
	struct pollfd wake = {.fd = run->wake, .events = POLLIN};
	int gen = run->opts.role == NL_GEN, errnum;
	uint64_t end_ns;

	if (!p)
		return NL_OK;
	if (gen && p->channel[TCP].report->interval_ms && connect_stream(p, err))
		return err->code;
	nl_stamps_begin(&p->stamps);
	nl_prng_seed(&p->prng, run->opts.run);
	p->first_ns = nl_now_ns();
	end_ns = p->first_ns + run->opts.latency_idle_ms * NL_NS_PER_MS;
	errnum = pthread_create(&p->thread, NULL, gen ? send_probes : answer_probes, p);
	if (errnum)
		return nl_fail_errno(err, errnum, "thread of the latency probe");
	p->started = 1;
	while (gen && nl_now_ns() < end_ns && !atomic_load(&run->stop_requested))
		poll(&wake, 1, nl_poll_ms(end_ns));
	for (int i = 0; i < CHANNELS; i++)
		p->channel[i].report->t_idle_end_ns = nl_now_ns();
	return NL_OK;
}

void nl_latency_finish(struct nl_run *run)
{
	struct nl_latency_probe *p = run->latency;
	const struct nl_run_opts *opts = &run->opts;
	uint64_t now = nl_now_ns(), end_ns = 1; /* at once */

	if (!p || !p->started)
		return;
	if (run->report.t_go_ns && run->report.status == NL_STATUS_OK) {
		end_ns = now + opts->latency_idle_ms * NL_NS_PER_MS;
		if (opts->role == NL_SINK)
			end_ns += NL_PROBE_LOST_NS + opts->drain_ms * NL_NS_PER_MS;
		for (int i = 0; i < CHANNELS; i++)
			p->channel[i].report->t_after_ns = now;
	}
	atomic_store(&p->end_ns, end_ns);
	(void)!write(p->notice, &(uint64_t){1}, sizeof(uint64_t));
	pthread_join(p->thread, NULL);
	if (nl_probe_fd(&p->channel[UDP]) >= 0)
		p->channel[UDP].report->dropped = nl_sock_drops(nl_probe_fd(&p->channel[UDP]));
	p->started = 0;
}

void nl_latency_free(struct nl_run *run)
{
	struct nl_latency_probe *p = run->latency;

	if (!p)
		return;
	for (int i = 0; i < CHANNELS; i++) {
		int fd = atomic_load(&p->channel[i].fd);

		nl_close(&fd);
		free(run->report.latency[i].row);
	}
	nl_close(&p->notice);
	free(p);
}
