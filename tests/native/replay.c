/* Feed the named files to a fuzz target, without libFuzzer. */
#define NL_OWN_MAIN
#include "check.h"
#include "fuzz.h"

int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		uint8_t *exact;
		size_t len;

		CHECK(file);
		len = fread(data, 1, sizeof(data), file);
		fclose(file);
		/* a block of exact length, for the sanitizer */
		exact = malloc(len ? len : 1);
		CHECK(exact);
		memcpy(exact, data, len);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	printf("%d files\n", argc - 1);
	return 0;
}
