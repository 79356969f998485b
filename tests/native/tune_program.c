/* `gensink tune` alone, for the tests of tuning: the sources of the face and nothing else. */
#include "tune/tune.h"

const char *nl_version(void);
const char *nl_source_digest(void);

const char *nl_version(void)
{
	return "0";
}

const char *nl_source_digest(void)
{
	return "0";
}

int main(int argc, char **argv)
{
	return nl_tune_main(argc, argv);
}
