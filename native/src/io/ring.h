/* ring: io_uring by its system calls alone, as much of it as streams need.
 *
 * The kernel's structures are laid out here, for a header older than the kernel would
 * lack half of them: an ABI that only grows. A ring belongs to the thread that opened it. */
#ifndef NL_RING_H
#define NL_RING_H

#include <stddef.h>
#include <stdint.h>

enum nl_ring_op { NL_RING_SEND = 26, NL_RING_RECV = 27, NL_RING_SEND_ZC = 47 };

enum {
	NL_RING_REPORT_USAGE = 1 << 3, /* SEND_ZC: say whether it was copied; Linux 6.2 */
	NL_RING_MORE = 1 << 1,         /* completion: another one of the same send follows */
	NL_RING_NOTIFICATION = 1 << 3, /* completion: the kernel is done with the memory */
};

#define NL_RING_COPIED (UINT32_C(1) << 31) /* the result of a notification */

struct nl_ring_request {
	uint8_t op, flags;
	uint16_t ioprio;
	int32_t fd;
	uint64_t unused_offset;
	uint64_t address;
	uint32_t len, message_flags;
	uint64_t data;
	uint64_t unused[3];
};

struct nl_ring_completion {
	uint64_t data;
	int32_t result;
	uint32_t flags;
};

struct nl_ring {
	int fd;
	uint32_t pending; /* written but not yet given to the kernel */
	uint32_t *head, *tail, mask, entries;
	uint32_t *done_head, *done_tail, done_mask;
	struct nl_ring_request *request;
	struct nl_ring_completion *completion;
	void *rings;
	size_t rings_B, requests_B;
};

/* Room for so many requests at once and so many completions. 0 or errno. */
int nl_ring_open(struct nl_ring *ring, uint32_t entries, uint32_t completions);
void nl_ring_close(struct nl_ring *ring); /* one that failed to open, too */

/* A zeroed place for a request; gives earlier ones to the kernel when there is none left.
 * NULL: the kernel does not take them, errno. */
struct nl_ring_request *nl_ring_next(struct nl_ring *ring);

/* Give the kernel what is pending and wait for at least so many completions. 0 or errno. */
int nl_ring_enter(struct nl_ring *ring, uint32_t wait);

/* The oldest completion, copied out; 0: there is none. */
int nl_ring_take(struct nl_ring *ring, struct nl_ring_completion *out);

/* Whether this kernel knows the operation with such an ioprio. 0, or errno. */
int nl_ring_try(struct nl_ring *ring, enum nl_ring_op op, uint16_t ioprio);

#endif
