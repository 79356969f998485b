#include "lowat.h"

#include "clock.h"
#include "netlab.h"

#include <sys/socket.h>

enum { LOOK_NS = 10000000, WORTH_NS = 250000, LEAST_B = 256 << 10, MOST_B = 1 << 20 };

/* Of the socket's buffer; the kernel counts twice what it lets a window hold. */
enum { PART_OF_BUFFER = 4 };

uint64_t nl_lowat_wanted(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B)
{
	double worth_B = elapsed_ns ? (double)bytes / (double)elapsed_ns * WORTH_NS : 0;
	uint64_t wanted_B = MOST_B;

	while (wanted_B >= LEAST_B && ((double)wanted_B > worth_B || wanted_B > rcvbuf_B / PART_OF_BUFFER))
		wanted_B /= 2;
	return wanted_B >= LEAST_B ? wanted_B : 1;
}

static void set(struct nl_lowat *lowat, uint64_t value)
{
	int lowat_B = (int)value;

	/* a socket that refuses wakes its thread for every packet, as before */
	if (setsockopt(lowat->fd, SOL_SOCKET, SO_RCVLOWAT, &lowat_B, sizeof(lowat_B)))
		lowat->fd = -1;
	lowat->now_B = value;
}

void nl_lowat_begin(struct nl_lowat *lowat, int fd)
{
	*lowat = (struct nl_lowat){.fd = fd, .t_ns = nl_now_ns(), .now_B = 1};
}

void nl_lowat_look(struct nl_lowat *lowat, uint64_t bytes)
{
	uint64_t now_ns, elapsed_ns, wanted_B;
	int rcvbuf_B;
	socklen_t len = sizeof(rcvbuf_B);

	if (lowat->fd < 0)
		return;
	now_ns = nl_now_ns();
	elapsed_ns = now_ns - lowat->t_ns;
	if (elapsed_ns < LOOK_NS)
		return;
	if (getsockopt(lowat->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_B, &len))
		rcvbuf_B = 0;
	wanted_B = nl_lowat_wanted(bytes - lowat->bytes, elapsed_ns, (uint64_t)rcvbuf_B);
	if (wanted_B != lowat->now_B)
		set(lowat, wanted_B);
	lowat->t_ns = now_ns;
	lowat->bytes = bytes;
}
