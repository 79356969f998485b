/* sock: data sockets: numeric addresses, and the options to set before connect or listen, so that
 * the window scale offered fits the buffer. */
#pragma once

#include "netlab.h"

#include <sys/socket.h>

struct nl_address {
	struct sockaddr_storage storage;
	socklen_t len;
};

/* Parse numeric IPv4, or IPv6 with an optional %interface. 0, or -1. Pure, except for
 * if_nametoindex(). */
int nl_address_parse(const char *text, uint64_t port, struct nl_address *out);

/* True if family and address are equal; the ports may differ. */
int nl_address_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* A socket with the options of the run and that stream, nonblocking and close-on-exec, that begins to
 * connect to the sink, bound to opts->from unless it is empty; the kernel chooses the port. The caller closes
 * *fd also after an error, unless it is negative. */
int nl_sock_connect(const struct nl_run_opts *opts, uint64_t stream, int *fd, struct nl_err *err);

/* The same, bound to the sink's address and listening; *port receives the bound port. */
int nl_sock_listen(const struct nl_run_opts *opts, int backlog, int *fd, uint32_t *port,
		   struct nl_err *err);

/* A datagram socket with arrival times of the kernel: of a gen connected to the sink, of a sink bound to
 * port, which may be in use; of a UDP run the streams' sockets are bound to it as well. Of a run with a latency
 * probe it takes those of the run alone. *fd is the caller's, as above. */
int nl_sock_probe(const struct nl_run_opts *opts, uint32_t port, int *fd, struct nl_err *err);

/* A socket for the datagrams of a stream, connected to the same peer as its TCP connection. *port is that of
 * the gen's socket: set for a gen, taken for a sink. NL_REFUSED for records that the MTU does not allow. */
int nl_sock_datagrams(const struct nl_run_opts *opts, int tcp, uint16_t *port, int *fd, struct nl_err *err);

/* Number of datagrams that a socket has dropped, by its filter, receive buffer or checksums. */
uint64_t nl_sock_drops(int fd);

int nl_sock_blocking(int fd); /* make it blocking. 0, or -1 with errno */

/* Read the values in force at the end into sndbuf_B, rcvbuf_B and congestion. */
void nl_sock_describe(int fd, struct nl_stream_report *out);

/* TCP_INFO of a socket, for kernels of any age. */
/* Convert len bytes of the kernel's struct tcp_info to *out; missing fields are 0. Pure. */
void nl_tcpinfo_parse(const void *info, size_t len, struct nl_tcp *out);

/* 0, or -1 with errno. */
int nl_tcpinfo_read(int fd, struct nl_tcp *out);
