#include "net/sockopts.h"

#include "base/dealt.h"
#include "base/error.h"
#include "base/request.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum { DSCP_SHIFT = 2 }; /* the bits below are those of ECN */

/* One option in the kernel's terms. */
struct row {
	const char *key, *label;
	int level, name;
	int reads_back; /* a fresh socket reads the value back */
	int wanted, value;
};

#define OPTION(key, level, name, ...) {key, #name, level, name, __VA_ARGS__}

static int set_rows(int fd, const struct row *row, size_t count, struct nl_err *err)
{
	for (const struct row *end = row + count; row < end; row++) {
		int holds = 0;
		socklen_t len = sizeof(holds);

		if (!row->wanted)
			continue;
		if (setsockopt(fd, row->level, row->name, &row->value, sizeof(row->value)))
			return nl_fail_option(err, row->key, errno, "setsockopt %s %d", row->label, row->value);
		if (row->reads_back && getsockopt(fd, row->level, row->name, &holds, &len))
			return nl_fail_option(err, row->key, errno, "getsockopt %s", row->label);
		if (row->reads_back && holds != row->value)
			return nl_fail_option(err, row->key, 0, "%s was set to %d, but reads back as %d",
					      row->label, row->value, holds);
	}
	return NL_OK;
}

int nl_sockopts_dscp(int fd, uint64_t dscp, int family, struct nl_err *err)
{
	const int value = (int)dscp << DSCP_SHIFT;
	const struct row rows[] = {
		OPTION("dscp", IPPROTO_IPV6, IPV6_TCLASS, 1, dscp && family == AF_INET6, value),
		/* an IPv6 socket uses it for a mapped address */
		OPTION("dscp", IPPROTO_IP, IP_TOS, 1, dscp != 0, value),
	};

	return set_rows(fd, rows, 2, err);
}

/* 64 bits where the kernel has them (Linux 4.20), else 32 bits; UINT64_MAX: none. 0 or -1. */
static int get_pacing(int fd, uint64_t *rate_Bps)
{
	uint32_t narrow;
	socklen_t len = sizeof(*rate_Bps);

	*rate_Bps = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, rate_Bps, &len))
		return -1;
	if (len == sizeof(narrow)) {
		memcpy(&narrow, rate_Bps, sizeof(narrow));
		*rate_Bps = narrow == UINT32_MAX ? UINT64_MAX : narrow;
	}
	return 0;
}

static int set_pacing(int fd, uint64_t rate_Bps, struct nl_err *err)
{
	uint32_t narrow = (uint32_t)rate_Bps;
	int fits = rate_Bps < UINT32_MAX, failed;
	uint64_t holds;

	if (rate_Bps == 0)
		return NL_OK;
	failed = fits ? setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &narrow, sizeof(narrow))
		      : setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate_Bps, sizeof(rate_Bps));
	if (failed)
		return nl_fail_option(err, "pacing_Bps", errno, "setsockopt SO_MAX_PACING_RATE %" PRIu64,
				      rate_Bps);
	if (get_pacing(fd, &holds))
		return nl_fail_option(err, "pacing_Bps", errno, "getsockopt SO_MAX_PACING_RATE");
	if (holds != rate_Bps)
		return nl_fail_option(err, "pacing_Bps", 0,
				      "SO_MAX_PACING_RATE was set to %" PRIu64 ", but reads back as %" PRIu64,
				      rate_Bps, holds);
	return NL_OK;
}

int nl_sockopts_congestion(int fd, const struct nl_run_opts *opts, uint64_t stream,
			   struct nl_err *err)
{
	size_t length;
	const char *name = nl_dealt_item(opts->congestion, stream, &length);
	char holds[NL_NAME_MAX] = "";
	socklen_t len = sizeof(holds) - 1;

	if (length == 0 || (length == 1 && name[0] == '-'))
		return NL_OK;
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)length))
		return nl_fail_option(err, "congestion", errno, "setsockopt TCP_CONGESTION %.*s",
				      (int)length, name);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, holds, &len))
		return nl_fail_option(err, "congestion", errno, "getsockopt TCP_CONGESTION");
	if (strlen(holds) != length || strncmp(holds, name, length) != 0)
		return nl_fail_option(err, "congestion", 0,
				      "TCP_CONGESTION was set to %.*s, but reads back as %s",
				      (int)length, name, holds);
	return NL_OK;
}

