/* argv: arguments that a parser may permute, from words that end with NULL. */
#pragma once

#include <stdio.h>

struct argv {
	char text[18][64], *at[19];
};

static inline int fill_argv(struct argv *to, const char *const *words)
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
