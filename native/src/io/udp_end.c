#include "io/udp_end.h"

#include "base/clock.h"
#include "net/sock.h"

#include <endian.h>
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
	QUEUE_MS = 1000, /* limit of the wait for what the kernel has not sent */
	/* What has not arrived this long, and four round trips, after the gen has ended is lost. */
	SILENCE_MS = 250,
	SILENCE_RTTS = 4,
};

int nl_udp_end_send(struct nl_stream *stream, uint64_t now_ns)
{
	uint64_t number = htobe64(stream->flow->sequence.count.sent);
	int queued_B = 0;

	/* the connection does not wait for the datagrams */
	if (!stream->flow->quiet_ns)
		stream->flow->quiet_ns = now_ns + QUEUE_MS * NL_NS_PER_MS;
	if (now_ns < stream->flow->quiet_ns && ioctl(stream->flow->fd, SIOCOUTQ, &queued_B) == 0 && queued_B > 0)
		return -1;
	return send(stream->fd, &number, sizeof(number), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(number)
		       ? 0 : errno;
}

int nl_udp_end_receive(struct nl_stream *stream, const struct nl_run_opts *opts)
{
	struct nl_flow *flow = stream->flow;
	struct nl_tcp tcp = {0};
	uint64_t number;
	ssize_t n = recv(stream->fd, &number, sizeof(number), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n != (ssize_t)sizeof(number))
		return n < 0 ? errno : ECONNRESET;
	flow->sequence.count.sent = be64toh(number);
	nl_tcpinfo_read(stream->fd, &tcp);
	flow->silence_ns = nl_sooner(SILENCE_MS * NL_NS_PER_MS + SILENCE_RTTS * 1000 * tcp.rtt_us,
				     opts->drain_ms * NL_NS_PER_MS / 2);
	nl_udp_end_postpone(flow);
	return 0;
}

void nl_udp_end_postpone(struct nl_flow *flow)
{
	flow->quiet_ns = nl_now_ns() + flow->silence_ns;
}

int nl_udp_end_reached(const struct nl_flow *flow)
{
	return flow->sequence.count.received >= flow->sequence.count.sent || nl_now_ns() >= flow->quiet_ns;
}

void nl_flow_describe(const struct nl_flow *flow, const struct nl_run_opts *opts, struct nl_stream_report *out)
{
	out->has_udp = 1;
	out->pacing_Bps = opts->pacing_Bps;
	out->udp = flow->sequence.count;
	if (opts->role == NL_GEN)
		return;
	out->udp.lost = out->udp.sent > out->udp.received ? out->udp.sent - out->udp.received : 0;
	out->udp.jitter_ns = nl_jitter_ns(&flow->jitter);
	out->udp.socket_drops = nl_sock_drops(flow->fd);
}
