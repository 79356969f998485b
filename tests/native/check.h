/* check: named C tests with fixtures and a filter.
 *
 *	static const struct nl_test tests[] = {TEST(one), TEST_WITH(two, setup, teardown)};
 *
 *	int main(int argc, char **argv)
 *	{
 *		return RUN_TESTS(tests, argc, argv);
 *	}
 *
 * Arguments select the tests whose names contain one of them; `--list` prints the names. A failed
 * CHECK ends its test; the others still run. In another thread, or in a program without
 * RUN_TESTS, it ends the program. */
#ifndef NL_CHECK_H
#define NL_CHECK_H

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nl_test {
	const char *name;
	void (*run)(void);
	void (*setup)(void), (*teardown)(void); /* before and after this test, or NULL */
};

#define TEST(function) {#function, function, NULL, NULL}
#define TEST_WITH(function, setup, teardown) {#function, function, setup, teardown}
#define RUN_TESTS(tests, argc, argv)                                                               \
	nl_run_tests(tests, sizeof(tests) / sizeof((tests)[0]), argc, argv)

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

/* 0, or 1 after a failed CHECK. */
static inline int nl_run_part(void (*part)(void))
{
	int failed = 1;

	nl_check.thread = pthread_self();
	nl_check.active = 1;
	if (part && setjmp(nl_check.end) == 0) {
		part();
		failed = 0;
	} else if (!part) {
		failed = 0;
	}
	nl_check.active = 0;
	return failed;
}

static inline int nl_test_selected(const struct nl_test *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(test->name, argv[i]))
			return 1;
	return argc < 2;
}

/* The exit code: 0, 1 if a test failed, 2 if the filter selects none. */
static inline int nl_run_tests(const struct nl_test *tests, size_t count, int argc, char **argv)
{
	int list = argc == 2 && strcmp(argv[1], "--list") == 0;
	unsigned passed = 0, failed = 0;

	for (size_t i = 0; i < count; i++) {
		int bad;

		if (list)
			puts(tests[i].name);
		if (list || !nl_test_selected(&tests[i], argc, argv))
			continue;
		bad = nl_run_part(tests[i].setup);
		if (!bad)
			bad = nl_run_part(tests[i].run);
		bad |= nl_run_part(tests[i].teardown);
		printf("%s %s\n", bad ? "FAILED" : "ok", tests[i].name);
		fflush(stdout);
		failed += bad != 0;
		passed += !bad;
	}
	if (list)
		return 0;
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : passed ? 0 : 2;
}

#endif
