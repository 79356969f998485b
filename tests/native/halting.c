/* The emulator with random preemption just before it reads: arrivals in that time must not be dated
 * to the previous clock read. */
#include "commands.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

ssize_t __real_read(int fd, void *into, size_t most_B);
ssize_t __wrap_read(int fd, void *into, size_t most_B);

ssize_t __wrap_read(int fd, void *into, size_t most_B)
{
	const struct timespec halt = {.tv_nsec = 5000000};

	if (rand() % 4 == 0)
		nanosleep(&halt, NULL);
	return __real_read(fd, into, most_B);
}

int main(void)
{
	return nl_emulate_serve(STDIN_FILENO, STDOUT_FILENO, 0);
}
