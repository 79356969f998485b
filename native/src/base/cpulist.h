/* cpulist: CPU numbers as the kernel writes them, `0,2-3`. Pure. */
#ifndef NL_CPULIST_H
#define NL_CPULIST_H

#include <stddef.h>
#include <stdint.h>

enum { NL_CPU_NUMBER_MAX = 8191 }; /* no kernel has more CPUs */

/* The numbers of text in the order they stand there, at most cap, none twice.
 * 0, or -1 when text is not such a list or holds more. */
int nl_cpulist_parse(const char *text, uint16_t *cpu, size_t cap, size_t *count);

#endif
