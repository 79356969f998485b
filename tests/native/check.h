/* check: a C test program of named tests with fixtures.
 *
 *	TEST(one_and_one_are_two)
 *	{
 *		CHECK(1 + 1 == 2);
 *	}
 *
 * The tests run in the order of the file. A failed CHECK ends its test; the others still run. In
 * another thread, or in a program with a main of its own (NL_OWN_MAIN), it ends the program. */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	jmp_buf end;
	pthread_t thread;
	int active; /* inside a test: a failure in this thread jumps to `end` */
} nl_check;

static inline void nl_check_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, condition);
	if (!nl_check.active || !pthread_equal(nl_check.thread, pthread_self()))
		exit(1);
	longjmp(nl_check.end, 1);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			nl_check_failed(__FILE__, __LINE__, #condition);                           \
	} while (0)

#ifndef NL_OWN_MAIN

struct nl_test {
	const char *name;
	void (*run)(void);
	void (*setup)(void), (*teardown)(void); /* before and after this test, or NULL */
	struct nl_test *next;
};

static struct nl_test *nl_tests, **nl_last_test = &nl_tests;

#define TEST(function) TEST_WITH(function, NULL, NULL)
#define TEST_WITH(function, before, after)                                                         \
	static void function(void);                                                                \
	__attribute__((constructor)) static void add_##function(void)                              \
	{                                                                                          \
		static struct nl_test test = {#function, function, before, after, NULL};           \
                                                                                                   \
		*nl_last_test = &test;                                                             \
		nl_last_test = &test.next;                                                         \
	}                                                                                          \
	static void function(void)

/* 0, or 1 after a failed CHECK. */
static inline int nl_run_part(void (*part)(void))
{
	nl_check.thread = pthread_self();
	nl_check.active = 1;
	if (setjmp(nl_check.end)) {
		nl_check.active = 0;
		return 1;
	}
	if (part)
		part();
	nl_check.active = 0;
	return 0;
}

/* The exit code: 0, or 1 if a test failed or there is none. */
int main(void)
{
	unsigned passed = 0, failed = 0;

	for (const struct nl_test *test = nl_tests; test; test = test->next) {
		int bad = nl_run_part(test->setup) || nl_run_part(test->run);

		bad |= nl_run_part(test->teardown);
		printf("%s %s\n", bad ? "FAILED" : "ok", test->name);
		fflush(stdout);
		failed += bad != 0;
		passed += !bad;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}

#endif
