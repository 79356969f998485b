#include "commands.h"

#include "base/async_out.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "base/serve.h"
#include "emulator/emulate_opts.h"
#include "emulator/emulate_report.h"
#include "emulator/superpacket.h"
#include "emulator/wake_comp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { END_MS = 2500, STEPS_PER_POLL = 64 /* between two polls of requests and signals */ };

struct emulator {
	struct nl_async_out *out;
	struct nl_serve serve;
	struct nl_link_opts opts[NL_LINKS];
	struct nl_trace trace[NL_LINKS];
	struct nl_link link[NL_LINKS]; /* even ones: a to b, read tun[0], write tun[1] */
	int links;                     /* in use: 2, or all with a second hop */
	struct nl_emulate_spans spans;
	struct nl_emulate_report report;
	int tun[2];
	struct nl_wake_comp wake_comp;
	int open, failed, real_time;
	uint8_t spare[NL_FRAME_MAX_B]; /* for frames without memory in a ring, and between two hops */
};

/* -- answers ------------------------------------------------------------------------- */

static int emulator_answer(struct emulator *e, const char *event)
{
	nl_json_u64(nl_serve_event(&e->serve, event), "t_ns", nl_now_ns());
	return nl_serve_finish(&e->serve);
}

static void send_report(struct emulator *e, int final, int with_samples)
{
	e->report.wake_ns = e->wake_comp.mean_ns;
	nl_emulate_report_json(&e->report, e->link, nl_now_ns(), final, with_samples, &e->serve.json);
	nl_async_out_put(e->out, &e->serve.json, 0);
}

/* -- requests ------------------------------------------------------------------------ */

static int request_set(void *context, struct nl_request *request, struct nl_err *err)
{
	struct emulator *e = context;
	struct nl_emulate_drops drops;
	int i;

	if (nl_emulate_set_from_request(request, &i, e->opts, &drops, err))
		return err->code;
	if (e->open && i >= e->links)
		return nl_fail_key(err, "hop", "a second hop is set before `open`");
	if (e->open && e->opts[i].discipline != e->link[i].opts.discipline) {
		e->opts[i] = e->link[i].opts;
		return nl_fail_key(err, "discipline", "a discipline is set before `open`");
	}
	if (e->open && drops.trace)
		return nl_fail_key(err, "trace", "a trace is set before `open`");
	if (drops.trace) {
		nl_trace_free(&e->trace[i]);
		e->opts[i].trace = NULL;
		if (nl_trace_read(&e->trace[i], drops.trace, err))
			return err->code;
		e->opts[i].trace = &e->trace[i];
	}
	if (!e->open && (drops.forget || drops.drops || drops.drop_at_ms != UINT64_MAX))
		return nl_fail_key(err, "drop_at", "forced drops need an open path: send `open` first");
	if (i >= e->links)
		e->links = NL_LINKS;
	if (e->open) {
		nl_link_set(&e->link[i], &e->opts[i]);
		if (drops.forget)
			nl_drop_plan_forget(&e->link[i].drop_plan);
		if (drops.drops)
			nl_drop_plan_numbers(&e->link[i].drop_plan, drops.drop_at, drops.drops);
		if (drops.drop_at_ms != UINT64_MAX)
			nl_drop_plan_moment(&e->link[i].drop_plan, drops.drop_at_ms * NL_NS_PER_MS);
	}
	return emulator_answer(e, "set");
}

static int request_span(void *context, struct nl_request *request, struct nl_err *err)
{
	struct emulator *e = context;

	if (e->links < NL_LINKS)
		return nl_fail(err, NL_BAD_REQUEST, "the path has one hop: set hop=2 first");
	if (nl_emulate_spans_from_request(request, &e->spans, err))
		return err->code;
	return emulator_answer(e, "set");
}

