/* `gensink tune` without the rest of main.c, for the tests of tuning. */
#include "commands.h"

int main(int argc, char **argv)
{
	return nl_tune_main(argc, argv);
}
