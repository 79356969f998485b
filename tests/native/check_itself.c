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

TEST_WITH(fails, setup, teardown)
{
	CHECK(1 + 1 == 3);
	puts("not reached");
}

TEST(passes)
{
	CHECK(1 + 1 == 2);
}
