#include "io/linger.h"

#include "base/clock.h"
#include "netlab.h"

#include <sys/prctl.h>
#include <sys/socket.h>

enum { LOOK_NS = 10 * 1000 * 1000, SLACK_NS = 1000 };

/* Of the socket's buffer; the kernel counts twice what it lets a window hold. */
enum { PART_OF_BUFFER = 8 };

#define FAST_Bpns 0.5

uint64_t nl_linger_ns(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B)
{
	double rate_Bpns = elapsed_ns ? (double)bytes / (double)elapsed_ns : 0, fills_ns;

	if (rate_Bpns < FAST_Bpns)
		return 0;
	fills_ns = (double)(rcvbuf_B / PART_OF_BUFFER) / rate_Bpns;
	if (fills_ns < NL_LINGER_MIN_NS)
		return 0;
	return fills_ns > NL_LINGER_MAX_NS ? NL_LINGER_MAX_NS : (uint64_t)fills_ns;
}

void nl_linger_begin(struct nl_linger *linger, int fd)
{
	*linger = (struct nl_linger){.fd = fd, .t_ns = nl_now_ns()};
	if (fd >= 0)
		prctl(PR_SET_TIMERSLACK, SLACK_NS);
}

static void look(struct nl_linger *linger, uint64_t bytes)
{
	uint64_t now_ns = nl_now_ns();
	int rcvbuf_B;
	socklen_t len = sizeof(rcvbuf_B);

	if (now_ns - linger->t_ns < LOOK_NS)
		return;
	if (getsockopt(linger->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_B, &len))
		rcvbuf_B = 0;
	linger->wait_ns = nl_linger_ns(bytes - linger->bytes, now_ns - linger->t_ns, (uint64_t)rcvbuf_B);
	linger->t_ns = now_ns;
	linger->bytes = bytes;
}

void nl_linger_after(struct nl_linger *linger, uint64_t bytes, uint64_t read_B, uint64_t room_B)
{
	struct timespec wait;

	if (linger->fd < 0)
		return;
	look(linger, bytes);
	if (!nl_linger_may(read_B, room_B) || !linger->wait_ns)
		return;
	wait = nl_timespec(linger->wait_ns);
	nanosleep(&wait, NULL);
}
