/* cpulist: CPU lists in the kernel's format, `0,2-3`. Pure. */
#ifndef NL_CPULIST_H
#define NL_CPULIST_H

#include <stddef.h>
#include <stdint.h>

enum { NL_CPU_NUMBER_MAX = 8191 }; /* more than any kernel supports */

/* Parse text into cpu[], in its order, at most cap numbers. 0, or -1 if the text is not a CPU list,
 * repeats a number, or has more. */
int nl_cpulist_parse(const char *text, uint16_t *cpu, size_t cap, size_t *count);

#endif
