#include "check.h"
#include "emulator/trace.h"

#include <stdlib.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

TEST(a_trace_that_is_not_ascending_numbers_is_refused_with_its_line)
{
	static const struct {
		const char *text, *says;
	} row[] = {{"1\n2\nx\n", "line 3"}, {"3\n2\n", "line 2: expected ms from 3"}, {"", "above 0"},
		   {"0\n0\n", "above 0"}, {"1\n\n", "line 2"}, {"5 \n", "line 1"}, {"99999999\n", "line 1"}};
	char path[] = "/tmp/netlab-trace-XXXXXX";
	int fd = mkstemp(path);
	struct nl_trace trace;
	struct nl_err err;

	CHECK(fd >= 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, row[i].text, strlen(row[i].text), 0) >= 0);
		CHECK(nl_trace_read(&trace, path, &err) == NL_BAD_REQUEST && strstr(err.message, row[i].says));
		nl_trace_free(&trace);
	}
	CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, "0\r\n5\n5", 6, 0) == 6);
	CHECK(nl_trace_read(&trace, path, &err) == NL_OK && trace.count == 3 && trace.ms[2] == 5);
	CHECK(nl_trace_from(&trace, 0) == 0 && nl_trace_from(&trace, 5 * MS) == 1);
	CHECK(nl_trace_from(&trace, 5 * MS + 1) == 4 && nl_trace_ns(&trace, 4) == 10 * MS);
	nl_trace_free(&trace);
	CHECK(close(fd) == 0 && unlink(path) == 0);
	CHECK(nl_trace_read(&trace, path, &err) != NL_OK);
	nl_trace_free(&trace);
}
