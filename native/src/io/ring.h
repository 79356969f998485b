/* ring: io_uring by system calls, limited to the operations that streams use.
 *
 * The kernel's structures are declared here, because headers older than the kernel lack half of
 * them: an ABI that only grows. A ring belongs to the thread that opened it. */
#ifndef NL_RING_H
#define NL_RING_H

#include <stddef.h>
#include <stdint.h>

enum nl_ring_op { NL_RING_SEND = 26, NL_RING_RECV = 27, NL_RING_SEND_ZC = 47 };

enum {
	NL_RING_REPORT_USAGE = 1 << 3, /* SEND_ZC: report whether the data were copied; Linux 6.2 */
	NL_RING_MORE = 1 << 1,         /* completion: another one of the same send follows */
	NL_RING_NOTIFICATION = 1 << 3, /* completion: the kernel has released the memory */
};

#define NL_RING_COPIED (UINT32_C(1) << 31) /* in the result of a notification */

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
	uint32_t pending; /* written, not yet submitted */
	uint32_t *head, *tail, mask, entries;
	uint32_t *done_head, *done_tail, done_mask;
	struct nl_ring_request *request;
	struct nl_ring_completion *completion;
	void *rings;
	size_t rings_B, requests_B;
};

/* Open a ring for so many pending requests and completions. 0 or errno. */
int nl_ring_open(struct nl_ring *ring, uint32_t entries, uint32_t completions);
void nl_ring_close(struct nl_ring *ring); /* also one that failed to open */

/* A zeroed slot for a request; submits earlier ones if none is free. NULL with errno if the kernel
 * does not accept them. */
struct nl_ring_request *nl_ring_next(struct nl_ring *ring);

/* Submit the pending requests and wait for at least so many completions. 0 or errno. */
int nl_ring_enter(struct nl_ring *ring, uint32_t wait);

/* Copy out the oldest completion; 0 if there is none. */
int nl_ring_take(struct nl_ring *ring, struct nl_ring_completion *out);

/* Test for support of the operation with this ioprio. 0, or errno. */
int nl_ring_try(struct nl_ring *ring, enum nl_ring_op op, uint16_t ioprio);

#endif
