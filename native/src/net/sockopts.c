#include "net/sockopts.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

enum { DSCP_SHIFT = 2, ECN_BITS = 3 };

static int get_int(int fd, int level, int name, int *out)
{
	socklen_t len = sizeof(*out);

	*out = 0;
	return getsockopt(fd, level, name, out, &len) ? errno : 0;
}

/* One option in the kernel's terms. */
struct row {
	const char *key, *label;
	int level, name;
	int reads_back; /* a fresh socket reads the value back */
};

static int set_row(int fd, const struct row *row, int value, struct nl_err *err)
{
	int holds, errnum;

	if (setsockopt(fd, row->level, row->name, &value, sizeof(value)))
		return nl_fail_option(err, row->key, errno, "setsockopt %s %d", row->label, value);
	errnum = get_int(fd, row->level, row->name, &holds);
	if (errnum)
		return nl_fail_option(err, row->key, errnum, "getsockopt %s", row->label);
	if (row->reads_back && holds != value)
		return nl_fail_option(err, row->key, 0, "%s was set to %d, but reads back as %d",
				      row->label, value, holds);
	return NL_OK;
}

static int set_buffers(int fd, const struct nl_run_opts *opts, struct nl_err *err)
{
	static const struct {
		int plain, force;
		const char *name;
	} row[] = {{SO_SNDBUF, SO_SNDBUFFORCE, "SO_SNDBUF"}, {SO_RCVBUF, SO_RCVBUFFORCE, "SO_RCVBUF"}};
	int size = (int)opts->buffer_B;

	if (opts->buffer_B == 0)
		return NL_OK;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int option = opts->force_buffer ? row[i].force : row[i].plain;

		/* the kernel doubles and clips the value: the report has the result */
		if (setsockopt(fd, SOL_SOCKET, option, &size, sizeof(size)))
			return nl_fail_option(err, "buffer_B", errno, "setsockopt %s%s %d", row[i].name,
					      opts->force_buffer ? "FORCE" : "", size);
	}
	return NL_OK;
}

