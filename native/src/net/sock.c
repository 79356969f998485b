#include "net/sock.h"

#include "base/dealt.h"
#include "base/error.h"
#include "base/files.h"
#include "net/sockopts.h"
#include "net/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int nl_address_parse(const char *text, uint64_t port, struct nl_address *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&out->storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->storage;
	char bare[NL_ADDRESS_MAX];
	const char *scope = strchr(text, '%');
	size_t len = scope ? (size_t)(scope - text) : strlen(text);

	if (len >= sizeof(bare) || port > 65535)
		return -1;
	memcpy(bare, text, len);
	bare[len] = '\0';
	memset(out, 0, sizeof(*out));
	if (!scope && inet_pton(AF_INET, bare, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		out->len = sizeof(*v4);
		return 0;
	}
	if (inet_pton(AF_INET6, bare, &v6->sin6_addr) != 1)
		return -1;
	if (scope) {
		v6->sin6_scope_id = if_nametoindex(scope + 1);
		if (v6->sin6_scope_id == 0)
			return -1;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	out->len = sizeof(*v6);
	return 0;
}

/* sin_port and sin6_port have the same offset */
static uint16_t *port_of(struct nl_address *address)
{
	return &((struct sockaddr_in *)&address->storage)->sin_port;
}

int nl_address_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return 0;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		      &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* Bind to an address. One of a VRF is none of the host's for a socket outside: try once more as one
 * of the interface that the run meters, by which the kernel chooses the VRF. */
static int bind_to(int fd, const struct nl_run_opts *opts, const struct sockaddr *to, socklen_t len)
{
	if (bind(fd, to, len) == 0)
		return 0;
	if (errno != EADDRNOTAVAIL || opts->interface[0] == '\0')
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, opts->interface, (socklen_t)strlen(opts->interface)) ||
	    bind(fd, to, len)) {
		errno = EADDRNOTAVAIL; /* the reason of the first attempt */
		return -1;
	}
	return 0;
}

static int bind_from(int fd, const struct nl_run_opts *opts, uint64_t port, struct nl_err *err)
{
	struct nl_address address;

	if (nl_address_parse(opts->from, port, &address))
		return nl_fail_key(err, "from", "%s is not a numeric address", opts->from);
	/* Choose the port at connect, so that streams to several sinks may share one. */
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
	/* ports of earlier runs, in TIME_WAIT, are bound again for another port of a sink */
	if (port)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind_to(fd, opts, (struct sockaddr *)&address.storage, address.len)) {
		int error = errno, code = nl_fail_errno(err, error, "bind %s", opts->from);

		errno = error; /* the caller may try another port */
		return code;
	}
	return NL_OK;
}

static int new_socket(int family, int type, int *fd, struct nl_err *err)
{
	*fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *fd < 0 ? nl_fail_errno(err, errno, "socket") : NL_OK;
}

/* Source port of a stream, and another of its range for every further attempt; 0: any. */
static uint64_t source_port(const struct nl_run_opts *opts, uint64_t stream, uint64_t attempt)
{
	uint64_t first = stream < opts->streams ? nl_dealt_number(opts->source_ports, stream) : 0;

	return first ? first + (opts->run % opts->source_span + stream + attempt * opts->streams) %
				       opts->source_span
		     : 0;
}

int nl_sock_connect(const struct nl_run_opts *opts, uint64_t stream, int *fd, struct nl_err *err)
{
	struct nl_address to;

	if (nl_address_parse(opts->address, opts->port, &to))
		return nl_fail_key(err, "to", "%s is not a numeric address", opts->address);
	for (uint64_t attempt = 1;; attempt++) {
		uint64_t port = source_port(opts, stream, attempt);
		int again = port && attempt * opts->streams < opts->source_span;

		if (new_socket(to.storage.ss_family, SOCK_STREAM, fd, err) ||
		    nl_sockopts_set(*fd, opts, to.storage.ss_family, stream, err))
			return err->code;
		errno = 0;
		if (opts->from[0] && bind_from(*fd, opts, port, err)) {
			if (errno != EADDRINUSE || !again)
				return err->code;
		} else if (connect(*fd, (const struct sockaddr *)&to.storage, to.len) == 0 || errno == EINPROGRESS) {
			return NL_OK;
		} else if (errno != EADDRNOTAVAIL || !again) {
			return nl_fail_errno(err, errno, "connect to %s port %" PRIu64, opts->address, opts->port);
		}
		nl_close(fd); /* another connection has the port */
	}
}

int nl_sock_listen(const struct nl_run_opts *opts, int backlog, int *fd, uint32_t *port,
		   struct nl_err *err)
{
	struct nl_address address;
	int code;

