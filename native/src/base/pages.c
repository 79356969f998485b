#include "base/pages.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

enum { PAGE_B = 4096, HUGE_PAGE_B = 2 << 20 };

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static void *map(uint64_t len_B)
{
	void *memory = mmap(NULL, len_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* A huge page is aligned to its size: map one extra and unmap the rest. */
static void *map_huge(uint64_t len_B)
{
	uint8_t *memory = map(len_B + HUGE_PAGE_B);
	uint64_t before;

	if (!memory)
		return NULL;
	before = round_up((uintptr_t)memory, HUGE_PAGE_B) - (uintptr_t)memory;
	if (before > 0)
		munmap(memory, before);
	if (before < HUGE_PAGE_B)
		munmap(memory + before + len_B, HUGE_PAGE_B - before);
	madvise(memory + before, len_B, MADV_HUGEPAGE);
	return memory + before;
}

void *nl_pages_map(uint64_t *len_B, int huge)
{
	/* a size may have 32 bits only, and would be cut */
	if (*len_B > SIZE_MAX - 2 * HUGE_PAGE_B) {
		errno = ENOMEM;
		return NULL;
	}
	*len_B = round_up(*len_B, huge ? HUGE_PAGE_B : PAGE_B);
	return huge ? map_huge(*len_B) : map(*len_B);
}
