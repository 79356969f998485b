#include "tune/knob_member.h"

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

struct place {
	int files;  /* the directory of the files */
	int device; /* that of the PCI device; -1 for CPUs */
};

static void leave(const struct place *p)
{
	close(p->files);
	if (p->device >= 0)
		close(p->device);
}

static enum nl_knob_code enter(const struct nl_knob *k, struct place *p, struct nl_err *why)
{
	const char *path = k->kind == NL_KNOB_IRQ ? NL_PROC_IRQ : NL_SYS_CPU;
	enum nl_knob_code code = NL_KNOB_OK;

	p->device = -1;
	if (k->kind == NL_KNOB_IRQ)
		code = nl_knob_sysfs_pci(k, &p->device, why);
	if (code != NL_KNOB_OK)
		return code;
	p->files = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->files >= 0)
		return NL_KNOB_OK;
	code = nl_knob_unreadable(why, path, errno);
	if (p->device >= 0)
		close(p->device);
	return code;
}

static void file_of(const struct nl_knob *k, const char *number, char path[PATH_SIZE])
{
	if (k->kind == NL_KNOB_IRQ)
		snprintf(path, PATH_SIZE, "%.10s/smp_affinity_list", number);
	else
		snprintf(path, PATH_SIZE, "cpu%.10s/cpufreq/scaling_governor", number);
}

/* NULL with errno. */
static DIR *open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries && fd >= 0)
		close(fd);
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
	err = nl_knob_file_read(device, "irq", &legacy);
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
static int is_member(const struct nl_knob *k, const struct place *p, struct nl_member *m)
{
	char path[PATH_SIZE], number[12];

	if (k->kind == NL_KNOB_IRQ)
		return handlers_of(p->files, m->number, m->handler);
	snprintf(number, sizeof(number), "%u", m->number);
	file_of(k, number, path);
	return faccessat(p->files, path, F_OK, 0) == 0;
}

enum nl_knob_code nl_knob_members(const struct nl_knob *k, struct nl_members *out, struct nl_err *why)
{
	struct nl_value cpus;
	struct place p;
	size_t kept = 0;
	int err;
	enum nl_knob_code code = enter(k, &p, why);

	memset(out, 0, sizeof(*out));
	if (code != NL_KNOB_OK)
		return code;
	err = p.device >= 0 ? list_interrupts(p.device, out) : add_numbers(p.files, ".", "cpu", out);
	qsort(out->of, out->count, sizeof(out->of[0]), by_number);
	for (size_t i = 0; !err && i < out->count; i++) {
		int there = is_member(k, &p, &out->of[i]);

		if (there < 0)
			err = errno;
		else if (there)
			out->of[kept++] = out->of[i];
	}
	out->count = kept;
	if (nl_knob_file_read(AT_FDCWD, NL_CPUS_ONLINE, &cpus) == 0)
		memcpy(out->online, cpus.text, sizeof(out->online));
	if (p.device >= 0 && nl_knob_file_read(p.device, "local_cpulist", &cpus) == 0)
		memcpy(out->near, cpus.text, sizeof(out->near));
	leave(&p);
	if (err)
		return nl_knob_unreadable(why, "it cannot be read", err);
	if (kept)
		return NL_KNOB_OK;
	if (k->kind == NL_KNOB_IRQ)
		nl_fail(why, NL_REFUSED, "%s has no interrupts; a card that is down has none", k->interface);
	else
		nl_fail(why, NL_REFUSED, "the CPUs have no frequency governor: the kernel does not set their "
			"frequency, as in most virtual machines");
	return NL_KNOB_UNSUPPORTED;
}

/* An interrupt of another device is none of this knob's. */
static int is_of_device(const struct nl_knob *k, const struct place *p)
{
	struct nl_value legacy;
	char path[PATH_SIZE];

	if (p->device < 0)
		return 1;
	snprintf(path, sizeof(path), "msi_irqs/%.10s", k->name);
	return faccessat(p->device, path, F_OK, 0) == 0 ||
	       (nl_knob_file_read(p->device, "irq", &legacy) == 0 && strcmp(legacy.text, k->name) == 0);
}

