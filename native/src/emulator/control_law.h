/* control_law: the time between two drops or marks of CoDel (RFC 8289, section 5.5), and of COBALT. */
#pragma once

#include <stdint.h>

/* The interval over the square root of the drops so far; the interval for none. */
uint64_t nl_control_law_ns(uint64_t interval_ns, uint32_t count);
