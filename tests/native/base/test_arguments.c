/* Command lines parsed from a table: spellings, limits, operands, help. */
#include "base/arguments.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

static uint64_t count, other;
static const char *text, *operand;
static int given;
static struct nl_err err;

static const struct nl_argument row[] = {
	{.name = "hold-s", .value = "N", .initial = "30", .help = "time", .min = 1, .max = 60,
	 .count = &count},
	{.name = "other_B", .value = "N", .help = "size", .min = 2, .max = UINT64_MAX,
	 .count = &other},
	{.name = "journal", .value = "DIR", .help = "directory", .text = &text, .required = 1},
	{.name = "json", .help = "as JSON", .given = &given},
};
static struct nl_command_line line = {
	.cmd = "test", .about = "About.\n", .row = row, .rows = sizeof(row) / sizeof(row[0])};

/* Arguments that a parser may permute. */
struct argv {
	char text[18][64], *at[19];
};

/* Fill them with words that end with NULL. */
static int fill_argv(struct argv *to, const char *const *words)
{
	int argc = 1;

	snprintf(to->text[0], sizeof(to->text[0]), "test");
	for (; words[argc - 1]; argc++)
		snprintf(to->text[argc], sizeof(to->text[0]), "%s", words[argc - 1]);
	for (int i = 0; i < argc; i++)
		to->at[i] = to->text[i];
	to->at[argc] = NULL;
	return argc;
}

/* Parse arguments that end with NULL. */
static int parse(const char *name_of_operand, const char *const *words)
{
	static struct argv argv;

	line.operand = name_of_operand;
	memset(&err, 0, sizeof(err));
	return nl_arguments_parse(&line, fill_argv(&argv, words), argv.at, &operand, &err);
}

#define PARSE(...) parse(NULL, (const char *const[]){__VA_ARGS__, NULL})
#define PARSE_OPERAND(...) parse("PLACE", (const char *const[]){__VA_ARGS__, NULL})
#define REFUSED(says, ...) (PARSE(__VA_ARGS__) == NL_BAD_REQUEST && strcmp(err.message, says) == 0)

TEST(a_value_follows_or_is_joined_by_an_equals_sign)
{
	CHECK(PARSE("--journal", "a", "--hold-s", "5") == NL_OK && count == 5 && !given);
	CHECK(PARSE("--hold-s=6", "--json", "--journal=b") == NL_OK && count == 6 && given);
	CHECK(strcmp(text, "b") == 0);
}

TEST(a_name_has_either_mark_and_may_be_short)
{
	CHECK(PARSE("--journal=a", "--hold_s=7", "--other-B=8") == NL_OK);
	CHECK(count == 7 && other == 8);
	CHECK(PARSE("--jou=a", "--hold=9") == NL_OK && count == 9);
}

TEST(a_missing_option_has_its_default)
{
	count = other = 1;
	given = 1;
	CHECK(PARSE("--journal=a") == NL_OK);
	CHECK(count == 30 && other == 0 && !given);
}

TEST(the_last_of_a_repeated_option_counts)
{
	CHECK(PARSE("--journal=a", "--hold-s=1", "--journal=b", "--hold-s=2") == NL_OK);
	CHECK(count == 2 && strcmp(text, "b") == 0);
}

TEST(a_mistake_names_the_option_and_what_is_allowed)
{
	static const char unknown[] = "unknown option --colour=red; allowed: --hold-s, --other_B, "
				      "--journal, --json, --help";

	CHECK(REFUSED("--hold-s: expected an integer from 1 to 60", "--journal=a", "--hold_s=61"));
	CHECK(strcmp(err.key, "hold-s") == 0);
	CHECK(REFUSED("--hold-s: expected an integer from 1 to 60", "--journal=a", "--hold-s", ""));
	CHECK(REFUSED("--hold-s: expected an integer from 1 to 60", "--journal=a", "--hold-s", "-1"));
	CHECK(REFUSED("--journal is missing", "--json") && strcmp(err.key, "journal") == 0);
	CHECK(REFUSED("--journal needs a value", "--journal"));
	CHECK(REFUSED("--json=1: the option takes no value", "--json=1"));
	CHECK(REFUSED("unexpected argument x", "--journal=a", "x"));
	CHECK(REFUSED(unknown, "--journal=a", "--colour=red"));
	CHECK(PARSE("--journal=a", "-xy") == NL_BAD_REQUEST && strcmp(err.key, "-x") == 0);
	CHECK(PARSE("--jo=a", "--j") == NL_BAD_REQUEST && strstr(err.message, "unknown option --j;"));
}

TEST(a_long_unknown_option_does_not_hide_what_is_allowed)
{
	static char name[256] = "--";

	memset(name + 2, 'x', sizeof(name) - 3);
	CHECK(PARSE("--journal=a", name) == NL_BAD_REQUEST && strstr(err.message, "--help"));
}

TEST(the_operand_stands_anywhere_and_is_required)
{
	CHECK(PARSE_OPERAND("here", "--journal=a") == NL_OK && strcmp(operand, "here") == 0);
	CHECK(PARSE_OPERAND("--journal=a", "there") == NL_OK && strcmp(operand, "there") == 0);
	CHECK(PARSE_OPERAND("--journal=a") == NL_BAD_REQUEST && strcmp(err.key, "PLACE") == 0);
	CHECK(PARSE_OPERAND("--journal=a", "") == NL_BAD_REQUEST);
	CHECK(PARSE_OPERAND("here", "there", "--journal=a") == NL_BAD_REQUEST);
}

TEST(help_needs_no_required_option)
{
	CHECK(PARSE("--help") == NL_ARGUMENTS_HELP);
}

TEST(the_help_has_usage_range_and_default)
{
	char *printed = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&printed, &len);

	CHECK(to != NULL);
	line.operand = "PLACE";
	nl_arguments_help(&line, to);
	fclose(to);
	CHECK(strcmp(printed, "Usage: gensink test PLACE [--hold-s N] [--other_B N] --journal DIR "
			      "[--json]\n\nAbout.\n\n"
			      "  --hold-s N            time, 1 to 60 [30]\n"
			      "  --other_B N           size, 2 to 18446744073709551615\n"
			      "  --journal DIR         directory\n"
			      "  --json                as JSON\n") == 0);
	free(printed);
}
