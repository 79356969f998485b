#include "base/clock.h"
#include "check.h"
#include "io/read_delay.h"
#include "netlab.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, LOOK_NS = 10000000 };

TEST(slow_streams_block)
{
	CHECK(nl_read_delay_ns(UINT64_C(1250000000) / 4, NL_NS_PER_S, 64 * MIB) == 0); /* 2.5 Gb/s */
	CHECK(nl_read_delay_ns(499999999, NL_NS_PER_S, 64 * MIB) == 0);
	CHECK(nl_read_delay_ns(1, 0, 64 * MIB) == 0);
	CHECK(nl_read_delay_ns(500000000, NL_NS_PER_S, 64 * MIB) == NL_READ_DELAY_MAX_NS);
}

TEST(a_delay_fills_little_of_the_buffer)
{
	CHECK(nl_read_delay_ns(UINT64_C(1000000000), NL_NS_PER_S, 131072) == 0);
	CHECK(nl_read_delay_ns(UINT64_C(1000000000), NL_NS_PER_S, 8 * 50000) == 50000);
	for (uint64_t rcvbuf_B = 0; rcvbuf_B <= 64 * MIB; rcvbuf_B += 65536) {
		uint64_t wait_ns = nl_read_delay_ns(UINT64_C(9000000000), NL_NS_PER_S, rcvbuf_B);

		CHECK(wait_ns == 0 || (wait_ns >= NL_READ_DELAY_MIN_NS && wait_ns <= NL_READ_DELAY_MAX_NS));
		CHECK(wait_ns * 9 <= rcvbuf_B / 8);
	}
	CHECK(nl_read_delay_ns(UINT64_MAX, 1, 64 * MIB) == 0);
}

TEST(only_an_empty_socket_is_delayed)
{
	CHECK(nl_read_delay_allowed(1, MIB) && nl_read_delay_allowed(NL_READ_DELAY_READ_B, MIB));
	CHECK(!nl_read_delay_allowed(NL_READ_DELAY_READ_B + 1, MIB) && !nl_read_delay_allowed(MIB, MIB));
	CHECK(nl_read_delay_allowed(65535, 65536) && !nl_read_delay_allowed(65536, 65536));
}

/* A read, by the clock of which the delay is that of the rate; true if it was measured. */
static int measured(struct nl_read_delay *delay, uint64_t bytes, uint64_t read_B, int rcvbuf_B)
{
	struct nl_read_delay before = *delay;
	uint64_t began_ns = nl_now_ns(), elapsed_ns, wait_ns;

	nl_read_delay_after_read(delay, bytes, read_B, MIB);
	elapsed_ns = delay->t_ns - before.t_ns;
	wait_ns = elapsed_ns ? nl_read_delay_ns(bytes - before.bytes, elapsed_ns, (uint64_t)rcvbuf_B) :
			       before.wait_ns;
	CHECK(delay->wait_ns == wait_ns && (!elapsed_ns || elapsed_ns >= LOOK_NS));
	CHECK(!nl_read_delay_allowed(read_B, MIB) || nl_now_ns() - began_ns >= wait_ns);
	return elapsed_ns > 0;
}

TEST(the_delay_follows_the_rate)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	int rcvbuf_B = 8 * MIB, fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(rcvbuf_B);
	struct nl_read_delay delay;
	uint64_t bytes = 0;

	CHECK(fd >= 0);
	/* without the privilege the buffer stays small, and the delay must be 0 */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf_B, sizeof(rcvbuf_B));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_B, &len) == 0);
	nl_read_delay_begin(&delay, fd);
	measured(&delay, bytes += 50 * MIB, 1, rcvbuf_B); /* mostly too early */
	nanosleep(&look, NULL);
	CHECK(measured(&delay, bytes += 50 * MIB, MIB, rcvbuf_B));
	measured(&delay, bytes, NL_READ_DELAY_READ_B, rcvbuf_B);
	nanosleep(&look, NULL);
	CHECK(measured(&delay, bytes += 1000, 1, rcvbuf_B));
	CHECK(delay.wait_ns == 0);
	close(fd);
}

TEST(no_delay_unless_enabled)
{
	struct nl_read_delay delay;

	nl_read_delay_begin(&delay, -1);
	delay.t_ns = 0;
	nl_read_delay_after_read(&delay, UINT64_MAX, 1, MIB);
	CHECK(delay.wait_ns == 0);
}
