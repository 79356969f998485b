#include "meter/processes.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/request.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x00200000 /* PF_KTHREAD */, DEPTH_MAX = 256 };

/* Fields after the name, counted from 0; see proc_pid_stat(5). */
enum { PARENT = 1, FLAGS = 6, USER = 11, SYSTEM, CHILD_USER, CHILD_SYSTEM, BORN = 19, FIELDS };

/* The next number of text; a sign is skipped. 0, or -1. */
static int take_number(const char **at, const char *end, uint64_t *out)
{
	while (*at < end && (**at == ' ' || **at == '-'))
		(*at)++;
	return nl_decimal_take(at, end, out);
}

int nl_process_parse(const char *text, size_t len, struct nl_process *out)
{
	const char *end = text + len, *open = memchr(text, '(', len), *close = NULL, *at = text;
	uint64_t field[FIELDS], pid;
	size_t name_len;

	memset(out, 0, sizeof(*out));
	for (const char *c = end; open && c > open && !close; c--)
		close = c[-1] == ')' ? c - 1 : NULL; /* a name may contain brackets */
	if (!close || end - close < 4 || take_number(&at, open, &pid) || pid > INT32_MAX)
		return -1;
	at = close + 3; /* state, one letter */
	for (int i = PARENT; i < FIELDS; i++)
		if (take_number(&at, end, &field[i]))
			return -1;
	if (field[PARENT] > INT32_MAX)
		return -1;
	out->pid = (int32_t)pid;
	out->parent = (int32_t)field[PARENT];
	out->kernel = (field[FLAGS] & KERNEL_THREAD) != 0;
	out->own_ticks = field[USER] + field[SYSTEM];
	out->children_ticks = field[CHILD_USER] + field[CHILD_SYSTEM];
	out->born_ticks = field[BORN];
	name_len = (size_t)(close - open - 1);
	if (name_len >= sizeof(out->name))
		name_len = sizeof(out->name) - 1;
	memcpy(out->name, open + 1, name_len);
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	int32_t x = ((const struct nl_process *)a)->pid, y = ((const struct nl_process *)b)->pid;

	return (x > y) - (x < y);
}

static int scan_add(struct nl_process_scan *scan, const struct nl_process *process)
{
	if (scan->count == scan->capacity) {
		size_t more = scan->capacity ? 2 * scan->capacity : 512;
		struct nl_process *grown;

		if (more > NL_SCAN_MAX) {
			errno = EOVERFLOW;
			return -1;
		}
		grown = realloc(scan->process, more * sizeof(*grown));
		if (!grown)
			return -1;
		scan->process = grown;
		scan->capacity = more;
	}
	scan->process[scan->count++] = *process;
	return 0;
}

/* Add the processes of /proc to the scan, with nothing but their ids. */
static int scan_list(struct nl_process_scan *scan)
{
	struct nl_process process = {0};
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int failed = proc ? 0 : -1, errnum;

	while (!failed && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    strlen(entry->d_name) <= 10) {
			process.pid = (int32_t)strtol(entry->d_name, NULL, 10);
			failed = scan_add(scan, &process);
		}
	errnum = errno;
	if (proc)
		closedir(proc);
	errno = errnum;
	return failed;
}

int nl_process_scan(struct nl_process_scan *out, enum nl_scan_order order)
{
	size_t kept = 0;
	int errnum, kernel_seen = 0;

	memset(out, 0, sizeof(*out));
	out->t0_ns = nl_now_ns();
	if (scan_list(out)) {
		errnum = errno;
		nl_process_scan_free(out);
		errno = errnum;
		return -1;
	}
	if (out->count)
		qsort(out->process, out->count, sizeof(*out->process), by_pid);
	for (size_t i = 0; i < out->count; i++) {
		size_t at = order == NL_SCAN_FIRST ? out->count - 1 - i : i;
		struct nl_process *process = &out->process[at];
		char path[64], text[1024];
		long len;

		snprintf(path, sizeof(path), "/proc/%d/stat", process->pid);
		len = nl_file_read(path, text, sizeof(text));
		if (len < 0 || nl_process_parse(text, (size_t)len, process)) {
			process->pid = 0; /* it has ended, or is hidden */
		} else if (process->kernel) {
			process->pid = 0;
			kernel_seen = 1;
		}
	}
	out->t1_ns = nl_now_ns();
	for (size_t i = 0; i < out->count; i++)
		if (out->process[i].pid)
			out->process[kept++] = out->process[i];
	out->count = kept && out->process[0].pid == 1 && kernel_seen ? kept : 0;
	return 0;
}

