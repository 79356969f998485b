
#include "base/files.h"
#include "base/request.h"
#include "tune/knob_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tests replace these paths. */
#ifndef NL_SYS_CPU
#define NL_SYS_CPU "/sys/devices/system/cpu"
#endif
#ifndef NL_PROC_IRQ
#define NL_PROC_IRQ "/proc/irq"
#endif
#ifndef NL_CPUS_ONLINE
#define NL_CPUS_ONLINE "/sys/devices/system/cpu/online"
#endif

enum { PATH_SIZE = 64 };

static int is_number(const char *name)
{
	uint64_t number;

	return strlen(name) <= 6 && nl_decimal_parse(name, 0, 999999, &number) == 0;
}

static enum nl_knob_code enter_files(const char *path, struct nl_knob_place *p, struct nl_err *why)
{
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir >= 0)
		return NL_KNOB_OK;
	nl_close(&p->device);
	return nl_knob_unreadable(why, path, errno);
}

static enum nl_knob_code governor_enter(const struct nl_knob *k, struct nl_knob_place *p,
					struct nl_err *why)
{
	snprintf(p->path, sizeof(p->path), "cpu%.10s/cpufreq/scaling_governor", k->name);
	return enter_files(NL_SYS_CPU, p, why);
}

static enum nl_knob_code irq_enter(const struct nl_knob *k, struct nl_knob_place *p, struct nl_err *why)
{
	char path[PATH_SIZE];
	struct nl_value legacy;
	enum nl_knob_code code = nl_knob_sysfs_pci(k, &p->device, why);

	if (code != NL_KNOB_OK)
		return code;
	snprintf(p->path, sizeof(p->path), "%.10s/smp_affinity_list", k->name);
	/* an interrupt of another device is none of this knob's */
	snprintf(path, sizeof(path), "msi_irqs/%.10s", k->name);
	p->absent = faccessat(p->device, path, F_OK, 0) < 0 &&
		    (nl_knob_text_read(p->device, "irq", &legacy) != 0 ||
		     strcmp(legacy.text, k->name) != 0);
	return enter_files(NL_PROC_IRQ, p, why);
}

/* NULL with errno. */
static DIR *open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries)
		nl_close(&fd);
	return entries;
}

/* Add the number of each entry of a directory that is a prefix and a number. 0 or errno. */
static int add_numbers(int dir, const char *path, const char *prefix, struct nl_members *out)
{
	DIR *entries = open_dir(dir, path);
	int err = entries ? 0 : errno;
	size_t len = strlen(prefix);
	struct dirent *entry;

	while (entries && out->count < NL_MEMBERS_MAX && (entry = readdir(entries))) {
		char *end;
		unsigned long number;

		if (strncmp(entry->d_name, prefix, len) != 0 || !isdigit((unsigned char)entry->d_name[len]))
			continue;
		number = strtoul(entry->d_name + len, &end, 10);
		if (!*end && number < 1000000)
			out->of[out->count++].number = (unsigned)number;
	}
	if (entries)
		closedir(entries);
	return err;
}

static int by_number(const void *a, const void *b)
{
	unsigned left = ((const struct nl_member *)a)->number, right = ((const struct nl_member *)b)->number;

	return left < right ? -1 : left > right;
}

/* Numbers of the device's interrupts, also of those that no driver has requested. 0 or errno. */
static int list_interrupts(int device, struct nl_members *out)
{
	struct nl_value legacy;
	int err = add_numbers(device, "msi_irqs", "", out);

	if (err && err != ENOENT)
		return err;
	if (out->count)
		return 0;
	err = nl_knob_text_read(device, "irq", &legacy);
	if (err)
		return err == ENOENT ? 0 : err;
	out->of[0].number = (unsigned)strtoul(legacy.text, NULL, 10);
	out->count = out->of[0].number > 0;
	return 0;
}

