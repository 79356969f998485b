#include "base/request.h"
#include "check.h"

enum { BUSY = NL_LIMIT };

static int request_add(void *context, struct nl_request *request, struct nl_err *err)
{
	uint64_t *sum = context, n;

	if (nl_request_u64(request, "n", 0, 10, &n))
		return nl_fail_key(err, "n", "n is from 0 to 10");
	if (nl_request_only_known(request, err))
		return err->code;
	*sum += n;
	return NL_OK;
}

static int request_refuse(void *context, struct nl_request *request, struct nl_err *err)
{
	(void)context;
	return nl_fail(err, BUSY, "%s is never done", request->verb);
}

static const struct nl_verb verbs[] = {{"add", request_add, 0}, {"refuse", request_refuse, 0},
				       {NULL, NULL, 0}};

static struct nl_request request;
static struct nl_err err;
static uint64_t sum;

static int take(const char *line)
{
	return nl_dispatch(verbs, &sum, line, line ? strlen(line) : 0, &request, &err);
}

TEST(a_verb_calls_its_request_with_the_context)
{
	sum = 1;
	CHECK(take("add n=4") == NL_OK && sum == 5);
	CHECK(take("refuse run=3") == BUSY && err.code == BUSY);
	CHECK(strcmp(nl_request_get(&request, "run"), "3") == 0);
}

TEST(an_invalid_request_is_an_error_with_its_key)
{
	static const struct {
		const char *line, *key, *says;
	} row[] = {
		{"subtract n=4", "", "unknown request subtract"},
		{"add n=11", "n", "n is from 0 to 10"},
		{"add n=1 m=2", "m", "add: unknown key m"},
		{"add n=1 n=2", "n", ""},
		{"", "", ""},
		{NULL, "", ""},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		sum = 0;
		CHECK(take(row[i].line) == NL_BAD_REQUEST && sum == 0);
		CHECK(err.code == NL_BAD_REQUEST && strcmp(err.key, row[i].key) == 0);
		CHECK(strstr(err.message, row[i].says) && err.message[0]);
	}
}

TEST(a_malformed_line_has_no_pairs)
{
	CHECK(take("add run=7") != NL_OK && take("add run=7 run=8") != NL_OK);
	CHECK(nl_request_get(&request, "run") == NULL);
}
