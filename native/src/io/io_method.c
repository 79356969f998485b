#include "io/io_method.h"

const struct nl_io_method *nl_io_method_of(const struct nl_run_opts *opts)
{
	return opts->role == NL_GEN ? nl_io_send_method(opts->send)
				    : nl_io_receive_method(opts->receive);
}