	if (nl_address_parse(opts->address, opts->port, &address))
		return nl_fail_key(err, "bind", "%s is not a numeric address", opts->address);
	if (new_socket(address.storage.ss_family, SOCK_STREAM, fd, err))
		return err->code;
	code = nl_sockopts_set(*fd, opts, address.storage.ss_family, 0, err);
	/* report an unsupported option of any stream here; the listener keeps stream 0's */
	for (uint64_t i = nl_dealt_streams(opts->congestion); !code && i-- > 0;)
		code = nl_sockopts_congestion(*fd, opts, i, err);
	/* allow the next run to bind the same port despite TIME_WAIT */
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (address.storage.ss_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
	if (code)
		; /* err is filled */
	else if (bind_to(*fd, opts, (struct sockaddr *)&address.storage, address.len))
		code = nl_fail_errno(err, errno, "bind %s port %" PRIu64, opts->address, opts->port);
	else if (listen(*fd, backlog))
		code = nl_fail_errno(err, errno, "listen on %s port %" PRIu64, opts->address, opts->port);
	else if (getsockname(*fd, (struct sockaddr *)&address.storage, &address.len))
		code = nl_fail_errno(err, errno, "getsockname");
	if (code)
		nl_close(fd);
	*port = ntohs(*port_of(&address));
	return code;
}

/* Let the kernel drop what is no probe of the run before it takes room in the buffer: a flood of
 * others, read late, would displace probes. It counts as dropped. Optional: what passes is parsed. */
static void accept_probes_only(int fd, const struct nl_run_opts *opts)
{
	enum { UDP_HEADER_B = 8, KIND_AT = 8, SEQUENCE_AT = 40, WORDS = SEQUENCE_AT / 4 - 1 };
	struct sock_filter step[2 + 2 * WORDS + 2], *at = step;
	struct sock_fprog program = {.len = sizeof(step) / sizeof(*step), .filter = step};
	uint8_t wanted[NL_PROBE_B];
	uint8_t left = 2 * WORDS + 1; /* steps after the next comparison, but the last */

	nl_probe_write(wanted, opts, &(struct nl_probe){0});
	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0);
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UDP_HEADER_B + NL_PROBE_B, 0, left);
	for (uint32_t byte = 0; byte < SEQUENCE_AT; byte += 4) {
		uint32_t word;

		if (byte == KIND_AT)
			continue;
		memcpy(&word, wanted + byte, sizeof(word));
		left -= 2;
		*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UDP_HEADER_B + byte);
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(word), 0, left);
	}
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int open_probe(int fd, const struct nl_run_opts *opts, const struct nl_address *address,
		      struct nl_err *err)
{
	const struct sockaddr *to = (const struct sockaddr *)&address->storage;

	if (opts->latency_interval_ms)
		accept_probes_only(fd, opts);
	if (opts->udp) /* the streams' sockets have the same port */
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int)))
		return nl_fail_errno(err, errno, "SO_TIMESTAMPNS");
	if (nl_sockopts_dscp(fd, opts->latency_dscp, address->storage.ss_family, err))
		return err->code;
	if (opts->role == NL_GEN) {
		if (opts->from[0] && bind_from(fd, opts, 0, err))
			return err->code;
		return connect(fd, to, address->len) ? nl_fail_errno(err, errno, "connect to %s", opts->address) : NL_OK;
	}
	if (address->storage.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
	return bind_to(fd, opts, to, address->len)
		       ? nl_fail_option(err, opts->udp ? "udp" : "latency_interval_ms", errno, "bind %s UDP port",
					opts->address)
		       : NL_OK;
}

int nl_sock_probe(const struct nl_run_opts *opts, uint32_t port, int *fd, struct nl_err *err)
{
	struct nl_address address;

	if (nl_address_parse(opts->address, port, &address))
		return nl_fail_key(err, opts->role == NL_GEN ? "to" : "bind", "%s is not a numeric address",
				   opts->address);
	if (new_socket(address.storage.ss_family, SOCK_DGRAM, fd, err))
		return err->code;
	return open_probe(*fd, opts, &address, err);
}

static int check_mtu(const struct nl_run_opts *opts, int fd, int family, struct nl_err *err)
{
	int v6 = family == AF_INET6, mtu_B = 0;
	uint64_t packet_B = opts->record_B + (v6 ? 48 : 28); /* headers of IP and UDP */
	socklen_t len = sizeof(mtu_B);

	if (opts->fragment)
		return NL_OK;
	if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu_B, &len))
		return nl_fail_errno(err, errno, "getsockopt IP_MTU");
	if (packet_B > (uint64_t)mtu_B)
		return nl_fail_option(err, "record_B", 0, "a packet of %" PRIu64 " B exceeds the MTU of %d B: send fewer "
				      "bytes, or set fragment", packet_B, mtu_B);
	return NL_OK;
}

