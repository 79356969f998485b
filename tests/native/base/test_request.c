#include "base/request.h"
#include "check.h"

static enum nl_request_code parse(struct nl_request *request, const char *line)
{
	return nl_request_parse(request, line, strlen(line));
}

TEST(a_line_is_split_and_decoded)
{
	struct nl_request request;
	uint64_t n = 0;

	CHECK(parse(&request, "sink run=7 congestion=a%20b empty= record_B=65536\r") == NL_REQUEST_OK);
	CHECK(strcmp(request.verb, "sink") == 0 && request.count == 4);
	CHECK(strcmp(nl_request_get(&request, "congestion"), "a b") == 0);
	CHECK(strcmp(nl_request_get(&request, "empty"), "") == 0);
	CHECK(nl_request_u64(&request, "run", 0, 10, &n) == 0 && n == 7);
	CHECK(strcmp(nl_request_unread(&request), "record_B") == 0);
	CHECK(nl_request_has(&request, "record_B") && !nl_request_has(&request, "record"));
}

TEST(each_fault_has_its_code)
{
	static const struct {
		const char *line;
		enum nl_request_code code;
		const char *key;
	} row[] = {
		{"", NL_REQUEST_EMPTY, ""},
		{" a=b", NL_REQUEST_EMPTY, ""},
		{"Verb", NL_REQUEST_BAD_KEY, ""},
		{"v word", NL_REQUEST_NO_EQUALS, "word"},
		{"v  a=b", NL_REQUEST_NO_EQUALS, ""},
		{"v a=b ", NL_REQUEST_NO_EQUALS, ""},
		{"v =b", NL_REQUEST_BAD_KEY, ""},
		{"v Key=b", NL_REQUEST_BAD_KEY, "Key"},
		{"v a=1 a=2", NL_REQUEST_TWICE, "a"},
		{"v a=%2", NL_REQUEST_BAD_VALUE, "a"},
		{"v a=%00", NL_REQUEST_BAD_VALUE, "a"},
		{"v a=\x01", NL_REQUEST_BAD_VALUE, "a"},
		{"v a=\xff", NL_REQUEST_BAD_VALUE, "a"},
	};
	struct nl_request request;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		CHECK(parse(&request, row[i].line) == row[i].code);
		CHECK(strcmp(request.bad_key, row[i].key) == 0);
		CHECK(strlen(nl_request_message(row[i].code)) > 3);
	}
}

TEST(length_and_number_of_pairs_are_bounded)
{
	char line[NL_LINE_MAX + 2];
	struct nl_request request;
	size_t at = 1;

	memset(line, 'a', sizeof(line));
	memcpy(line, "v k=", 4);
	CHECK(nl_request_parse(&request, line, NL_LINE_MAX) == NL_REQUEST_OK);
	CHECK(nl_request_parse(&request, line, NL_LINE_MAX + 1) == NL_REQUEST_TOO_LONG);
	line[0] = 'v';
	for (int i = 0; i < NL_PAIRS_MAX + 1; i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, " k%d=1", i);
	CHECK(nl_request_parse(&request, line, at) == NL_REQUEST_TOO_LONG);
}

TEST(numbers_are_whole_and_in_range)
{
	static const char *const bad[] = {"", "-1", "+1", "1.0", "0x1", " 1", "1 ", "18446744073709551616"};
	uint64_t n = 42;
	uint8_t bytes[2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(nl_decimal_parse(bad[i], 0, UINT64_MAX, &n) == -1 && n == 42);
	CHECK(nl_decimal_parse("18446744073709551615", 0, UINT64_MAX, &n) == 0 && n == UINT64_MAX);
	CHECK(nl_decimal_parse("11", 1, 10, &n) == -1 && nl_decimal_parse("0", 1, 10, &n) == -1);
	CHECK(nl_hex_parse("aB01", bytes, 2) == 0 && bytes[0] == 0xab && bytes[1] == 1);
	CHECK(nl_hex_parse("ab0", bytes, 2) == -1 && nl_hex_parse("ab0g", bytes, 2) == -1);
}
