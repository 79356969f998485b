/* tcpinfo: TCP_INFO of a socket, whatever its kernel's age. */
#ifndef NL_TCPINFO_H
#define NL_TCPINFO_H

#include "netlab.h"

/* Turn len bytes of kernel struct tcp_info into *out; what is missing is 0. Pure. */
void nl_tcpinfo_parse(const void *info, size_t len, struct nl_tcp *out);

/* 0, or -1 with errno. */
int nl_tcpinfo_read(int fd, struct nl_tcp *out);

#endif