int nl_sockopts_dscp(int fd, uint64_t dscp, int family, struct nl_err *err)
{
	static const struct row v4 = {"dscp", "IP_TOS", IPPROTO_IP, IP_TOS, 1};
	static const struct row v6 = {"dscp", "IPV6_TCLASS", IPPROTO_IPV6, IPV6_TCLASS, 1};
	int value = (int)dscp << DSCP_SHIFT;

	if (dscp == 0)
		return NL_OK;
	if (family == AF_INET6 && set_row(fd, &v6, value, err))
		return err->code;
	return set_row(fd, &v4, value, err); /* an IPv6 socket uses IPv4 for a mapped address */
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

uint64_t nl_sockopts_congestions(const struct nl_run_opts *opts)
{
	uint64_t items = 1;

	for (const char *at = opts->congestion; *at; at++)
		items += *at == ',';
	return items;
}

int nl_sockopts_congestion(int fd, const struct nl_run_opts *opts, uint64_t stream,
			   struct nl_err *err)
{
	uint64_t skip = stream % nl_sockopts_congestions(opts);
	const char *name = opts->congestion;
	char holds[NL_NAME_MAX] = "";
	socklen_t len = sizeof(holds) - 1;
	size_t length;

	while (skip-- > 0)
		name = strchr(name, ',') + 1;
	length = strcspn(name, ",");
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

int nl_sockopts_set(int fd, const struct nl_run_opts *opts, int family, uint64_t stream,
		    struct nl_err *err)
{
	const struct {
		struct row row;
		uint64_t value;
	} plain[] = {
		/* before Linux 6.5 an unconnected socket reads back the default MSS */
		{{"mss_B", "TCP_MAXSEG", IPPROTO_TCP, TCP_MAXSEG, 0}, opts->mss_B},
		{{"nodelay", "TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 1}, opts->nodelay},
		{{"busy_poll_us", "SO_BUSY_POLL", SOL_SOCKET, SO_BUSY_POLL, 1}, opts->busy_poll_us},
	};
	int code = set_buffers(fd, opts, err);

	for (size_t i = 0; !code && i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].value)
			code = set_row(fd, &plain[i].row, (int)plain[i].value, err);
	if (!code)
		code = nl_sockopts_dscp(fd, opts->dscp, family, err);
	if (!code && !opts->udp)
		code = set_pacing(fd, opts->pacing_Bps, err);
	return code ? code : nl_sockopts_congestion(fd, opts, stream, err);
}

int nl_sockopts_datagrams(int fd, const struct nl_run_opts *opts, int family, struct nl_err *err)
{
	/* headers of Ethernet, IP and UDP count as well */
	uint64_t packet_B = opts->record_B + (family == AF_INET6 ? 62 : 42);
	int fragment = opts->fragment ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO, v6 = family == AF_INET6;
	const struct {
		struct row row;
		int wanted, value;
	} plain[] = {
		{{"busy_poll_us", "SO_BUSY_POLL", SOL_SOCKET, SO_BUSY_POLL, 1}, opts->busy_poll_us != 0,
		 (int)opts->busy_poll_us},
		{{"fragment", "IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER, 1}, !v6, fragment},
		{{"fragment", "IPV6_MTU_DISCOVER", IPPROTO_IPV6, IPV6_MTU_DISCOVER, 1}, v6, fragment},
		{{"gso", "UDP_SEGMENT", IPPROTO_UDP, UDP_SEGMENT, 1}, opts->gso != 0, (int)opts->record_B},
		{{"gro", "UDP_GRO", IPPROTO_UDP, UDP_GRO, 1}, opts->gro != 0, 1},
		{{"udp", "SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1}, opts->role == NL_SINK, 1},
		{{"udp", "SO_TIMESTAMPNS", SOL_SOCKET, SO_TIMESTAMPNS, 1}, opts->role == NL_SINK, 1},
	};
	int code = set_buffers(fd, opts, err);

	for (size_t i = 0; !code && i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].wanted)
			code = set_row(fd, &plain[i].row, plain[i].value, err);
	if (!code)
		code = nl_sockopts_dscp(fd, opts->dscp, family, err);
	if (!code && opts->kernel_pacing)
		code = set_pacing(fd, opts->pacing_Bps / opts->record_B * packet_B + packet_B, err);
	return code;
}

static uint64_t dscp_of(int fd)
{
	struct sockaddr_in6 peer;
	socklen_t len = sizeof(peer);
	int value, v6;

	memset(&peer, 0, sizeof(peer));
	if (getpeername(fd, (struct sockaddr *)&peer, &len))
		return 0;
	v6 = peer.sin6_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr);
	if (v6 ? get_int(fd, IPPROTO_IPV6, IPV6_TCLASS, &value)
	       : get_int(fd, IPPROTO_IP, IP_TOS, &value))
		return 0;
	return (uint64_t)(value & ~ECN_BITS) >> DSCP_SHIFT;
}

void nl_sockopts_describe(int fd, struct nl_stream_report *out)
{
	const struct {
		int level, name;
		uint64_t *out;
	} plain[] = {
		{IPPROTO_TCP, TCP_MAXSEG, &out->mss_B},
		{IPPROTO_TCP, TCP_NODELAY, &out->nodelay},
		{SOL_SOCKET, SO_BUSY_POLL, &out->busy_poll_us},
		{SOL_SOCKET, SO_SNDBUF, &out->sndbuf_start_B},
		{SOL_SOCKET, SO_RCVBUF, &out->rcvbuf_start_B},
	};
	int value;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		*plain[i].out = get_int(fd, plain[i].level, plain[i].name, &value) ? 0 : (uint64_t)value;
	out->nodelay = out->nodelay != 0;
	out->dscp = dscp_of(fd);
	if (get_pacing(fd, &out->pacing_Bps) || out->pacing_Bps == UINT64_MAX)
		out->pacing_Bps = 0;
}
