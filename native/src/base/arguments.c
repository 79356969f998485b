#include "base/arguments.h"

#include "base/error.h"
#include "base/request.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

/* Return values of getopt_long; row i returns FIRST_ROW + i. No character is as large. */
enum { HELP = 256, FIRST_ROW };

enum { LISTED_MAX = 8 }; /* options that a usage line or an error lists */

struct spellings {
	struct option option[2 * NL_ARGUMENTS_MAX + 2]; /* ends with a row of zeros */
	char other[NL_ARGUMENTS_MAX][NL_NAME_MAX];      /* names with - for _, and _ for - */
};

static void list_spellings(const struct nl_command_line *line, struct spellings *out)
{
	size_t count = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < line->rows && i < NL_ARGUMENTS_MAX; i++) {
		const char *name = line->row[i].name;
		int takes = line->row[i].given ? no_argument : required_argument;

		out->option[count++] = (struct option){name, takes, NULL, FIRST_ROW + (int)i};
		for (size_t k = 0; name[k] && k < NL_NAME_MAX - 1; k++)
			out->other[i][k] = name[k] == '_' ? '-' : name[k] == '-' ? '_' : name[k];
		if (strcmp(out->other[i], name) != 0)
			out->option[count++] =
				(struct option){out->other[i], takes, NULL, FIRST_ROW + (int)i};
	}
	out->option[count] = (struct option){"help", no_argument, NULL, HELP};
}

static int fail_unknown(const struct nl_command_line *line, const char *text, struct nl_err *err)
{
	char allowed[LISTED_MAX * (NL_NAME_MAX + 4)] = ""; /* with --, comma and blank */
	size_t used = 0;

	if (line->rows > LISTED_MAX)
		return nl_fail_key(err, text, "unknown option %.100s; --help lists the options", text);
	for (size_t i = 0; i < line->rows; i++)
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "--%s, ",
					 line->row[i].name);
	return nl_fail_key(err, text, "unknown option %.100s; allowed: %s--help", text, allowed);
}

/* Fill err for a '?' or ':' that getopt_long returned just now. */
static int fail_found(const struct nl_command_line *line, int found, char *const *argv,
		      struct nl_err *err)
{
	const char *text = argv[optind - 1];
	char letter[] = "-?";

	if (found == ':')
		return nl_fail_key(err, text, "%s needs a value", text);
	if (optopt >= HELP)
		return nl_fail_key(err, text, "%s: the option takes no value", text);
	if (optopt) { /* of several letters in one word optind is still that of the word before */
		letter[1] = (char)optopt;
		text = letter;
	}
	return fail_unknown(line, text, err);
}

static int set_row(const struct nl_argument *row, const char *value, struct nl_err *err)
{
	if (row->given)
		*row->given = 1;
	else if (row->text)
		*row->text = value;
	else if (nl_decimal_parse(value, row->min, row->max, row->count))
		return nl_fail_key(err, row->name,
				   "--%s: expected an integer from %" PRIu64 " to %" PRIu64, row->name,
				   row->min, row->max);
	return NL_OK;
}

static void set_initial(const struct nl_argument *row)
{
	if (row->given)
		*row->given = 0;
	else if (row->text)
		*row->text = NULL;
	else if (!row->initial || nl_decimal_parse(row->initial, row->min, row->max, row->count))
		*row->count = 0;
}

static int take_operand(const struct nl_command_line *line, int argc, char *const *argv,
			const char **operand, struct nl_err *err)
{
	int next = optind;

	if (line->operand) {
		if (next == argc || !*argv[next])
			return nl_fail_key(err, line->operand, "missing argument: %s", line->operand);
		*operand = argv[next++];
	}
	if (next < argc)
		return nl_fail_key(err, argv[next], "unexpected argument %s", argv[next]);
	return NL_OK;
}

int nl_arguments_parse(const struct nl_command_line *line, int argc, char **argv,
		       const char **operand, struct nl_err *err)
{
	unsigned char seen[NL_ARGUMENTS_MAX] = {0};
	struct spellings spellings;
	int found;

	if (line->rows > NL_ARGUMENTS_MAX)
		return nl_fail(err, NL_INTERNAL, "%s has too many options", line->cmd);
	list_spellings(line, &spellings);
	for (size_t i = 0; i < line->rows; i++)
		set_initial(&line->row[i]);
	optind = 0; /* scan from the start, whoever scanned before */
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", spellings.option, NULL)) != -1) {
		if (found == HELP)
			return NL_ARGUMENTS_HELP;
		if (found < FIRST_ROW)
			return fail_found(line, found, argv, err);
		if (set_row(&line->row[found - FIRST_ROW], optarg, err))
			return NL_BAD_REQUEST;
		seen[found - FIRST_ROW] = 1;
	}
	for (size_t i = 0; i < line->rows; i++)
		if (line->row[i].required && !seen[i])
			return nl_fail_key(err, line->row[i].name, "--%s is missing", line->row[i].name);
	return take_operand(line, argc, argv, operand, err);
}

/* The name of an option and of its value. */
static const char *spell_option(const struct nl_argument *row, char name[2 * NL_NAME_MAX])
{
	snprintf(name, (size_t)2 * NL_NAME_MAX, "%s%s%s", row->name, row->value ? " " : "",
		 row->value ? row->value : "");
	return name;
}

void nl_arguments_help(const struct nl_command_line *line, FILE *to)
{
	char name[2 * NL_NAME_MAX];

	fprintf(to, "Usage: gensink %s%s%s%s", line->cmd, line->operand ? " " : "",
		line->operand ? line->operand : "", line->rows > LISTED_MAX ? " [--option value ...]" : "");
	for (size_t i = 0; i < line->rows && line->rows <= LISTED_MAX; i++)
		fprintf(to, line->row[i].required ? " --%s" : " [--%s]", spell_option(&line->row[i], name));
	fprintf(to, "\n\n%s", line->about);
	for (size_t i = 0; i < line->rows; i++) {
		const struct nl_argument *row = &line->row[i];

		spell_option(row, name);
		fprintf(to, "%s  --%-19s %s", i ? "" : "\n", name, row->help);
		if (row->count)
			fprintf(to, ", %" PRIu64 " to %" PRIu64, row->min, row->max);
		if (row->initial && *row->initial)
			fprintf(to, " [%s]", row->initial);
		fprintf(to, "\n");
	}
	if (line->more)
		fprintf(to, "\n%s", line->more);
}
