/* The latency probe of a run: what the path does to others while the streams fill it.
 *
 * A gen sends datagrams at a mean interval, each at a random time of its own interval, so that they
 * coincide with nothing periodic; a sink answers those of its run. Arrivals are stamped by the kernel, so
 * that a busy processor does not add to them: RTT = arrival of the answer - sending - time at the sink. */
#include "base/clock.h"
#include "base/error.h"
#include "base/prng.h"
#include "meter/meter_poll.h"
#include "net/probe.h"
#include "net/sock.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	READ_BATCH = 256, /* datagrams between two checks for the end, so that a flood does not delay it */
	DONE_COPIES = 3,  /* one may be lost */
	SPARE = 16,
	SPARE_MS = 2000,
	CONTROL_B = 128,
};

struct nl_latency_probe {
	struct nl_run *run;
	struct nl_latency *report;
	int fd;
	int ending; /* eventfd: readable once end_ns is set */
	int started, done; /* done: the gen asks no more */
	pthread_t thread;
	_Atomic uint64_t end_ns; /* 0: not yet; a gen sends until then, a sink answers until then */
	struct nl_address from;
	struct nl_clock_steps steps;
	struct nl_prng prng;
	uint64_t capacity, first_ns;
	uint64_t due, due_ns; /* number and time of the next interval's probe */
	uint64_t last_answered;
};

/* A datagram that has arrived. */
struct arrival {
	struct sockaddr_storage from;
	socklen_t from_len;
	uint64_t t_ns; /* 0: not known */
	struct nl_probe probe;
};

uint64_t nl_stamp_ns(struct nl_clock_steps *steps, const struct nl_clocks *now, uint64_t realtime_ns)
{
	uint32_t before = steps->steps;

	nl_clock_steps_follow(steps, now);
	return steps->steps == before && realtime_ns ? realtime_ns - (uint64_t)now->realtime_ahead_ns : 0;
}

/* Time that the kernel stamped; 0 without one. */
static uint64_t stamp_of(struct msghdr *message)
{
	struct timespec t = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&t, CMSG_DATA(c), sizeof(t));
	return (uint64_t)t.tv_sec * NL_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The next datagram of the run; others are counted. 0: none has arrived. */
static int receive(struct nl_latency_probe *p, int *budget, struct arrival *out)
{
	uint8_t bytes[NL_PROBE_B + 1];
	_Alignas(struct cmsghdr) uint8_t control[CONTROL_B];
	struct iovec vector = {bytes, sizeof(bytes)};

	while ((*budget)-- > 0) {
		struct msghdr message = {.msg_name = &out->from, .msg_namelen = sizeof(out->from),
					 .msg_iov = &vector, .msg_iovlen = 1,
					 .msg_control = control, .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(p->fd, &message, MSG_DONTWAIT);
		struct nl_clocks now;

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0) /* an ICMP error, as of a port without a sink: that probe is lost */
			continue;
		out->from_len = message.msg_namelen;
		if (p->from.len && !nl_address_same_host(&out->from, &p->from.storage)) {
			p->report->foreign++;
		} else if (nl_probe_parse(bytes, (size_t)n, &p->run->opts, &out->probe)) {
			p->report->invalid++;
		} else {
			nl_clocks_read(&now);
			out->t_ns = nl_stamp_ns(&p->steps, &now, stamp_of(&message));
			p->report->clock_steps = p->steps.steps;
			return 1;
		}
	}
	return 0;
}

/* Sleep until a datagram arrives, due_ns (0: never), or the end is set. */
static void wait_until(struct nl_latency_probe *p, uint64_t due_ns)
{
	struct pollfd fds[] = {
		{.fd = p->fd, .events = POLLIN},
		{.fd = p->run->wake, .events = POLLIN},
		{.fd = atomic_load(&p->end_ns) ? -1 : p->ending, .events = POLLIN},
	};
	uint64_t now = nl_now_ns();
	struct timespec left = nl_timespec(due_ns > now ? due_ns - now : 0);

	ppoll(fds, sizeof(fds) / sizeof(fds[0]), due_ns ? &left : NULL, NULL);
}

/* -- the sink's thread ----------------------------------------------------------------- */

