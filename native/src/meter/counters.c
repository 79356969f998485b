#include "meter/counters.h"

#define INTERFACE(field) {#field, offsetof(struct nl_interface, field)}
#define CPU(field) {#field, offsetof(struct nl_cpu, field)}

const struct nl_counter nl_interface_counters[NL_INTERFACE_COUNTERS] = {
	[NL_RX_PACKETS] = INTERFACE(rx_packets), [NL_TX_PACKETS] = INTERFACE(tx_packets),
	[NL_RX_BYTES] = INTERFACE(rx_bytes), [NL_TX_BYTES] = INTERFACE(tx_bytes),
	[NL_INTERFACE_RARE] = INTERFACE(rx_errors), INTERFACE(tx_errors),
	INTERFACE(rx_dropped), INTERFACE(tx_dropped),
};

const struct nl_counter nl_cpu_times[NL_CPU_TIMES] = {
	CPU(user_us), CPU(nice_us), CPU(system_us), CPU(idle_us),
	CPU(iowait_us), CPU(irq_us), CPU(softirq_us), CPU(steal_us),
};

_Static_assert(sizeof(struct nl_interface) == NL_INTERFACE_COUNTERS * sizeof(uint64_t),
	       "every counter of an interface is in the table");
