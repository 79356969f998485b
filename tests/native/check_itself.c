/* The test runner: one test passes, one fails, and the fixtures print their calls. */
#include "check.h"

static void setup(void)
{
	puts("setup");
}

static void teardown(void)
{
	puts("teardown");
}

static void passes(void)
{
	CHECK(1 + 1 == 2);
}

static void fails(void)
{
	CHECK(1 + 1 == 3);
	puts("not reached");
}

static const struct nl_test tests[] = {TEST_WITH(fails, setup, teardown), TEST(passes)};

int main(int argc, char **argv)
{
	return RUN_TESTS(tests, argc, argv);
}
