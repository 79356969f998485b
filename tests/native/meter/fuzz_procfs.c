#include "fuzz.h"
#include "meter/processes.h"
#include "meter/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct nl_meter meter;
	struct nl_process process;

	if (nl_procfs_stat((const char *)data, len, 10000, &meter) == 0 &&
	    (meter.cpus == 0 || meter.cpus > NL_CPUS_MAX))
		abort();
	nl_procfs_softnet((const char *)data, len, &meter);
	if (nl_process_parse((const char *)data, len, &process) == 0 &&
	    (process.pid < 0 || process.parent < 0 ||
	     !memchr(process.name, '\0', sizeof(process.name))))
		abort();
	return 0;
}
