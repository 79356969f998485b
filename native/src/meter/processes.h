/* processes: CPU time of the other processes of this host between two scans of /proc.
 *
 * /proc/stat samples at clock ticks and counts packet processing apart, so that work of others
 * cannot be distinguished from that of a run that fills the CPUs. The time of each process is exact, in
 * units of 10 ms. Kernel threads are left out: most of their work is the run's own. */
#pragma once

#include "netlab.h"

enum { NL_SCAN_MAX = 65536 }; /* processes; more are not scanned */

struct nl_process {
	int32_t pid, parent;
	uint64_t born_ticks;     /* since boot: a pid used again has another */
	uint64_t own_ticks;      /* user and system */
	uint64_t children_ticks; /* of children that ended and were waited for */
	char name[NL_PROCESS_NAME];
	int kernel;
};

struct nl_process_scan {
	uint64_t t0_ns, t1_ns; /* a scan that waits for a CPU takes long, and others run meanwhile */
	size_t count, capacity;
	struct nl_process *process; /* by pid; owned, see nl_process_scan_free */
};

/* Parse the text of /proc/PID/stat. 0, or -1. Pure. */
int nl_process_parse(const char *text, size_t len, struct nl_process *out);

/* Children have higher process ids than parents, but where the ids have started again. A child that
 * ends between the two reads must not count for all its life, so its own time is read first in the
 * first of two scans, and that of its parent in the second. */
enum nl_scan_order { NL_SCAN_FIRST, NL_SCAN_SECOND };

/* Scan /proc. 0, or -1 with errno: EOVERFLOW beyond NL_SCAN_MAX. Empty if process 1 is not seen: /proc then
 * hides the processes of other users (hidepid). Empty as well if no kernel thread is seen: /proc is then
 * that of a PID namespace, as in a container, and the processes outside use the same CPUs. */
int nl_process_scan(struct nl_process_scan *out, enum nl_scan_order order);
void nl_process_scan_free(struct nl_process_scan *scan);

/* Time used between two scans by processes other than `self`. A process that ended in between is
 * known from its parent, or an ancestor of that, if one waited for it. Not known without memory. */
void nl_process_diff(const struct nl_process_scan *before, const struct nl_process_scan *after,
		     int32_t self, uint64_t tick_us, struct nl_others *out);

/* Time used by others than the caller since a first scan. Not known if either is empty, or the second
 * one fails. */
void nl_process_since(const struct nl_process_scan *first, struct nl_others *out);
