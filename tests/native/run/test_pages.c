#include "run/run.h"
#include "check.h"

#include <errno.h>
#include <sys/mman.h>

TEST(the_whole_mapping_is_writable)
{
	static const uint64_t wanted[] = {1, 4096, 65537, 1 << 20, 2 << 20, (2 << 20) + 1, 5 << 20};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		for (int huge = 0; huge < 2; huge++) {
			uint64_t unit = huge ? 2 << 20 : 4096, len_B = wanted[i];
			uint8_t *memory = nl_pages_map(&len_B, huge);

			CHECK(memory && len_B >= wanted[i] && len_B - wanted[i] < unit);
			CHECK((uintptr_t)memory % unit == 0 && len_B % unit == 0);
			CHECK(memory[0] == 0 && memory[len_B - 1] == 0);
			memset(memory, 1, len_B);
			CHECK(munmap(memory, len_B) == 0);
			/* the length to unmap covers the whole mapping */
			CHECK(msync(memory, 4096, MS_ASYNC) == -1 && errno == ENOMEM);
			CHECK(msync(memory + len_B - 4096, 4096, MS_ASYNC) == -1 && errno == ENOMEM);
		}
}

TEST(more_memory_than_available_fails)
{
	/* rounded up to pages, the last two would be 0 */
	static const uint64_t wanted[] = {1ULL << 62, SIZE_MAX, UINT64_MAX - 1};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		for (int huge = 0; huge < 2; huge++) {
			uint64_t len_B = wanted[i];

			CHECK(!nl_pages_map(&len_B, huge) && errno == ENOMEM);
		}
}