static int make_here(const char *device, int *fd, struct nl_err *err)
{
	const unsigned long offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
	struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
	int header_B = NL_VNET_B;

	*fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return nl_fail_errno(err, errno, "open /dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	if (ioctl(*fd, TUNSETIFF, &ifr) < 0)
		return nl_fail_errno(err, errno, "TUNSETIFF %s", device);
	if (ioctl(*fd, TUNSETVNETHDRSZ, &header_B) < 0)
		return nl_fail_errno(err, errno, "TUNSETVNETHDRSZ %s", device);
	if (ioctl(*fd, TUNSETOFFLOAD, offloads) < 0)
		return nl_fail_errno(err, errno, "TUNSETOFFLOAD %s", device);
	return NL_OK;
}

/* Create the TUN device, with virtio headers and segmentation offload, in the namespace behind a path
 * (/run/netns/NAME, /proc/PID/ns/net) and open it, non-blocking; it exists until it is closed. The thread
 * returns to its own namespace. NL_OK or a code; *fd is to be closed in any case, unless it is negative. */
static int open_device(const char *namespace, const char *device, int *fd, struct nl_err *err)
{
	int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), there, code;

	if (own < 0)
		return nl_fail_errno(err, errno, "open /proc/thread-self/ns/net");
	there = open(namespace, O_RDONLY | O_CLOEXEC);
	if (there < 0) {
		code = nl_fail_errno(err, errno, "open %s", namespace);
	} else if (setns(there, CLONE_NEWNET) < 0) {
		code = nl_fail_errno(err, errno, "setns %s", namespace);
	} else {
		code = make_here(device, fd, err);
		if (setns(own, CLONE_NEWNET) < 0)
			code = nl_fail_errno(err, errno, "setns back");
	}
	nl_close(&there);
	close(own);
	return code;
}

static int open_path(struct emulator *e, const struct nl_emulate_ends *ends, struct nl_err *err)
{
	for (int i = 0; i < 2; i++)
		if (open_device(ends->namespace[i], ends->device[i], &e->tun[i], err))
			return err->code;
	for (int i = 0; i < e->links; i++)
		if (nl_link_open(&e->link[i], &e->opts[i], nl_link_memory_B(&e->opts[i])))
			return nl_fail_errno(err, errno, "memory for packets in flight");
	return NL_OK;
}

/* Also one that is open in part. */
static void close_path(struct emulator *e)
{
	for (int i = 0; i < 2; i++)
		nl_close(&e->tun[i]);
	for (int i = 0; i < e->links; i++)
		nl_link_close(&e->link[i]);
}

static int request_open(void *context, struct nl_request *request, struct nl_err *err)
{
	struct emulator *e = context;
	struct nl_emulate_ends ends;

	if (e->open)
		return nl_fail(err, NL_BAD_REQUEST, "the path is open already");
	if (nl_emulate_ends_from_request(request, &ends, err))
		return err->code;
	if (open_path(e, &ends, err)) {
		close_path(e);
		return err->code;
	}
	for (int i = 0; i < e->links; i++)
		nl_link_begin_trace(&e->link[i], nl_now_ns());
	nl_emulate_report_begin(&e->report, e->links, nl_now_ns(), ends.sample_ms, ends.late_us);
	e->open = 1;
	return emulator_answer(e, "opened");
}

static int request_report(void *context, struct nl_request *request, struct nl_err *err)
{
	struct emulator *e = context;
	uint64_t samples = 0, restart_ms = 0;

	if (nl_request_number(request, "samples", 0, 1, &samples, err) ||
	    nl_request_number(request, "restart_ms", 1, 60000, &restart_ms, err) ||
	    nl_request_only_known(request, err))
		return err->code;
	if (!e->open)
		return nl_fail(err, NL_BAD_REQUEST, "no path is open: send `open` first");
	send_report(e, 0, (int)samples);
	if (restart_ms) {
		nl_emulate_report_restart(&e->report, e->link, nl_now_ns(), restart_ms);
		for (int i = 0; i < e->links; i++)
			nl_link_begin_trace(&e->link[i], nl_now_ns());
	}
	return NL_OK;
}

static const struct nl_verb verbs[] = {
	{"set", request_set, 0},       {"span", request_span, 0}, {"open", request_open, 0},
	{"report", request_report, 0}, {"ping", NULL, 1},         {"quit", NULL, 1},
	{NULL, NULL, 0},
};

/* -- packets ------------------------------------------------------------------------- */

static int only_hop(const struct emulator *e, const uint8_t *frame, size_t len)
{
	struct nl_superpacket sp;
	uint16_t port[2];

	if (nl_superpacket_read(&sp, frame, len) != NL_SUPERPACKET_OK || !nl_superpacket_tcp_ports(&sp, frame, port))
		return -1;
	return nl_emulate_only_hop(&e->spans, port);
}

