/* irq_list: the CPUs that serve the interrupts of an interface, as text. Pure.
 *
 *     text    CPULIST/CPULIST/..          one for each interrupt, in the order of their numbers
 *     exact   NUMBER:text;NUMBER:text;..  a group for each run of consecutive numbers
 *
 * X*N stands for N interrupts with the same CPUs, A..B for interrupts with the CPUs A, A+1, .. B, one
 * each. */
#ifndef NL_IRQ_LIST_H
#define NL_IRQ_LIST_H

#include <stddef.h>
#include <stdint.h>

enum { NL_IRQS_MAX = 512, NL_IRQ_CPUS_MAX = 63 };

struct nl_irq_list {
	size_t count;
	unsigned number[NL_IRQS_MAX];
	char cpus[NL_IRQS_MAX][NL_IRQ_CPUS_MAX + 1]; /* in the kernel's notation */
};

/* Parse text (exact: 0) or exact (1); out->number is 0 without numbers. CPU lists are brought into the
 * kernel's notation. 0, or -1. */
int nl_irq_list_parse(const char *text, int exact, struct nl_irq_list *out);

/* Write the list with or without numbers. 0, or -1 if it needs more than `size` bytes. */
int nl_irq_list_render(const struct nl_irq_list *list, int exact, char *out, size_t size);

#endif
