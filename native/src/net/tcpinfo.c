#include "net/tcpinfo.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel's struct tcp_info, from linux/tcp.h: an ABI that only grows at its end. Declared here
 * because the C library's header may be older than the kernel; the kernel copies as many bytes as
 * both have. */
struct kernel_tcp_info {
	uint8_t state, ca_state, retransmits, probes, backoff, options;
	uint8_t snd_wscale : 4, rcv_wscale : 4, flags;
	uint32_t rto, ato, snd_mss, rcv_mss;
	uint32_t unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;
};

_Static_assert(offsetof(struct kernel_tcp_info, rtt) == 68, "tcpi_rtt");
_Static_assert(offsetof(struct kernel_tcp_info, total_retrans) == 100, "tcpi_total_retrans");
_Static_assert(offsetof(struct kernel_tcp_info, bytes_acked) == 120, "tcpi_bytes_acked");
_Static_assert(offsetof(struct kernel_tcp_info, delivery_rate) == 160, "tcpi_delivery_rate");
_Static_assert(offsetof(struct kernel_tcp_info, bytes_sent) == 200, "tcpi_bytes_sent");

void nl_tcpinfo_parse(const void *info, size_t len, struct nl_tcp *out)
{
	struct kernel_tcp_info k;

	memset(&k, 0, sizeof(k));
	memcpy(&k, info, len < sizeof(k) ? len : sizeof(k));
	*out = (struct nl_tcp){
		.rtt_us = k.rtt,
		.rttvar_us = k.rttvar,
		.min_rtt_us = k.min_rtt,
		.cwnd_segments = k.snd_cwnd,
		.ssthresh_segments = k.snd_ssthresh,
		.mss_B = k.snd_mss,
		.rcv_mss_B = k.rcv_mss,
		.retransmits = k.total_retrans,
		.lost = k.lost,
		.reordering = k.reordering,
		.busy_us = k.busy_time,
		.rwnd_limited_us = k.rwnd_limited,
		.sndbuf_limited_us = k.sndbuf_limited,
		.bytes_acked = k.bytes_acked,
		.bytes_received = k.bytes_received,
		.bytes_sent = k.bytes_sent,
		.bytes_retransmitted = k.bytes_retrans,
		.segs_out = k.segs_out,
		.segs_in = k.segs_in,
		.delivery_rate_Bps = k.delivery_rate,
		.rcv_space_B = k.rcv_space,
		.snd_wscale = k.snd_wscale,
		.rcv_wscale = k.rcv_wscale,
		.options = k.options,
	};
}

int nl_tcpinfo_read(int fd, struct nl_tcp *out)
{
	struct kernel_tcp_info k;
	socklen_t len = sizeof(k);

	memset(&k, 0, sizeof(k));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &k, &len))
		return -1;
	nl_tcpinfo_parse(&k, len, out);
	return 0;
}