static void enter_link(struct nl_link *link, uint64_t at_ns, const uint8_t *frame, size_t len)
{
	uint8_t *room = nl_link_room(link);

	if (!room) {
		nl_link_overflow(link, frame, len);
		return;
	}
	memcpy(room, frame, len);
	nl_link_arrive(link, at_ns > link->trace_ns ? at_ns : link->trace_ns, len);
}

/* Links that the packets of a device pass first and last. */
static int entry_of(const struct emulator *e, int device)
{
	return device && e->links == NL_LINKS ? NL_LINKS - 1 : device;
}

static int exit_of(const struct emulator *e, int device)
{
	return !device && e->links == NL_LINKS ? NL_LINKS - 2 : device;
}

/* Hand a piece that left a link to the other one of its direction. 0: it passes that one alone. */
static int pass_on(struct emulator *e, int from, uint64_t at_ns, const struct iovec *iov, int parts)
{
	size_t len = 0;

	for (int i = 0; i < parts; i++) {
		memcpy(e->spare + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	if (only_hop(e, e->spare, len) == from / 2)
		return 0;
	enter_link(&e->link[exit_of(e, from % 2)], at_ns, e->spare, len);
	return 1;
}

/* Write the first piece that is due. 1 if there was one. */
static int send_due(struct emulator *e)
{
	uint64_t now_ns = nl_now_ns(), due_ns;
	uint8_t head[NL_PIECE_HEAD_MAX_B];
	struct nl_link *link;
	struct iovec iov[2];
	struct nl_link_count before;
	int parts, passed, i = 0;

	for (int n = 0; n < e->links; n++)
		nl_link_serve(&e->link[n], now_ns);
	for (int n = 1; n < e->links; n++)
		if (nl_link_next_ns(&e->link[n]) < nl_link_next_ns(&e->link[i]))
			i = n;
	link = &e->link[i];
	due_ns = nl_link_next_ns(link);
	if (due_ns > now_ns || !nl_link_first(link))
		return 0;
	nl_emulate_report_left(&e->report, i, now_ns - due_ns);
	parts = nl_link_parts(nl_link_first(link), head, iov);
	/* refused while the far device is down: lost, as on a cable */
	passed = i != exit_of(e, i % 2) && pass_on(e, i, due_ns, iov, parts);
	before = link->count;
	nl_link_sent(link, !passed && writev(e->tun[!(i % 2)], iov, parts) < 0);
	if (passed) {
		link->count.passed_packets += link->count.out_packets - before.out_packets;
		link->count.passed_bytes += link->count.out_bytes - before.out_bytes;
	}
	return 1;
}

/* Read one frame. It arrived at seen_ns, or if that is 0 after polled_ns. 0 if there was none. */
static int read_arrived(struct emulator *e, int i, uint64_t seen_ns, uint64_t polled_ns)
{
	struct nl_link *link = &e->link[entry_of(e, i)];
	uint8_t *room = e->links == NL_LINKS ? NULL : nl_link_room(link);
	ssize_t len = read(e->tun[i], room ? room : e->spare, NL_FRAME_MAX_B);
	struct nl_err err;

	if (len < 0 && errno != EAGAIN && errno != EINTR) {
		nl_fail_errno(&err, errno, "device %s is gone", i ? "b" : "a");
		nl_serve_error(&e->serve, NULL, &err);
		e->failed = 1;
	}
	if (len < 0)
		return 0;
	if (!seen_ns)
		seen_ns = nl_wake_comp_found_by_ns(polled_ns, nl_now_ns());
	if (room) {
		nl_link_arrive(link, seen_ns, (size_t)len);
	} else if (e->links == NL_LINKS) {
		int only = only_hop(e, e->spare, (size_t)len);

		enter_link(only < 0 ? link : &e->link[2 * only + i], seen_ns, e->spare, (size_t)len);
	} else {
		nl_link_overflow(link, e->spare, (size_t)len);
	}
	return 1;
}

/* Alternate between due pieces and arrivals, so that neither delays the other. */
static void move_packets(struct emulator *e, uint64_t came_ns, int readable[2])
{
	for (int n = 0, moved = 1; n < STEPS_PER_POLL && moved && !e->failed; n++) {
		uint64_t polled_ns = nl_now_ns();

		moved = send_due(e);
		for (int i = 0; i < 2; i++) {
			readable[i] = readable[i] && read_arrived(e, i, n ? 0 : came_ns, polled_ns);
			moved |= readable[i];
		}
	}
}

/* -- start and end ----------------------------------------------------------------- */

enum { TUN_A = NL_SERVE_FDS, TUN_B, WATCHED };

static int wait_for_packets(struct emulator *e, struct pollfd fds[WATCHED])
{
	uint64_t next_ns = UINT64_MAX;
	struct timespec left;
	int ready;

	for (int i = 0; i < 2; i++)
		fds[TUN_A + i].fd = e->open ? e->tun[i] : -1;
	for (int i = 0; e->open && i < e->links; i++)
		next_ns = nl_sooner(next_ns, nl_link_next_ns(&e->link[i]));
	if (e->open)
		left = nl_timespec(nl_wake_comp_begin(&e->wake_comp, nl_now_ns(), next_ns,
						      e->report.next_sample_ns));
	ready = ppoll(fds, WATCHED, e->open ? &left : NULL, NULL);
	nl_wake_comp_end(&e->wake_comp, nl_now_ns());
	return ready;
}

static void emulator_serve(struct emulator *e)
{
	struct pollfd fds[WATCHED] = {[TUN_A] = {.events = POLLIN}, [TUN_B] = {.events = POLLIN}};

	nl_serve_fds(&e->serve, fds);
	while (!e->serve.stop && !e->failed) {
		uint64_t woke_ns, busy_ns;

		if (wait_for_packets(e, fds) < 0) {
			if (errno != EINTR)
				return;
			continue;
		}
		woke_ns = nl_now_ns();
		if (nl_serve_check(fds))
			return;
		if (e->open) {
			move_packets(e, nl_wake_comp_ended_by_ns(&e->wake_comp, woke_ns),
				     (int[2]){fds[TUN_A].revents, fds[TUN_B].revents});
			nl_emulate_report_sample(&e->report, e->link, nl_now_ns());
		}
		if (nl_serve_input(&e->serve, fds))
			return;
		busy_ns = nl_now_ns() - woke_ns;
		if (busy_ns > e->report.busy_max_ns)
			e->report.busy_max_ns = busy_ns;
	}
}

int nl_emulate_serve(int in_fd, int out_fd, uint64_t silence_ns)
{
	const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_RR)};
	struct emulator *e = calloc(1, sizeof(*e));
	int signal_fd, unwritten, failed;

	(void)silence_ns;
	if (!e)
		return 1;
	signal_fd = nl_signals_open();
	e->out = signal_fd < 0 ? NULL : nl_async_out_new(out_fd);
	if (!e->out) {
		nl_close(&signal_fd);
		free(e);
		return 1;
	}
	e->links = 2;
	e->tun[0] = e->tun[1] = -1;
	for (int i = 0; i < NL_LINKS; i++)
		e->opts[i].overhead_B = NL_LINK_OVERHEAD_B;
	nl_wake_comp_init(&e->wake_comp);
	/* Run before everything that is not real-time, with exact timers. Without the privilege, accuracy
	 * depends on the load of the machine. */
	prctl(PR_SET_TIMERSLACK, 1);
	e->real_time = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) == 0;
	e->serve = (struct nl_serve){.verbs = verbs, .context = e, .async_out = e->out,
				     .in_fd = in_fd, .out_fd = out_fd, .signal_fd = signal_fd};
	nl_json_bool(nl_serve_ready(&e->serve), "real_time", e->real_time);
	nl_json_u64(&e->serve.json, "t_ns", nl_now_ns());
	nl_serve_finish(&e->serve);
	emulator_serve(e);
	if (e->open) {
		send_report(e, 1, 1);
		close_path(e);
	}
	unwritten = nl_async_out_flush(e->out, nl_now_ns() + END_MS * NL_NS_PER_MS) != 0;
	failed = e->failed;
	if (unwritten) /* the writer is blocked in a write: leave its memory allocated */
		_exit(1);
	for (int i = 0; i < NL_LINKS; i++)
		nl_trace_free(&e->trace[i]);
	nl_async_out_free(e->out);
	nl_json_free(&e->serve.json);
	close(signal_fd);
	free(e);
	return failed ? 1 : 0;
}
