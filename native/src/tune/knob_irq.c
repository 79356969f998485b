/* knob_irq: the CPUs that serve the interrupts of an interface; see irq_list.h for its values.
 *
 * The interrupts are those of the PCI device that its driver has requested, in the order of their
 * numbers: queues first or last, as the driver has it. A driver may request others when queues or
 * rings are changed, so this knob comes after these in a tuning. */
#include "base/cpulist.h"
#include "tune/irq_list.h"
#include "tune/knob_file.h"
#include "tune/knob_sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tests replace these paths. */
#ifndef NL_PROC_IRQ
#define NL_PROC_IRQ "/proc/irq"
#endif
#ifndef NL_CPUS_ONLINE
#define NL_CPUS_ONLINE "/sys/devices/system/cpu/online"
#endif

enum { NAME_MAX_ = 63, PATH_SIZE = 64, CPUS_MAX = 1024 };

struct interrupts {
	struct nl_irq_list list;
	char name[NL_IRQS_MAX][NAME_MAX_ + 1]; /* the driver's; of a queue, or not */
	int shared;                            /* another device uses one of them */
};

static int by_number(const void *a, const void *b)
{
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;

	return left < right ? -1 : left > right;
}

/* Open a directory below dir for reading; NULL with errno. */
static DIR *open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries && fd >= 0)
		close(fd);
	return entries;
}

/* Numbers of the device's interrupts, also of those that are not requested. 0 or errno. */
static int list_numbers(int device, struct nl_irq_list *list)
{
	DIR *entries = open_dir(device, "msi_irqs");
	struct dirent *entry;
	struct nl_value legacy;
	int err;

	if (!entries && errno != ENOENT)
		return errno;
	while (entries && list->count < NL_IRQS_MAX && (entry = readdir(entries)))
		if (isdigit((unsigned char)entry->d_name[0]))
			list->number[list->count++] = (unsigned)strtoul(entry->d_name, NULL, 10);
	if (entries)
		closedir(entries);
	if (list->count == 0) {
		err = nl_knob_file_read(device, "irq", &legacy);
		if (err)
			return err == ENOENT ? 0 : err;
		list->number[0] = (unsigned)strtoul(legacy.text, NULL, 10);
		list->count = list->number[0] > 0;
	}
	qsort(list->number, list->count, sizeof(list->number[0]), by_number);
	return 0;
}

/* Names of the drivers' handlers of an interrupt: directories of it. Their count, or -1 with errno. */
static int handlers_of(int irqs, unsigned number, char name[NAME_MAX_ + 1])
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
			snprintf(name, NAME_MAX_ + 1, "%.*s", NAME_MAX_, entry->d_name);
	closedir(entries);
	return count;
}

/* Keep the interrupts that are requested, with the CPUs that serve them. 0 or errno. */
static int read_requested(int irqs, struct interrupts *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->list.count; i++) {
		unsigned number = out->list.number[i];
		int handlers = handlers_of(irqs, number, out->name[kept]), err;
		struct nl_value cpus;
		char path[PATH_SIZE];

		if (handlers < 0)
			return errno;
		if (handlers == 0)
			continue;
		out->shared |= handlers > 1;
		snprintf(path, sizeof(path), "%u/smp_affinity_list", number);
		err = nl_knob_file_read(irqs, path, &cpus);
		if (!err && strlen(cpus.text) > NL_IRQ_CPUS_MAX)
			err = EMSGSIZE;
		if (err)
			return err;
		out->list.number[kept] = number;
		memcpy(out->list.cpus[kept++], cpus.text, strlen(cpus.text) + 1);
	}
	out->list.count = kept;
	return 0;
}

