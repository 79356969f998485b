#include "run/probe_channel.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

enum { CONTROL_B = 128, NOW = MSG_DONTWAIT | MSG_NOSIGNAL };

/* Time that the kernel stamped, or the present: it begins to stamp some time after it is asked to. */
static uint64_t stamp_of(struct msghdr *message)
{
	struct timespec t = nl_timespec(nl_clock_ns(CLOCK_REALTIME));

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&t, CMSG_DATA(c), sizeof(t));
	return nl_timespec_ns(t);
}

/* Read at most room_B more bytes, with sender and time; returns as recvmsg(). */
static ssize_t read_stamped(struct nl_probe_channel *c, size_t room_B, struct nl_probe_arrival *out)
{
	_Alignas(struct cmsghdr) uint8_t control[CONTROL_B];
	struct iovec vector = {c->in + c->have_B, room_B};
	struct msghdr message = {.msg_name = &out->from, .msg_namelen = sizeof(out->from),
				 .msg_iov = &vector, .msg_iovlen = 1,
				 .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(atomic_load(&c->fd), &message, MSG_DONTWAIT);
	struct nl_clocks now;

	if (n < 0)
		return n;
	nl_clocks_read(&now);
	out->t_ns = nl_stamp_ns(c->stamps, &now, nl_now_ns(), stamp_of(&message));
	c->report->clock_steps = c->stamps->steps.steps;
	out->from_len = message.msg_namelen;
	return n;
}

static enum nl_probe_read datagram_receive(struct nl_probe_channel *c, struct nl_probe_arrival *out)
{
	ssize_t n = read_stamped(c, sizeof(c->in), out);

	if (n < 0) /* an ICMP error, as of a port without a sink: that probe is lost */
		return errno == EAGAIN ? NL_PROBE_NONE : NL_PROBE_OTHER;
	if (c->from->len && !nl_address_same_host(&out->from, &c->from->storage)) {
		c->report->foreign++;
		return NL_PROBE_OTHER;
	}
	if (nl_probe_parse(c->in, (size_t)n, c->opts, &out->probe) == 0)
		return NL_PROBE_ARRIVED;
	c->report->invalid++;
	return NL_PROBE_OTHER;
}

static int datagram_send(struct nl_probe_channel *c, const struct nl_probe *probe,
			 const struct nl_probe_arrival *to)
{
	int fd = atomic_load(&c->fd);

	nl_probe_write(c->out, c->opts, probe);
	if (to)
		return sendto(fd, c->out, NL_PROBE_B, NOW, (const struct sockaddr *)&to->from, to->from_len) > 0;
	return send(fd, c->out, NL_PROBE_B, NOW) > 0;
}

static enum nl_probe_read stream_receive(struct nl_probe_channel *c, struct nl_probe_arrival *out)
{
	ssize_t n = read_stamped(c, NL_PROBE_B - c->have_B, out);

	if (n < 0 && errno == EAGAIN)
		return NL_PROBE_NONE;
	if (n <= 0) {
		c->is_over = c->is_closed = 1;
		return NL_PROBE_NONE;
	}
	c->latest_ns = out->t_ns && out->t_ns < c->latest_ns ? c->latest_ns : out->t_ns;
	out->t_ns = c->latest_ns;
	c->have_B += (uint32_t)n;
	if (c->have_B < NL_PROBE_B)
		return NL_PROBE_OTHER;
	c->have_B = 0;
	if (nl_probe_parse(c->in, NL_PROBE_B, c->opts, &out->probe) == 0)
		return NL_PROBE_ARRIVED;
	c->report->invalid++;
	c->is_over = 1; /* nobody knows where the next one begins */
	return NL_PROBE_OTHER;
}

static int stream_send(struct nl_probe_channel *c, const struct nl_probe *probe,
		       const struct nl_probe_arrival *to)
{
	int fd = atomic_load(&c->fd);
	ssize_t n;

	(void)to; /* the peer */
	if (c->unsent_B) { /* the rest of what went before */
		n = send(fd, c->out + NL_PROBE_B - c->unsent_B, c->unsent_B, NOW);
		c->unsent_B -= n > 0 ? (uint32_t)n : 0;
		if (c->unsent_B)
			return 0;
	}
	nl_probe_write(c->out, c->opts, probe);
	n = send(fd, c->out, NL_PROBE_B, NOW);
	c->unsent_B = n > 0 ? NL_PROBE_B - (uint32_t)n : 0;
	return n > 0;
}

const struct nl_probe_transport nl_probe_datagrams = {datagram_receive, datagram_send};
const struct nl_probe_transport nl_probe_stream = {stream_receive, stream_send};

int nl_probe_receive(struct nl_probe_channel *channel, int *budget, struct nl_probe_arrival *out)
{
	while (nl_probe_fd(channel) >= 0 && (*budget)-- > 0) {
		enum nl_probe_read read = channel->transport->receive(channel, out);

		if (read != NL_PROBE_OTHER)
			return read == NL_PROBE_ARRIVED;
	}
	return 0;
}