static enum nl_knob_access access_of(const struct nl_knob *k, const struct place *p, const char *path,
				     struct nl_err *why)
{
	char handler[NL_HANDLER_MAX + 1];

	if (k->kind == NL_KNOB_GOVERNOR && !nl_knob_in_first_namespace())
		nl_fail(why, NL_REFUSED, "belongs to the whole machine; read-only in this network namespace");
	else if (k->kind == NL_KNOB_IRQ &&
		 handlers_of(p->files, (unsigned)strtoul(k->name, NULL, 10), handler) > 1)
		nl_fail(why, NL_REFUSED, "another device shares its interrupt");
	else
		return nl_knob_file_access(p->files, path, k->kind == NL_KNOB_IRQ ? "/proc" : "/sys", why);
	return NL_KNOB_READ_ONLY;
}

static enum nl_knob_code member_read(const struct nl_knob *k, struct nl_value *out,
				     enum nl_knob_access *access, struct nl_err *why)
{
	char path[PATH_SIZE];
	struct place p;
	int err;
	enum nl_knob_code code = enter(k, &p, why);

	*access = NL_KNOB_READ_ONLY;
	if (code != NL_KNOB_OK)
		return code;
	file_of(k, k->name, path);
	err = is_of_device(k, &p) ? nl_knob_file_read(p.files, path, out) : ENOENT;
	if (!err)
		*access = access_of(k, &p, path, why);
	leave(&p);
	if (!err)
		return NL_KNOB_OK;
	if (err != ENOENT)
		return nl_knob_unreadable(why, "it cannot be read", err);
	nl_fail(why, NL_REFUSED, k->kind == NL_KNOB_IRQ ? "the interface has no interrupt %s"
							: "no governor of CPU %s", k->name);
	return NL_KNOB_ABSENT;
}

/* True if the CPU offers the governor, or does not list what it offers. */
static int is_offered(int dir, const char *cpu, const char *governor, struct nl_value *offered)
{
	char path[PATH_SIZE], padded[NL_KNOB_VALUE_MAX + 3], word[NL_KNOB_VALUE_MAX + 3];

	snprintf(path, sizeof(path), "cpu%.10s/cpufreq/scaling_available_governors", cpu);
	if (nl_knob_file_read(dir, path, offered) != 0)
		return 1;
	snprintf(padded, sizeof(padded), " %s ", offered->text);
	snprintf(word, sizeof(word), " %s ", governor);
	return strstr(padded, word) != NULL;
}

static enum nl_knob_code member_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	struct nl_value offered;
	char path[PATH_SIZE];
	struct place p;
	int err;
	enum nl_knob_code code = enter(k, &p, why);

	if (code != NL_KNOB_OK)
		return code;
	file_of(k, k->name, path);
	if (k->kind == NL_KNOB_GOVERNOR && !is_offered(p.files, k->name, text, &offered)) {
		nl_fail(why, NL_REFUSED, "CPU %.10s has no governor %.60s; it offers %.150s", k->name, text,
			offered.text);
		leave(&p);
		return NL_KNOB_UNSUPPORTED;
	}
	err = is_of_device(k, &p) ? nl_knob_file_write(p.files, path, text) : ENOENT;
	leave(&p);
	if (k->kind == NL_KNOB_IRQ && err == EIO) {
		nl_fail(why, NL_REFUSED, "the kernel itself manages the CPUs of interrupt %.10s", k->name);
		return NL_KNOB_UNSUPPORTED;
	}
	if (k->kind == NL_KNOB_IRQ && (err == EINVAL || err == EOVERFLOW)) {
		nl_fail(why, NL_REFUSED, "interrupt %.10s cannot be served by CPUs %.100s: none of them is "
			"online", k->name, text);
		return NL_KNOB_REFUSED;
	}
	return err ? nl_knob_fail_errno(why, path, err) : NL_KNOB_OK;
}

const struct nl_knob_ops nl_knob_ops_governor = {
	.kind = "governor",
	.has_number = 1,
	.read = member_read,
	.write = member_write,
	.restore = member_write,
};

const struct nl_knob_ops nl_knob_ops_irq = {
	.kind = "irq",
	.has_number = 1,
	.has_interface = 1,
	.read = member_read,
	.write = member_write,
	.restore = member_write,
};