/* Names of the drivers' handlers of an interrupt: directories of it. Their count, or -1 with errno. */
static int handlers_of(int irqs, unsigned number, char name[NL_HANDLER_MAX + 1])
{
	char path[PATH_SIZE];
	struct dirent *entry;
	int count = 0;
	DIR *entries;

	snprintf(path, sizeof(path), "%u", number);
	entries = open_dir(irqs, path);
	if (!entries)
		return errno == ENOENT ? 0 : -1;
	while ((entry = readdir(entries)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && count++ == 0)
			snprintf(name, NL_HANDLER_MAX + 1, "%.*s", NL_HANDLER_MAX, entry->d_name);
	closedir(entries);
	return count;
}

/* True if the member has a file, and an interrupt a handler. -1 with errno. */
static int is_member(const struct nl_knob_place *p, struct nl_member *m)
{
	char path[PATH_SIZE];

	if (p->device >= 0)
		return handlers_of(p->dir, m->number, m->handler);
	snprintf(path, sizeof(path), "cpu%u/cpufreq/scaling_governor", m->number);
	return faccessat(p->dir, path, F_OK, 0) == 0;
}

enum nl_knob_code nl_knob_members(const struct nl_knob *k, struct nl_members *out, struct nl_err *why)
{
	struct nl_knob_place p;
	struct nl_value cpus;
	size_t kept = 0;
	int err;
	enum nl_knob_code code = nl_knob_file_enter(k, &p, why);

	memset(out, 0, sizeof(*out));
	if (code != NL_KNOB_OK)
		return code;
	err = p.device >= 0 ? list_interrupts(p.device, out) : add_numbers(p.dir, ".", "cpu", out);
	qsort(out->of, out->count, sizeof(out->of[0]), by_number);
	for (size_t i = 0; !err && i < out->count; i++) {
		int there = is_member(&p, &out->of[i]);

		if (there < 0)
			err = errno;
		else if (there)
			out->of[kept++] = out->of[i];
	}
	out->count = kept;
	if (nl_knob_text_read(AT_FDCWD, NL_CPUS_ONLINE, &cpus) == 0)
		memcpy(out->online, cpus.text, sizeof(out->online));
	if (p.device >= 0 && nl_knob_text_read(p.device, "local_cpulist", &cpus) == 0)
		memcpy(out->near, cpus.text, sizeof(out->near));
	nl_knob_file_leave(&p);
	if (err)
		return nl_knob_unreadable(why, "it cannot be read", err);
	if (kept)
		return NL_KNOB_OK;
	if (k->ops->has_interface)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
				    "%s has no interrupts; a card that is down has none", k->interface);
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
			    "the CPUs have no frequency governor: the kernel does not set their frequency, as "
			    "in most virtual machines");
}

static enum nl_knob_access governor_access(const struct nl_knob *k, const struct nl_knob_place *p,
					   struct nl_err *why)
{
	(void)k;
	if (nl_knob_in_first_namespace())
		return nl_knob_file_access(p, "/sys", why);
	return nl_knob_fail(why, NL_KNOB_READ_ONLY,
			    "belongs to the whole machine; read-only in this network namespace");
}

/* A CPU that does not list what it offers may have it. */
static enum nl_knob_code governor_refusal(const struct nl_knob *k, const struct nl_knob_place *p,
					  const char *text, int errnum, struct nl_err *why)
{
	char path[PATH_SIZE], padded[NL_KNOB_VALUE_MAX + 3], word[NL_KNOB_VALUE_MAX + 3];
	struct nl_value offered;

	snprintf(path, sizeof(path), "cpu%.10s/cpufreq/scaling_available_governors", k->name);
	if (errnum || nl_knob_text_read(p->dir, path, &offered) != 0)
		return NL_KNOB_OK;
	snprintf(padded, sizeof(padded), " %s ", offered.text);
	snprintf(word, sizeof(word), " %s ", text);
	if (strstr(padded, word))
		return NL_KNOB_OK;
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "CPU %s has no governor %.60s; it offers %.150s",
			    k->name, text, offered.text);
}

static const struct nl_knob_file governor_file = {governor_enter, governor_access, NL_KNOB_ABSENT,
						  "no governor of CPU ", governor_refusal};

const struct nl_knob_ops nl_knob_ops_governor = {
	.kind = "governor", .is_name = is_number, .expected = "the number of a CPU or interrupt",
	.has_members = 1, .detail = &governor_file,
	.read = nl_knob_file_read, .write = nl_knob_file_write,
};

static enum nl_knob_access irq_access(const struct nl_knob *k, const struct nl_knob_place *p,
				      struct nl_err *why)
{
	char handler[NL_HANDLER_MAX + 1];

	if (handlers_of(p->dir, (unsigned)strtoul(k->name, NULL, 10), handler) <= 1)
		return nl_knob_file_access(p, "/proc", why);
	return nl_knob_fail(why, NL_KNOB_READ_ONLY, "another device shares its interrupt");
}

static enum nl_knob_code irq_refusal(const struct nl_knob *k, const struct nl_knob_place *p,
				     const char *text, int errnum, struct nl_err *why)
{
	(void)p;
	if (errnum == EIO)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
				    "the kernel itself manages the CPUs of interrupt %s", k->name);
	if (errnum == EINVAL || errnum == EOVERFLOW)
		return nl_knob_fail(why, NL_KNOB_REFUSED,
				    "interrupt %s cannot be served by CPUs %.100s: none of them is online",
				    k->name, text);
	return NL_KNOB_OK;
}

static const struct nl_knob_file irq_file = {irq_enter, irq_access, NL_KNOB_ABSENT,
					     "the interface has no interrupt ", irq_refusal};

const struct nl_knob_ops nl_knob_ops_irq = {
	.kind = "irq", .is_name = is_number, .expected = "the number of a CPU or interrupt",
	.has_interface = 1, .has_members = 1, .detail = &irq_file,
	.read = nl_knob_file_read, .write = nl_knob_file_write,
};
