/* Options as the command line and Python set them: lines of `name=value`, after a byte for the role. */
#include "fuzz.h"
#include "run/run.h"

enum { TEXT_MAX = 4096 };

/* An accepted number is within its bounds; an accepted text ends. */
static void check_value(const struct nl_run_opts *opts, const struct nl_option *option)
{
	const char *at = (const char *)opts + option->offset;
	size_t room = option->kind == NL_KIND_ADDRESS	  ? NL_ADDRESS_MAX
		      : option->kind == NL_KIND_INTERFACE ? NL_NAME_MAX
		      : option->kind == NL_KIND_WORD || option->kind == NL_KIND_CPUS ? NL_LIST_MAX : 0;
	uint64_t value;

	if (option->kind == NL_KIND_COUNT || option->kind == NL_KIND_FLAG) {
		memcpy(&value, at, sizeof(value));
		want(value >= option->min && value <= option->max);
	}
	want(!room || memchr(at, '\0', room));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char text[TEXT_MAX + 1];
	struct nl_run_opts opts, before;
	struct nl_err err;
	int role;

	if (len < 1 || len > TEXT_MAX)
		return 0;
	role = data[0] & 1 ? NL_SINK : NL_GEN;
	memcpy(text, data + 1, len - 1);
	text[len - 1] = '\0';
	nl_run_opts_init(&opts, role);
	for (char *line = text, *end; line; line = end) {
		char *value = strchr(line, '=');

		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		if (!value || (end && value > end))
			continue;
		*value++ = '\0';
		before = opts;
		if (nl_run_opts_set(&opts, line, value, &err) == NL_OK)
			check_value(&opts, nl_option_find(line));
		else if (memcmp(&before, &opts, sizeof(opts)) != 0 || !err.code || !err.message[0])
			abort(); /* a refused value changes nothing, and says why */
	}
	/* a timed run and one of fixed size exclude each other */
	if (nl_run_opts_check(&opts, &err) == NL_OK && opts.role == NL_GEN && opts.bytes && opts.window_ms)
		abort();
	return 0;
}