int nl_sock_datagrams(const struct nl_run_opts *opts, int tcp, uint16_t *port, int *fd, struct nl_err *err)
{
	struct nl_address own = {.len = sizeof(own.storage)}, peer = {.len = sizeof(peer.storage)};
	int gen = opts->role == NL_GEN, family;

	if (getsockname(tcp, (struct sockaddr *)&own.storage, &own.len) ||
	    getpeername(tcp, (struct sockaddr *)&peer.storage, &peer.len))
		return nl_fail_errno(err, errno, "addresses of a connection");
	family = own.storage.ss_family;
	if (new_socket(family, SOCK_DGRAM, fd, err) || nl_sockopts_datagrams(*fd, opts, family, err))
		return err->code;
	*port_of(gen ? &own : &peer) = gen ? 0 : htons(*port);
	if (bind_to(*fd, opts, (const struct sockaddr *)&own.storage, own.len))
		return nl_fail_option(err, "udp", errno, "bind UDP port %d", ntohs(*port_of(&own)));
	if (connect(*fd, (const struct sockaddr *)&peer.storage, peer.len) ||
	    getsockname(*fd, (struct sockaddr *)&own.storage, &own.len))
		return nl_fail_option(err, "udp", errno, "connect a datagram socket");
	if (!gen)
		return NL_OK;
	*port = ntohs(*port_of(&own));
	return check_mtu(opts, *fd, family, err);
}

uint64_t nl_sock_drops(int fd)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(memory);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &len);
	return memory[SK_MEMINFO_DROPS];
}

int nl_sock_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

void nl_sock_describe(int fd, struct nl_stream_report *out)
{
	socklen_t len = sizeof(out->congestion) - 1;

	out->sndbuf_B = nl_sockopts_number(fd, SOL_SOCKET, SO_SNDBUF);
	out->rcvbuf_B = nl_sockopts_number(fd, SOL_SOCKET, SO_RCVBUF);
	memset(out->congestion, 0, sizeof(out->congestion));
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, out->congestion, &len))
		out->congestion[0] = '\0';
}

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
	uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd;
};

_Static_assert(offsetof(struct kernel_tcp_info, rtt) == 68, "tcpi_rtt");
_Static_assert(offsetof(struct kernel_tcp_info, total_retrans) == 100, "tcpi_total_retrans");
_Static_assert(offsetof(struct kernel_tcp_info, bytes_acked) == 120, "tcpi_bytes_acked");
_Static_assert(offsetof(struct kernel_tcp_info, delivery_rate) == 160, "tcpi_delivery_rate");
_Static_assert(offsetof(struct kernel_tcp_info, bytes_sent) == 200, "tcpi_bytes_sent");
_Static_assert(offsetof(struct kernel_tcp_info, snd_wnd) == 228, "tcpi_snd_wnd");

void nl_tcpinfo_parse(const void *info, size_t len, struct nl_tcp *out)
{
	struct kernel_tcp_info k;

	memset(&k, 0, sizeof(k));
	memcpy(&k, info, len < sizeof(k) ? len : sizeof(k));
	*out = (struct nl_tcp){
		.rtt_us = k.rtt, .rttvar_us = k.rttvar, .min_rtt_us = k.min_rtt,
		.cwnd_segments = k.snd_cwnd, .ssthresh_segments = k.snd_ssthresh,
		.mss_B = k.snd_mss, .rcv_mss_B = k.rcv_mss, .pmtu_B = k.pmtu,
		.retransmits = k.total_retrans, .lost = k.lost, .reordering = k.reordering,
		.busy_us = k.busy_time, .rwnd_limited_us = k.rwnd_limited,
		.sndbuf_limited_us = k.sndbuf_limited,
		.bytes_acked = k.bytes_acked, .bytes_received = k.bytes_received,
		.bytes_sent = k.bytes_sent, .bytes_retransmitted = k.bytes_retrans,
		.segs_out = k.segs_out, .segs_in = k.segs_in, .delivered_ce = k.delivered_ce,
		.delivery_rate_Bps = k.delivery_rate, .rcv_space_B = k.rcv_space,
		.notsent_B = k.notsent_bytes, .peer_window_B = k.snd_wnd,
		.snd_wscale = k.snd_wscale, .rcv_wscale = k.rcv_wscale, .options = k.options,
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
