#include "base/json.h"
#include "check.h"

#include <errno.h>
#include <unistd.h>

/* True if this was written; frees it. */
static int wrote(struct nl_json *j, const char *text)
{
	int same = !j->failed && j->len == strlen(text) && memcmp(j->text, text, j->len) == 0;

	nl_json_free(j);
	return same;
}

TEST(objects_nest_with_commas_between_members)
{
	struct nl_json j = {0};

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
	CHECK(wrote(&j, "{\"n\":18446744073709551615,\"a\":[[],-1,true,null],\"o\":{},\"t\":null}"));
}

TEST(names_in_utf8_stay_and_other_bytes_are_escaped)
{
	static const struct {
		const char *text, *written;
	} row[] = {
		{"a\"\\\n\x7f\xe9", "\"a\\\"\\\\\\u000a\\u007f\\u00e9\""},
		{"gr\xc3\xbc\xc3\x9f" "e", "\"gr\xc3\xbc\xc3\x9f" "e\""},
		{"\xe2\x82\xac \xf0\x9f\x90\xa7", "\"\xe2\x82\xac \xf0\x9f\x90\xa7\""},
		{"cut \xc3", "\"cut \\u00c3\""},
		{"\xc0\xaf", "\"\\u00c0\\u00af\""},             /* overlong */
		{"\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\""}, /* a surrogate */
		{"\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\""},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct nl_json j = {0};

		nl_json_text(&j, NULL, row[i].text);
		CHECK(wrote(&j, row[i].written));
	}
}

TEST(a_line_is_written_whole_or_fails)
{
	struct nl_json j = {0};
	char back[16] = {0};
	int fds[2];

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