static void answer(struct nl_latency_probe *p, struct arrival *question)
{
	struct nl_probe *probe = &question->probe;
	uint8_t bytes[NL_PROBE_B];

	if (probe->kind == NL_PROBE_DONE) {
		p->done = 1;
		return;
	}
	if (probe->kind != NL_PROBE_QUESTION) {
		p->report->invalid++;
		return;
	}
	probe->kind = NL_PROBE_ANSWER;
	probe->held_ns = question->t_ns ? nl_now_ns() - question->t_ns : UINT64_MAX;
	nl_probe_write(bytes, &p->run->opts, probe);
	if (sendto(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&question->from,
		   question->from_len) == (ssize_t)sizeof(bytes))
		p->report->count++;
}

static void *answer_probes(void *argument)
{
	struct nl_latency_probe *p = argument;

	while (!atomic_load(&p->run->stop_requested)) {
		uint64_t end_ns = atomic_load(&p->end_ns);
		int budget = READ_BATCH;
		struct arrival question;

		/* without a question there is nobody who would say that it is done */
		if (end_ns && (p->done || !p->report->count || nl_now_ns() >= end_ns))
			break;
		wait_until(p, end_ns);
		while (receive(p, &budget, &question))
			answer(p, &question);
	}
	return NULL;
}

/* -- the gen's thread -------------------------------------------------------------------- */

static void plan(struct nl_latency_probe *p, uint64_t now)
{
	uint64_t interval_ns = p->report->interval_ms * NL_NS_PER_MS;
	uint64_t current = (now - p->first_ns) / interval_ns;

	/* a thread that came late skips intervals: a burst would measure itself */
	p->due = p->due < current ? current : p->due + 1;
	p->due_ns = p->first_ns + p->due * interval_ns + nl_prng_below(&p->prng, interval_ns);
}