void nl_process_scan_free(struct nl_process_scan *scan)
{
	free(scan->process);
	memset(scan, 0, sizeof(*scan));
}

static const struct nl_process *scan_find(const struct nl_process_scan *scan, int32_t pid)
{
	const struct nl_process key = {.pid = pid};

	return scan->count ? bsearch(&key, scan->process, scan->count, sizeof(key), by_pid) : NULL;
}

/* The same process in another scan; NULL if it is not there, or its pid was used again. */
static const struct nl_process *scan_find_same(const struct nl_process_scan *scan, const struct nl_process *p)
{
	const struct nl_process *found = scan_find(scan, p->pid);

	return found && found->born_ticks == p->born_ticks ? found : NULL;
}

static uint64_t ticks_grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

/* Subtract what a process that has ended had used before. Who waited for it is not known: its
 * parent, or an ancestor of that, such as process 1, if its parent ended first. */
static void take_from_heirs(const struct nl_process_scan *before,
			    const struct nl_process_scan *after, const struct nl_process *p,
			    uint64_t *children)
{
	uint64_t old = p->own_ticks + p->children_ticks;

	/* scans are not atomic: bound the walk, should parents form a circle */
	for (int step = 0; p && old && step < DEPTH_MAX; step++) {
		const struct nl_process *heir;

		p = scan_find(before, p->parent);
		heir = p ? scan_find_same(after, p) : NULL;
		if (heir) {
			uint64_t *waited_for = &children[heir - after->process];
			uint64_t taken = old < *waited_for ? old : *waited_for;

			*waited_for -= taken;
			old -= taken;
		}
	}
}

/* Insert by time; the smallest falls out of a full list. */
static void rank_use(struct nl_others *out, const struct nl_process_use *use)
{
	size_t at = out->top_count;

	while (at > 0 && out->top[at - 1].cpu_us < use->cpu_us)
		at--;
	if (at == NL_TOP_PROCESSES)
		return;
	if (out->top_count < NL_TOP_PROCESSES)
		out->top_count++;
	memmove(&out->top[at + 1], &out->top[at], (out->top_count - at - 1) * sizeof(*use));
	out->top[at] = *use;
}

void nl_process_diff(const struct nl_process_scan *before, const struct nl_process_scan *after,
		     int32_t self, uint64_t tick_us, struct nl_others *out)
{
	/* what each process of `after` has waited for since */
	uint64_t *children = calloc(after->count + 1, sizeof(*children));

	memset(out, 0, sizeof(*out));
	if (!children)
		return;
	for (size_t i = 0; i < after->count; i++) {
		const struct nl_process *now = &after->process[i], *then = scan_find_same(before, now);

		children[i] = ticks_grown(then ? then->children_ticks : 0, now->children_ticks);
	}
	for (size_t i = 0; i < before->count; i++)
		if (!scan_find_same(after, &before->process[i]))
			take_from_heirs(before, after, &before->process[i], children);
	out->known = 1;
	out->pid = self;
	/* all that counts was used between these, so that it is never more than the CPUs had */
	out->t0_ns = before->t0_ns;
	out->t1_ns = after->t1_ns;
	for (size_t i = 0; i < after->count; i++) {
		const struct nl_process *now = &after->process[i], *then = scan_find_same(before, now);
		struct nl_process_use use = {.pid = now->pid, .born_ticks = now->born_ticks};
		uint64_t own = ticks_grown(then ? then->own_ticks : 0, now->own_ticks);

		use.cpu_us = (own + children[i]) * tick_us;
		if (now->pid == self)
			out->born_ticks = now->born_ticks;
		if (now->pid == self || !use.cpu_us)
			continue;
		memcpy(use.name, now->name, sizeof(use.name));
		out->cpu_us += use.cpu_us;
		rank_use(out, &use);
	}
	free(children);
}

void nl_process_since(const struct nl_process_scan *first, struct nl_others *out)
{
	uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct nl_process_scan now;

	memset(out, 0, sizeof(*out));
	if (!first->count || nl_process_scan(&now, NL_SCAN_SECOND))
		return;
	if (now.count)
		nl_process_diff(first, &now, (int32_t)getpid(), tick_us, out);
	nl_process_scan_free(&now);
}
