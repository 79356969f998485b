#include "netlab.h"

#include "nl_digest.h" /* generated: NL_VERSION, NL_SOURCE_DIGEST */

const char *nl_version(void)
{
	return NL_VERSION;
}

const char *nl_source_digest(void)
{
	return NL_SOURCE_DIGEST;
}