static void send_probe(struct nl_latency_probe *p, enum nl_probe_kind kind)
{
	struct nl_probe question = {.kind = kind, .sequence = p->report->count};
	uint8_t bytes[NL_PROBE_B];

	nl_probe_write(bytes, &p->run->opts, &question);
	if (kind == NL_PROBE_QUESTION)
		p->report->row[p->report->count++] =
			(struct nl_probe_row){.t_ns = nl_now_ns(), .rtt_us = UINT32_MAX};
	/* what the kernel refuses is lost as well */
	(void)!send(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void record(struct nl_latency_probe *p, const struct arrival *arrival)
{
	const struct nl_probe *probe = &arrival->probe;
	struct nl_probe_row *row;
	uint64_t after_ns;

	if (probe->kind != NL_PROBE_ANSWER || probe->sequence >= p->report->count) {
		p->report->invalid++;
		return;
	}
	row = &p->report->row[probe->sequence];
	if (row->rtt_us != UINT32_MAX) {
		row->duplicates += row->duplicates < UINT16_MAX;
		return;
	}
	if (!arrival->t_ns || probe->held_ns == UINT64_MAX) /* a clock was set */
		return;
	after_ns = arrival->t_ns - row->t_ns;
	if (arrival->t_ns < row->t_ns || probe->held_ns > after_ns) {
		p->report->invalid++;
		return;
	}
	if (after_ns - probe->held_ns > NL_PROBE_LOST_NS)
		return;
	row->rtt_us = (uint32_t)((after_ns - probe->held_ns + 500) / 1000);
	row->reordered = probe->sequence < p->last_answered;
	if (!row->reordered)
		p->last_answered = probe->sequence;
}

/* True if an answer may still arrive in time. */
static int is_waiting(const struct nl_latency_probe *p, uint64_t now)
{
	for (uint64_t i = p->report->count; i-- > 0 && p->report->row[i].t_ns + NL_PROBE_LOST_NS > now;)
		if (p->report->row[i].rtt_us == UINT32_MAX)
			return 1;
	return 0;
}

static void *send_probes(void *argument)
{
	struct nl_latency_probe *p = argument;
	struct arrival arrival;

	for (;;) {
		uint64_t now = nl_now_ns(), end_ns = atomic_load(&p->end_ns);
		int budget = READ_BATCH, over = end_ns && now >= end_ns;

		if (atomic_load(&p->run->stop_requested) || (over && !is_waiting(p, now)))
			break;
		if (!over && now >= p->due_ns) {
			if (p->report->count < p->capacity)
				send_probe(p, NL_PROBE_QUESTION);
			plan(p, now);
		}
		wait_until(p, over ? now + p->report->interval_ms * NL_NS_PER_MS : p->due_ns);
		while (receive(p, &budget, &arrival))
			record(p, &arrival);
	}
	for (int i = 0; i < DONE_COPIES; i++)
		send_probe(p, NL_PROBE_DONE);
	return NULL;
}

/* -- both ends ------------------------------------------------------------------------------- */

/* Number of intervals that a run may last, and memory for as many rows. */
static int open_rows(struct nl_latency_probe *p, const struct nl_run_opts *opts, struct nl_err *err)
{
	uint64_t most_ms = 2 * opts->latency_idle_ms + opts->connect_ms + opts->warmup_ms + opts->window_ms +
			   opts->tail_ms + opts->drain_ms + SPARE_MS;

	p->capacity = most_ms / opts->latency_interval_ms + SPARE;
	if (p->capacity > NL_PROBES_MAX)
		return nl_fail_with(err, NL_LIMIT, "latency_interval_ms", 0,
				    "more than %d probes: make latency_interval_ms %" PRIu64 " or more", NL_PROBES_MAX,
				    most_ms / (NL_PROBES_MAX - SPARE) + 1);
	p->report->row = calloc(p->capacity, sizeof(*p->report->row));
	return p->report->row ? NL_OK : nl_fail_errno(err, ENOMEM, "memory for %" PRIu64 " probes", p->capacity);
}

int nl_latency_open(struct nl_run *run, struct nl_err *err)
{
	const struct nl_run_opts *opts = &run->opts;
	uint32_t port = opts->role == NL_SINK ? run->port : (uint32_t)opts->port;
	struct nl_latency_probe *p;

	if (!opts->latency_interval_ms)
		return NL_OK;
	run->latency = p = calloc(1, sizeof(*p));
	if (!p)
		return nl_fail_errno(err, ENOMEM, "memory for the latency probe");
	p->run = run;
	p->report = &run->report.latency;
	p->report->interval_ms = opts->latency_interval_ms;
	p->fd = -1;
	p->ending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->ending < 0)
		return nl_fail_errno(err, errno, "eventfd");
	if (opts->role == NL_SINK && nl_address_parse(opts->from, 0, &p->from))
		return nl_fail_key(err, "from", "%s is not a numeric address", opts->from);
	if (opts->role == NL_GEN && open_rows(p, opts, err))
		return err->code;
	return nl_sock_probe(opts, port, &p->fd, err);
}

int nl_latency_start(struct nl_run *run, struct nl_err *err)
{
	struct nl_latency_probe *p = run->latency;
	struct pollfd wake = {.fd = run->wake, .events = POLLIN};
	int gen = run->opts.role == NL_GEN, errnum;
	uint64_t end_ns;

	if (!p)
		return NL_OK;
	nl_clocks_read(&p->steps.last);
	nl_prng_seed(&p->prng, run->opts.run);
	p->first_ns = p->due_ns = nl_now_ns();
	end_ns = p->first_ns + run->opts.latency_idle_ms * NL_NS_PER_MS;
	errnum = pthread_create(&p->thread, NULL, gen ? send_probes : answer_probes, p);
	if (errnum)
		return nl_fail_errno(err, errnum, "thread of the latency probe");
	p->started = 1;
	while (gen && nl_now_ns() < end_ns && !atomic_load(&run->stop_requested))
		poll(&wake, 1, nl_poll_ms(end_ns));
	p->report->t_idle_end_ns = nl_now_ns();
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
		else
			p->report->t_after_ns = now;
	}
	atomic_store(&p->end_ns, end_ns);
	(void)!write(p->ending, &(uint64_t){1}, sizeof(uint64_t));
	pthread_join(p->thread, NULL);
	p->started = 0;
}

void nl_latency_free(struct nl_run *run)
{
	struct nl_latency_probe *p = run->latency;

	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	if (p->ending >= 0)
		close(p->ending);
	free(run->report.latency.row);
	free(p);
}
