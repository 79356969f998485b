#include "io/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* the same on every architecture but alpha, which defines them */
#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#endif
#ifndef __NR_io_uring_enter
#define __NR_io_uring_enter 426
#endif

enum {
	SETUP_CQSIZE = 1 << 3,
	SETUP_CLAMP = 1 << 4,
	SETUP_SINGLE_ISSUER = 1 << 12,
	SETUP_DEFER_TASKRUN = 1 << 13,
	ENTER_GETEVENTS = 1 << 0,
	FEATURE_SINGLE_MMAP = 1 << 0,
	FEATURE_NODROP = 1 << 1,
};

#define MAP_REQUESTS 0x10000000

struct request_offsets {
	uint32_t head, tail, mask, entries, flags, dropped, array, unused;
	uint64_t unused_address;
};

struct completion_offsets {
	uint32_t head, tail, mask, entries, overflow, completions, flags, unused;
	uint64_t unused_address;
};

struct parameters {
	uint32_t sq_entries, cq_entries, flags, sq_thread_cpu, sq_thread_idle, features, wq_fd;
	uint32_t unused[3];
	struct request_offsets sq;
	struct completion_offsets cq;
};

_Static_assert(sizeof(struct parameters) == 120, "struct io_uring_params");
_Static_assert(sizeof(struct nl_ring_request) == 64, "struct io_uring_sqe");
_Static_assert(offsetof(struct nl_ring_request, data) == 32, "user_data");
_Static_assert(sizeof(struct nl_ring_completion) == 16, "struct io_uring_cqe");

static int set_up(uint32_t entries, uint32_t completions, uint32_t flags, struct parameters *p)
{
	*p = (struct parameters){.flags = flags | SETUP_CQSIZE | SETUP_CLAMP,
				 .cq_entries = completions};
	return (int)syscall(__NR_io_uring_setup, entries, p);
}

static int map_rings(struct nl_ring *ring, const struct parameters *p)
{
	size_t requests_end = p->sq.array + p->sq_entries * sizeof(uint32_t);
	size_t completions_end =
		p->cq.completions + p->cq_entries * sizeof(struct nl_ring_completion);
	uint32_t *array;
	uint8_t *base;
	void *memory;

	ring->rings_B = requests_end > completions_end ? requests_end : completions_end;
	memory = mmap(NULL, ring->rings_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
		      0);
	if (memory == MAP_FAILED)
		return errno;
	ring->rings = base = memory;
	ring->requests_B = p->sq_entries * sizeof(struct nl_ring_request);
	memory = mmap(NULL, ring->requests_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		      ring->fd, MAP_REQUESTS);
	if (memory == MAP_FAILED)
		return errno;
	ring->request = memory;
	ring->head = (uint32_t *)(base + p->sq.head);
	ring->tail = (uint32_t *)(base + p->sq.tail);
	ring->mask = *(uint32_t *)(base + p->sq.mask);
	ring->entries = p->sq_entries;
	ring->done_head = (uint32_t *)(base + p->cq.head);
	ring->done_tail = (uint32_t *)(base + p->cq.tail);
	ring->done_mask = *(uint32_t *)(base + p->cq.mask);
	ring->completion = (struct nl_ring_completion *)(base + p->cq.completions);
	/* slots are used in order */
	array = (uint32_t *)(base + p->sq.array);
	for (uint32_t i = 0; i < p->sq_entries; i++)
		array[i] = i;
	return 0;
}

int nl_ring_open(struct nl_ring *ring, uint32_t entries, uint32_t completions)
{
	struct parameters p;
	int errnum;

	*ring = (struct nl_ring){.fd = -1};
	/* handle completions when this thread enters, instead of interrupting it: Linux 6.1 */
	ring->fd = set_up(entries, completions, SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN, &p);
	if (ring->fd < 0 && errno == EINVAL)
		ring->fd = set_up(entries, completions, 0, &p);
	if (ring->fd < 0)
		return errno;
	if (!(p.features & FEATURE_SINGLE_MMAP) || !(p.features & FEATURE_NODROP))
		errnum = ENOSYS;
	else
		errnum = map_rings(ring, &p);
	if (errnum)
		nl_ring_close(ring);
	return errnum;
}

void nl_ring_close(struct nl_ring *ring)
{
	if (ring->request)
		munmap(ring->request, ring->requests_B);
	if (ring->rings)
		munmap(ring->rings, ring->rings_B);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct nl_ring){.fd = -1};
}

static int enter(struct nl_ring *ring, uint32_t wait, uint32_t flags)
{
	int taken = (int)syscall(__NR_io_uring_enter, ring->fd, ring->pending, wait, flags, NULL, 0);

	if (taken < 0)
		return errno;
	ring->pending -= (uint32_t)taken;
	return 0;
}

struct nl_ring_request *nl_ring_next(struct nl_ring *ring)
{
	uint32_t tail = *ring->tail;
	struct nl_ring_request *request;

	while (tail - __atomic_load_n(ring->head, __ATOMIC_ACQUIRE) == ring->entries) {
		int errnum = enter(ring, 0, 0);

		if (errnum && errnum != EINTR && errnum != EAGAIN && errnum != EBUSY) {
			errno = errnum;
			return NULL;
		}
	}
	request = &ring->request[tail & ring->mask];
	memset(request, 0, sizeof(*request));
	/* the kernel reads the queue on entry, and only this thread enters */
	__atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
	ring->pending++;
	return request;
}

int nl_ring_enter(struct nl_ring *ring, uint32_t wait)
{
	int errnum = enter(ring, wait, ENTER_GETEVENTS);

	/* EBUSY, EAGAIN: read completions first */
	return errnum == EINTR || errnum == EBUSY || errnum == EAGAIN ? 0 : errnum;
}

int nl_ring_take(struct nl_ring *ring, struct nl_ring_completion *out)
{
	uint32_t head = *ring->done_head;

	if (head == __atomic_load_n(ring->done_tail, __ATOMIC_ACQUIRE))
		return 0;
	*out = ring->completion[head & ring->done_mask];
	__atomic_store_n(ring->done_head, head + 1, __ATOMIC_RELEASE);
	return 1;
}

int nl_ring_try(struct nl_ring *ring, enum nl_ring_op op, uint16_t ioprio)
{
	struct nl_ring_request *request = nl_ring_next(ring);
	struct nl_ring_completion done;
	int errnum;

	if (!request)
		return errno;
	request->op = (uint8_t)op;
	request->ioprio = ioprio;
	request->fd = -1; /* a supported operation fails with EBADF */
	errnum = nl_ring_enter(ring, 1);
	if (errnum)
		return errnum;
	if (!nl_ring_take(ring, &done))
		return EAGAIN;
	return done.result == -EBADF ? 0 : -done.result;
}
