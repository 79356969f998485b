/* Numbered datagrams, for tests of what a path does to packets, on a machine without Python.
 *
 *	datagrams ADDRESS PORT                     receive; print the numbers in their order
 *	datagrams ADDRESS PORT COUNT SIZE PACE_US  send; print the ms that it took
 *
 * The receiver prints `listening`, and ends once nothing came for QUIET_MS after the first one. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { FIRST_MS = 20000, QUIET_MS = 1000, SIZE_MAX_B = 65536, BUFFER_B = 1 << 24 };

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static long long ms(const struct timespec *t)
{
	return (long long)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

static void receive(int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	int timeout_ms = FIRST_MS;
	uint32_t number;

	puts("listening");
	fflush(stdout);
	while (poll(&waiting, 1, timeout_ms) > 0) {
		check((int)recv(fd, &number, sizeof(number), 0), "recv");
		printf("%u\n", ntohl(number));
		timeout_ms = QUIET_MS;
	}
}

static void send_all(int fd, const struct sockaddr_in *to, char *const words[3])
{
	static uint8_t datagram[SIZE_MAX_B];
	uint32_t count = (uint32_t)atol(words[0]);
	size_t size_B = (size_t)atol(words[1]);
	long pace_ns = atol(words[2]) * 1000;
	struct timespec due, end;
	long long begin_ms;

	clock_gettime(CLOCK_MONOTONIC, &due);
	begin_ms = ms(&due);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = htonl(i);

		memcpy(datagram, &number, sizeof(number));
		check((int)sendto(fd, datagram, size_B, 0, (const void *)to, sizeof(*to)), "sendto");
		due.tv_nsec += pace_ns;
		due.tv_sec += due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld\n", ms(&end) - begin_ms);
}

int main(int argc, char *argv[])
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = BUFFER_B;

	if (argc != 3 && argc != 6)
		return 2;
	check(fd, "socket");
	inet_pton(AF_INET, argv[1], &address.sin_addr);
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	check(setsockopt(fd, SOL_SOCKET, argc == 3 ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &size,
			 sizeof(size)), "setsockopt");
	if (argc == 3) {
		check(bind(fd, (const void *)&address, sizeof(address)), "bind");
		receive(fd);
	} else {
		send_all(fd, &address, argv + 3);
	}
	return 0;
}