/* Buffers and code point of every socket, the rows of its kind, and the pacing rate. */
static int set_all(int fd, const struct nl_run_opts *opts, int family, const struct row *row, size_t count,
		   uint64_t pacing_Bps, struct nl_err *err)
{
	const int plain = opts->buffer_B && !opts->force_buffer, force = opts->buffer_B && opts->force_buffer;
	const int size = (int)opts->buffer_B;
	/* the kernel doubles and clips the value: the report has the result */
	const struct row buffers[] = {
		OPTION("buffer_B", SOL_SOCKET, SO_SNDBUF, 0, plain, size),
		OPTION("buffer_B", SOL_SOCKET, SO_RCVBUF, 0, plain, size),
		OPTION("buffer_B", SOL_SOCKET, SO_SNDBUFFORCE, 0, force, size),
		OPTION("buffer_B", SOL_SOCKET, SO_RCVBUFFORCE, 0, force, size),
	};

	if (set_rows(fd, buffers, 4, err) || set_rows(fd, row, count, err) ||
	    nl_sockopts_dscp(fd, opts->dscp, family, err))
		return err->code;
	return set_pacing(fd, pacing_Bps, err);
}

int nl_sockopts_set(int fd, const struct nl_run_opts *opts, int family, uint64_t stream,
		    struct nl_err *err)
{
	const struct row rows[] = {
		/* before Linux 6.5 an unconnected socket reads back the default MSS */
		OPTION("mss_B", IPPROTO_TCP, TCP_MAXSEG, 0, opts->mss_B != 0, (int)opts->mss_B),
		OPTION("nodelay", IPPROTO_TCP, TCP_NODELAY, 1, opts->nodelay != 0, 1),
		OPTION("busy_poll_us", SOL_SOCKET, SO_BUSY_POLL, 1, opts->busy_poll_us != 0, (int)opts->busy_poll_us),
	};
	uint64_t pacing_Bps =
		opts->pacings_Bps[0] ? nl_dealt_number(opts->pacings_Bps, stream) : opts->pacing_Bps;
	int code = set_all(fd, opts, family, rows, 3, opts->udp ? 0 : pacing_Bps, err);

	return code ? code : nl_sockopts_congestion(fd, opts, stream, err);
}

int nl_sockopts_datagrams(int fd, const struct nl_run_opts *opts, int family, struct nl_err *err)
{
	/* headers of Ethernet, IP and UDP count as well */
	uint64_t packet_B = opts->record_B + (family == AF_INET6 ? 62 : 42);
	int fragment = opts->fragment ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO, v6 = family == AF_INET6;
	int sink = opts->role == NL_SINK;
	const struct row rows[] = {
		OPTION("busy_poll_us", SOL_SOCKET, SO_BUSY_POLL, 1, opts->busy_poll_us != 0, (int)opts->busy_poll_us),
		OPTION("fragment", IPPROTO_IP, IP_MTU_DISCOVER, 1, !v6, fragment),
		OPTION("fragment", IPPROTO_IPV6, IPV6_MTU_DISCOVER, 1, v6, fragment),
		OPTION("gso", IPPROTO_UDP, UDP_SEGMENT, 1, opts->gso != 0, (int)opts->record_B),
		OPTION("gro", IPPROTO_UDP, UDP_GRO, 1, opts->gro != 0, 1),
		OPTION("udp", SOL_SOCKET, SO_REUSEADDR, 1, sink, 1),
		OPTION("udp", SOL_SOCKET, SO_TIMESTAMPNS, 1, sink, 1),
	};
	uint64_t paced_Bps = opts->pacing_Bps / opts->record_B * packet_B + packet_B;

	return set_all(fd, opts, family, rows, sizeof(rows) / sizeof(rows[0]), opts->kernel_pacing ? paced_Bps : 0,
		       err);
}

uint64_t nl_sockopts_number(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) ? 0 : (uint64_t)value;
}

static uint64_t dscp_of(int fd)
{
	struct sockaddr_in6 peer = {0};
	socklen_t len = sizeof(peer);
	uint64_t value;
	int v6;

	if (getpeername(fd, (struct sockaddr *)&peer, &len))
		return 0;
	v6 = peer.sin6_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr);
	value = v6 ? nl_sockopts_number(fd, IPPROTO_IPV6, IPV6_TCLASS) : nl_sockopts_number(fd, IPPROTO_IP, IP_TOS);
	return value >> DSCP_SHIFT;
}

void nl_sockopts_describe(int fd, struct nl_stream_report *out)
{
	out->mss_B = nl_sockopts_number(fd, IPPROTO_TCP, TCP_MAXSEG);
	out->nodelay = nl_sockopts_number(fd, IPPROTO_TCP, TCP_NODELAY) != 0;
	out->busy_poll_us = nl_sockopts_number(fd, SOL_SOCKET, SO_BUSY_POLL);
	out->sndbuf_start_B = nl_sockopts_number(fd, SOL_SOCKET, SO_SNDBUF);
	out->rcvbuf_start_B = nl_sockopts_number(fd, SOL_SOCKET, SO_RCVBUF);
	out->dscp = dscp_of(fd);
	if (get_pacing(fd, &out->pacing_Bps) || out->pacing_Bps == UINT64_MAX)
		out->pacing_Bps = 0;
}
