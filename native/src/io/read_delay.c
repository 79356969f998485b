#include "io/read_delay.h"

#include "base/clock.h"
#include "net/sockopts.h"

#include <sys/prctl.h>
#include <sys/socket.h>

enum { UPDATE_NS = 10 * 1000 * 1000, SLACK_NS = 1000 };

/* Fraction of the socket's buffer; the kernel reports twice what the window may use. */
enum { PART_OF_BUFFER = 8 };

#define FAST_Bpns 0.5

uint64_t nl_read_delay_ns(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B)
{
	double rate_Bpns = elapsed_ns ? (double)bytes / (double)elapsed_ns : 0, fills_ns;

	if (rate_Bpns < FAST_Bpns)
		return 0;
	fills_ns = (double)(rcvbuf_B / PART_OF_BUFFER) / rate_Bpns;
	if (fills_ns < NL_READ_DELAY_MIN_NS)
		return 0;
	return fills_ns > NL_READ_DELAY_MAX_NS ? NL_READ_DELAY_MAX_NS : (uint64_t)fills_ns;
}

void nl_read_delay_begin(struct nl_read_delay *delay, int fd)
{
	*delay = (struct nl_read_delay){.fd = fd, .t_ns = nl_now_ns()};
	if (fd >= 0)
		prctl(PR_SET_TIMERSLACK, SLACK_NS);
}

static void update_delay(struct nl_read_delay *delay, uint64_t bytes)
{
	uint64_t now_ns = nl_now_ns();

	if (now_ns - delay->t_ns < UPDATE_NS)
		return;
	delay->wait_ns = nl_read_delay_ns(bytes - delay->bytes, now_ns - delay->t_ns,
					  nl_sockopts_number(delay->fd, SOL_SOCKET, SO_RCVBUF));
	delay->t_ns = now_ns;
	delay->bytes = bytes;
}

void nl_read_delay_after_read(struct nl_read_delay *delay, uint64_t bytes, uint64_t read_B,
			      uint64_t room_B)
{
	struct timespec wait;

	if (delay->fd < 0)
		return;
	update_delay(delay, bytes);
	if (!nl_read_delay_allowed(read_B, room_B) || !delay->wait_ns)
		return;
	wait = nl_timespec(delay->wait_ns);
	nanosleep(&wait, NULL);
}