/* The interrupts of the interface; *irqs is open on OK, and *device if it is not NULL. */
static enum nl_knob_code find_interrupts(const struct nl_knob *k, struct interrupts *out, int *irqs,
					 int *device, struct nl_err *why)
{
	int of, err;
	enum nl_knob_code code = nl_knob_sysfs_pci(k, &of, why);

	out->list.count = 0;
	out->shared = 0;
	if (code != NL_KNOB_OK)
		return code;
	*irqs = open(NL_PROC_IRQ, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = *irqs < 0 ? errno : list_numbers(of, &out->list);
	if (!err)
		err = read_requested(*irqs, out);
	if (!err && out->list.count) {
		if (device)
			*device = of;
		else
			close(of);
		return NL_KNOB_OK;
	}
	close(of);
	if (*irqs >= 0)
		close(*irqs);
	if (err == ENOENT)
		nl_fail(why, NL_REFUSED, "this kernel shows no CPUs of an interrupt");
	else if (err)
		nl_knob_fail_errno(why, "its interrupts cannot be read", err);
	else
		nl_fail(why, NL_REFUSED, "%s has no interrupts; a card that is down has none",
			k->interface);
	return nl_knob_is_shortage(err) ? NL_KNOB_FAILED : NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_access access_of(int irqs, const struct interrupts *found, struct nl_err *why)
{
	char path[PATH_SIZE];

	if (found->shared) {
		nl_fail(why, NL_REFUSED, "another device shares its interrupt");
		return NL_KNOB_READ_ONLY;
	}
	snprintf(path, sizeof(path), "%u/smp_affinity_list", found->list.number[0]);
	if (faccessat(irqs, path, W_OK, AT_EACCESS) == 0)
		return NL_KNOB_WRITABLE;
	if (errno == EROFS) {
		nl_fail(why, NL_REFUSED, "/proc is mounted read-only here");
		return NL_KNOB_READ_ONLY;
	}
	nl_fail(why, NL_REFUSED, "no privilege: the file is not writable for this user");
	return NL_KNOB_NO_PRIVILEGE;
}

static enum nl_knob_code irq_read(const struct nl_knob *k, struct nl_value *out,
				  enum nl_knob_access *access, struct nl_err *why)
{
	struct interrupts *found = malloc(sizeof(*found));
	enum nl_knob_code code;
	int irqs;

	*access = NL_KNOB_READ_ONLY;
	if (!found)
		return nl_knob_fail_errno(why, k->interface, ENOMEM);
	code = find_interrupts(k, found, &irqs, NULL, why);
	if (code == NL_KNOB_OK) {
		if (nl_irq_list_render(&found->list, 0, out->text, sizeof(out->text)) ||
		    nl_irq_list_render(&found->list, 1, out->exact, sizeof(out->exact))) {
			nl_fail(why, NL_REFUSED, "the CPUs of its %zu interrupts are too irregular to "
				"be recorded", found->list.count);
			code = NL_KNOB_UNSUPPORTED;
		} else {
			*access = access_of(irqs, found, why);
		}
		close(irqs);
	}
	free(found);
	return code;
}

static enum nl_knob_code write_one(int irqs, unsigned number, const char *cpus, struct nl_err *why)
{
	char path[PATH_SIZE];
	int err;

	snprintf(path, sizeof(path), "%u/smp_affinity_list", number);
	err = nl_knob_file_write(irqs, path, cpus);
	if (!err)
		return NL_KNOB_OK;
	if (err == EIO)
		nl_fail(why, NL_REFUSED, "the kernel itself manages the CPUs of interrupt %u", number);
	else if (err == EINVAL || err == EOVERFLOW)
		nl_fail(why, NL_REFUSED, "interrupt %u cannot be served by CPUs %s: none of them is "
			"online", number, cpus);
	else
		return nl_knob_fail_errno(why, path, err);
	return err == EIO ? NL_KNOB_UNSUPPORTED : NL_KNOB_REFUSED;
}

static enum nl_knob_code irq_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	struct interrupts *found = malloc(sizeof(*found));
	struct nl_irq_list *wanted = malloc(sizeof(*wanted));
	enum nl_knob_code code;
	int irqs;

	if (!found || !wanted || nl_irq_list_parse(text, 0, wanted)) {
		free(found);
		free(wanted);
		return nl_knob_fail_errno(why, k->interface, found && wanted ? EINVAL : ENOMEM);
	}
	code = find_interrupts(k, found, &irqs, NULL, why);
	if (code == NL_KNOB_OK) {
		if (found->list.count != wanted->count) {
			nl_fail(why, NL_REFUSED, "%s has %zu interrupts, and the value has CPUs for %zu",
				k->interface, found->list.count, wanted->count);
			code = NL_KNOB_REFUSED;
		}
		for (size_t i = 0; code == NL_KNOB_OK && i < wanted->count; i++)
			code = write_one(irqs, found->list.number[i], wanted->cpus[i], why);
		close(irqs);
	}
	free(found);
	free(wanted);
	return code;
}

/* Restores as many as it can; the first failure is the one reported. */
static enum nl_knob_code irq_restore(const struct nl_knob *k, const char *exact, struct nl_err *why)
{
	struct nl_irq_list *old = malloc(sizeof(*old));
	enum nl_knob_code code = NL_KNOB_OK;
	int irqs = -1, err = old ? 0 : ENOMEM;

	(void)k;
	if (!err && nl_irq_list_parse(exact, 1, old))
		err = EINVAL;
	if (!err) {
		irqs = open(NL_PROC_IRQ, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = irqs < 0 ? errno : 0;
	}
	for (size_t i = 0; !err && i < old->count; i++) {
		struct nl_err reason;
		enum nl_knob_code one = write_one(irqs, old->number[i], old->cpus[i], &reason);

		if (one != NL_KNOB_OK && code == NL_KNOB_OK) {
			code = one;
			*why = reason;
		}
	}
	if (irqs >= 0)
		close(irqs);
	free(old);
	return err ? nl_knob_fail_errno(why, NL_PROC_IRQ, err) : code;
}

/* True if the driver's name of an interrupt is that of a queue, not of link changes or commands. */
static int is_queue(const char *name)
{
	static const char *const words[] = {"rx",    "tx",    "comp", "input", "output",
					    "queue", "ntfy-", "fp-",  NULL};
	char lower[NAME_MAX_ + 1];
	size_t len = strcspn(name, "@");

	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[len] = '\0';
	for (const char *const *word = words; *word; word++)
		if (strstr(lower, *word))
			return 1;
	return 0;
}

/* The number of a queue: the digits that end the name, less what follows an @; or `other`. */
static size_t queue_number(const char *name, size_t other)
{
	size_t end = strcspn(name, "@"), start = end;

	while (start > 0 && isdigit((unsigned char)name[start - 1]))
		start--;
	return start < end ? (size_t)strtoul(name + start, NULL, 10) : other;
}

/* Parse a list of CPUs from a file. Their count, 0 if there is none. */
static size_t cpus_of(int dir, const char *path, uint16_t cpu[CPUS_MAX])
{
	struct nl_value value;
	size_t count;

	if (nl_knob_file_read(dir, path, &value) != 0 ||
	    nl_cpulist_parse(value.text, cpu, CPUS_MAX, &count) < 0)
		return 0;
	return count;
}

/* Queue i to the i-th of the CPUs; an interrupt that is not a queue's stays. */
static void spread(struct interrupts *found, const uint16_t *cpu, size_t count)
{
	size_t queues = 0, seen = 0;

	for (size_t i = 0; i < found->list.count; i++)
		queues += (size_t)is_queue(found->name[i]);
	for (size_t i = 0; i < found->list.count; i++) {
		if (queues && !is_queue(found->name[i]))
			continue;
		snprintf(found->list.cpus[i], sizeof(found->list.cpus[i]), "%u",
			 cpu[(queues ? queue_number(found->name[i], seen) : seen) % count]);
		seen++;
	}
}

/* `local` means the CPUs of the card's NUMA node. */
static enum nl_knob_code spread_words(struct interrupts *found, int device, const char *word,
				      struct nl_err *why)
{
	uint16_t online[CPUS_MAX], near[CPUS_MAX];
	size_t count = cpus_of(AT_FDCWD, NL_CPUS_ONLINE, online), kept = 0;
	size_t nearby = strcmp(word, "local") == 0 ? cpus_of(device, "local_cpulist", near) : 0;

	for (size_t i = 0; i < nearby; i++)
		for (size_t j = 0; j < count; j++)
			if (near[i] == online[j])
				near[kept++] = near[i];
	if (count == 0) {
		nl_fail(why, NL_REFUSED, "the CPUs that are online cannot be read");
		return NL_KNOB_UNSUPPORTED;
	}
	spread(found, kept ? near : online, kept ? kept : count);
	return NL_KNOB_OK;
}

static enum nl_knob_code irq_resolve(const struct nl_knob *k, const char *text, char *out,
				     struct nl_err *why)
{
	struct interrupts *found = malloc(sizeof(*found));
	struct nl_irq_list *wanted = malloc(sizeof(*wanted));
	int irqs, device;
	enum nl_knob_code code;

	if (!found || !wanted) {
		code = nl_knob_fail_errno(why, k->interface, ENOMEM);
	} else {
		code = find_interrupts(k, found, &irqs, &device, why);
		if (code == NL_KNOB_OK) {
			if (nl_irq_list_parse(text, 0, wanted)) {
				code = spread_words(found, device, text, why);
				*wanted = found->list;
			} else if (wanted->count == 1) {
				for (; wanted->count < found->list.count; wanted->count++)
					memcpy(wanted->cpus[wanted->count], wanted->cpus[0],
					       sizeof(wanted->cpus[0]));
			}
			close(irqs);
			close(device);
		}
	}
	if (code == NL_KNOB_OK && nl_irq_list_render(wanted, 0, out, NL_KNOB_VALUE_MAX + 1)) {
		nl_fail(why, NL_REFUSED, "the CPUs are too irregular to be recorded");
		code = NL_KNOB_UNSUPPORTED;
	}
	free(found);
	free(wanted);
	return code;
}

/* An interrupted write: each interrupt has the CPUs wanted, or those of before. */
static int irq_is_mixture(const struct nl_value *found, const char *before, const char *wanted)
{
	struct nl_irq_list *lists = malloc(3 * sizeof(*lists));
	int mixed = lists && !nl_irq_list_parse(found->exact, 1, &lists[0]) &&
		    !nl_irq_list_parse(before, 1, &lists[1]) &&
		    !nl_irq_list_parse(wanted, 0, &lists[2]) &&
		    lists[0].count == lists[1].count && lists[0].count == lists[2].count;

	for (size_t i = 0; mixed && i < lists[0].count; i++)
		mixed = lists[0].number[i] == lists[1].number[i] &&
			(strcmp(lists[0].cpus[i], lists[1].cpus[i]) == 0 ||
			 strcmp(lists[0].cpus[i], lists[2].cpus[i]) == 0);
	free(lists);
	return mixed;
}

static int is_list(const char *text)
{
	struct nl_irq_list *list = malloc(sizeof(*list));
	int ok = list && nl_irq_list_parse(text, 0, list) == 0;

	free(list);
	return ok;
}

static const char *const names[] = {"affinity", NULL};
static const char *const words[] = {"spread", "local", NULL};

const struct nl_knob_ops nl_knob_ops_irq = {
	.kind = "irq",
	.names = names,
	.has_interface = 1,
	.read = irq_read,
	.write = irq_write,
	.restore = irq_restore,
	.is_mixture = irq_is_mixture,
	.resolve = irq_resolve,
	.plan_words = words,
	.value_ok = is_list,
	.value_form = "the value is a list of CPUs for each interrupt, as in 0/1/2-3",
};
