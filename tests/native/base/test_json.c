#include "base/json.h"
#include "check.h"

#include <errno.h>
#include <unistd.h>

TEST(objects_nest_with_commas_between_members)
{
	struct nl_json j;

	nl_json_init(&j);
	nl_json_open(&j, NULL);
	nl_json_u64(&j, "n", UINT64_MAX);
	nl_json_array(&j, "a");
	nl_json_array(&j, NULL);
	nl_json_array_end(&j);
	nl_json_i64(&j, NULL, -1);
	nl_json_bool(&j, NULL, 1);
	nl_json_null(&j, NULL);
	nl_json_array_end(&j);
	nl_json_open(&j, "o");
	nl_json_close(&j);
	nl_json_text(&j, "t", NULL);
	nl_json_close(&j);
	CHECK(!j.failed);
	CHECK(j.len == strlen("{\"n\":18446744073709551615,\"a\":[[],-1,true,null],\"o\":{},\"t\":null}"));
	CHECK(memcmp(j.text, "{\"n\":18446744073709551615,\"a\":[[],-1,true,null],\"o\":{},\"t\":null}",
		     j.len) == 0);
	nl_json_free(&j);
}

TEST(any_byte_is_escaped_to_ascii)
{
	struct nl_json j;

	nl_json_init(&j);
	nl_json_text(&j, NULL, "a\"\\\n\x7f\xe9");
	CHECK(j.len == strlen("\"a\\\"\\\\\\u000a\\u007f\\u00e9\""));
	CHECK(memcmp(j.text, "\"a\\\"\\\\\\u000a\\u007f\\u00e9\"", j.len) == 0);
	nl_json_free(&j);
}

TEST(a_line_is_written_whole_or_fails)
{
	struct nl_json j;
	char back[16] = {0};
	int fds[2];

	nl_json_init(&j);
	nl_json_u64(&j, NULL, 5);
	CHECK(pipe(fds) == 0);
	CHECK(nl_json_line(&j, fds[1]) == 0);
	CHECK(read(fds[0], back, sizeof(back)) == 2 && strcmp(back, "5\n") == 0);
	close(fds[1]);
	CHECK(nl_json_line(&j, fds[1]) == -1 && errno == EBADF);
	close(fds[0]);
	nl_json_reset(&j);
	CHECK(j.len == 0 && j.cap > 0);
	nl_json_free(&j);
}
