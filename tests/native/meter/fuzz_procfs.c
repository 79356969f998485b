#include "meter/procfs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct nl_meter meter;

	if (nl_procfs_stat((const char *)data, len, 10000, &meter) == 0 &&
	    (meter.cpus == 0 || meter.cpus > NL_CPUS_MAX))
		abort();
	nl_procfs_softnet((const char *)data, len, &meter);
	return 0;
}
