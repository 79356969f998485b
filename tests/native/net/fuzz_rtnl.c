#include "fuzz.h"
#include "net/rtnl.h"
#include "net/sock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_interface interface;
	struct nl_rtnl_u32 size = {.type = 41}; /* IFLA_GSO_MAX_SIZE */
	struct nl_tcp tcp;
	int32_t index = 0;
	int code = nl_rtnl_parse(data, len, &index, &interface);

	if (code < -1 || code > 4095)
		abort();
	code = nl_rtnl_find_u32(data, len, &index, &size);
	if (code < -1 || code > 4095)
		abort();
	nl_tcpinfo_parse(data, len, &tcp);
	return 0;
}
