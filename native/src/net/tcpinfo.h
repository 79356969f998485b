/* tcpinfo: TCP_INFO of a socket, for kernels of any age. */
#ifndef NL_TCPINFO_H
#define NL_TCPINFO_H

#include "netlab.h"

/* Convert len bytes of the kernel's struct tcp_info to *out; missing fields are 0. Pure. */
void nl_tcpinfo_parse(const void *info, size_t len, struct nl_tcp *out);

/* 0, or -1 with errno. */
int nl_tcpinfo_read(int fd, struct nl_tcp *out);

#endif
