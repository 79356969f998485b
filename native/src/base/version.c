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

const char *nl_bpf_missing(void)
{
#ifdef NL_BPF
	return NULL;
#elif defined(NL_BPF_MISSING)
	return NL_BPF_MISSING;
#else
	return "sources compiled on a host come without BPF programs";
#endif
}
