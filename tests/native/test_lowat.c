#include "check.h"
#include "clock.h"
#include "lowat.h"
#include "netlab.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, LARGE_B = 64 * MIB };

static void slow_streams_wake_for_every_packet(void)
{
	CHECK(nl_lowat_wanted(0, NL_NS_PER_S, LARGE_B) == 1);
	CHECK(nl_lowat_wanted(UINT64_C(1250000000) / 2, NL_NS_PER_S, LARGE_B) == 1); /* 5 Gb/s */
	CHECK(nl_lowat_wanted(1, 0, LARGE_B) == 1);
}

static void fast_ones_for_a_quarter_of_a_millisecond(void)
{
	CHECK(nl_lowat_wanted(UINT64_C(1100000000), NL_NS_PER_S, LARGE_B) == 256 << 10);
	CHECK(nl_lowat_wanted(UINT64_C(2200000000), NL_NS_PER_S, LARGE_B) == 512 << 10);
	CHECK(nl_lowat_wanted(UINT64_C(4500000000), NL_NS_PER_S, LARGE_B) == MIB);
	CHECK(nl_lowat_wanted(UINT64_C(90000000000), NL_NS_PER_S, LARGE_B) == MIB);
	CHECK(nl_lowat_wanted(UINT64_MAX, 1, LARGE_B) == MIB);
}

static void never_for_much_of_the_buffer(void)
{
	for (uint64_t rcvbuf_B = 0; rcvbuf_B <= LARGE_B; rcvbuf_B += 65536) {
		uint64_t wanted_B = nl_lowat_wanted(UINT64_C(9000000000), NL_NS_PER_S, rcvbuf_B);

		CHECK(wanted_B == 1 || wanted_B <= rcvbuf_B / 4);
		CHECK((wanted_B > 1) == (rcvbuf_B >= MIB));
	}
}

static int lowat_of(int fd)
{
	int value = -1;
	socklen_t len = sizeof(value);

	CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, &len) == 0);
	return value;
}

static void it_comes_and_goes_with_the_rate(void)
{
	const struct timespec look = {.tv_nsec = 11000000};
	int large_B = 8 * MIB, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct nl_lowat lowat;
	uint64_t bytes = 0;

	CHECK(fd >= 0);
	/* without the privilege the buffer stays small, and then so does what may pile up */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &large_B, sizeof(large_B)))
		large_B = 0;
	nl_lowat_begin(&lowat, fd);
	nl_lowat_look(&lowat, bytes += UINT64_C(1) << 40);
	CHECK(lowat_of(fd) == 1); /* too early to tell */
	nanosleep(&look, NULL);
	nl_lowat_look(&lowat, bytes += UINT64_C(1) << 40);
	CHECK(lowat_of(fd) == (large_B ? MIB : 1));
	nanosleep(&look, NULL);
	nl_lowat_look(&lowat, bytes += 1000);
	CHECK(lowat_of(fd) == 1);
	close(fd);
}

static void no_socket_is_touched_without_leave(void)
{
	struct nl_lowat lowat;

	nl_lowat_begin(&lowat, -1);
	lowat.t_ns = 0;
	nl_lowat_look(&lowat, UINT64_MAX);
	CHECK(lowat.now_B == 1);
}

int main(void)
{
	slow_streams_wake_for_every_packet();
	fast_ones_for_a_quarter_of_a_millisecond();
	never_for_much_of_the_buffer();
	it_comes_and_goes_with_the_rate();
	no_socket_is_touched_without_leave();
	return 0;
}
