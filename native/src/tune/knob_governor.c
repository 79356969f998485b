/* knob_governor: the frequency governor of every CPU. One value for the whole machine.
 *
 * text: the governor that all CPUs have; else, and always in `exact`, words GOVERNOR:CPULIST in the
 * order of their first CPU. */
#include "base/cpulist.h"
#include "tune/knob_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tests replace this path. */
#ifndef NL_SYS_CPU
#define NL_SYS_CPU "/sys/devices/system/cpu"
#endif

enum {
	GOVERNOR_MAX = 15, /* CPUFREQ_NAME_LEN without its NUL */
	CPUS_MAX = 1024,
	PATH_SIZE = 48,
};

struct governors {
	size_t count;
	uint16_t cpu[CPUS_MAX]; /* those that have one, ascending */
	char of[CPUS_MAX][GOVERNOR_MAX + 1];
};

static int by_number(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

static void file_of(uint16_t cpu, const char *file, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "cpu%u/cpufreq/%s", cpu, file);
}

/* List the CPUs of the directory. 0 or errno. */
static int list_cpus(int dir, struct governors *g)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	int err = entries ? 0 : errno;
	struct dirent *entry;

	if (!entries && copy >= 0)
		close(copy);
	while (entries && g->count < CPUS_MAX && (entry = readdir(entries))) {
		char path[PATH_SIZE], *end;
		unsigned long cpu;

		if (strncmp(entry->d_name, "cpu", 3) != 0 || !isdigit((unsigned char)entry->d_name[3]))
			continue;
		cpu = strtoul(entry->d_name + 3, &end, 10);
		if (*end || cpu > NL_CPU_NUMBER_MAX)
			continue;
		file_of((uint16_t)cpu, "scaling_governor", path);
		if (faccessat(dir, path, F_OK, 0) == 0)
			g->cpu[g->count++] = (uint16_t)cpu;
	}
	if (entries)
		closedir(entries);
	qsort(g->cpu, g->count, sizeof(g->cpu[0]), by_number);
	return err;
}

/* 0 or errno. */
static int read_all(int dir, struct governors *g)
{
	int err = list_cpus(dir, g);

	for (size_t i = 0; !err && i < g->count; i++) {
		char path[PATH_SIZE];
		struct nl_value value;

		file_of(g->cpu[i], "scaling_governor", path);
		err = nl_knob_file_read(dir, path, &value);
		if (!err && (strlen(value.text) > GOVERNOR_MAX || !value.text[0]))
			err = EMSGSIZE;
		if (!err)
			memcpy(g->of[i], value.text, strlen(value.text) + 1);
	}
	return err;
}

/* Append the CPUs of one governor to out; -1 if they do not fit. */
static int add_word(const struct governors *g, size_t first, char *out, size_t *len)
{
	size_t room = NL_KNOB_VALUE_MAX + 1;
	int n = snprintf(out + *len, room - *len, "%s%s:", *len ? " " : "", g->of[first]);

	for (size_t i = first; n > 0 && (size_t)n < room - *len && i < g->count; i++) {
		size_t last = i;

		if (strcmp(g->of[i], g->of[first]) != 0)
			continue;
		while (last + 1 < g->count && g->cpu[last + 1] == g->cpu[last] + 1 &&
		       strcmp(g->of[last + 1], g->of[first]) == 0)
			last++;
		*len += (size_t)n;
		n = snprintf(out + *len, room - *len, last > i ? "%s%u-%u" : "%s%u",
			     i > first ? "," : "", g->cpu[i], g->cpu[last]);
		i = last;
	}
	if (n < 0 || (size_t)n >= room - *len)
		return -1;
	*len += (size_t)n;
	return 0;
}

static int render(const struct governors *g, struct nl_value *out)
{
	int all_same = 1;
	size_t len = 0;

	for (size_t i = 0; i < g->count; i++) {
		int is_first = 1;

		for (size_t before = 0; before < i && is_first; before++)
			is_first = strcmp(g->of[before], g->of[i]) != 0;
		if (is_first && add_word(g, i, out->exact, &len) < 0)
			return -1;
		all_same &= strcmp(g->of[0], g->of[i]) == 0;
	}
	if (all_same)
		memcpy(out->text, g->of[0], sizeof(g->of[0]));
	else
		memcpy(out->text, out->exact, len + 1);
	return 0;
}

static enum nl_knob_code open_cpus(int *dir, struct nl_err *why)
{
	*dir = open(NL_SYS_CPU, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir >= 0)
		return NL_KNOB_OK;
	nl_knob_fail_errno(why, NL_SYS_CPU, errno);
	return nl_knob_is_shortage(errno) ? NL_KNOB_FAILED : NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_access access_of(int dir, uint16_t cpu, struct nl_err *why)
{
	char path[PATH_SIZE];

	if (!nl_knob_in_first_namespace()) {
		nl_fail(why, NL_REFUSED, "belongs to the whole machine; read-only in this network "
			"namespace");
		return NL_KNOB_READ_ONLY;
	}
	file_of(cpu, "scaling_governor", path);
	if (faccessat(dir, path, W_OK, AT_EACCESS) == 0)
		return NL_KNOB_WRITABLE;
	if (errno == EROFS) {
		nl_fail(why, NL_REFUSED, "/sys is mounted read-only here");
		return NL_KNOB_READ_ONLY;
	}
	nl_fail(why, NL_REFUSED, "no privilege: the file is not writable for this user");
	return NL_KNOB_NO_PRIVILEGE;
}

static enum nl_knob_code governor_read(const struct nl_knob *k, struct nl_value *out,
				       enum nl_knob_access *access, struct nl_err *why)
{
	struct governors g = {.count = 0};
	int dir, err;
	enum nl_knob_code code = open_cpus(&dir, why);

	(void)k;
	*access = NL_KNOB_READ_ONLY;
	if (code != NL_KNOB_OK)
		return code;
	err = read_all(dir, &g);
	if (!err && g.count && render(&g, out) == 0) {
		*access = access_of(dir, g.cpu[0], why);
	} else {
		code = nl_knob_is_shortage(err) ? NL_KNOB_FAILED : NL_KNOB_UNSUPPORTED;
		if (err)
			nl_knob_fail_errno(why, "it cannot be read", err);
		else if (g.count)
			nl_fail(why, NL_REFUSED, "too many CPUs differ in their governor");
		else
			nl_fail(why, NL_REFUSED, "the CPUs have no frequency governor: the kernel does "
				"not set their frequency, as in most virtual machines");
	}
	close(dir);
	return code;
}

/* True if the CPU offers the governor, or does not list what it offers. */
static int is_offered(int dir, uint16_t cpu, const char *governor, struct nl_value *offered)
{
	char path[PATH_SIZE];
	size_t len = strlen(governor);

	file_of(cpu, "scaling_available_governors", path);
	if (nl_knob_file_read(dir, path, offered) != 0)
		return 1;
	for (const char *at = offered->text; (at = strstr(at, governor)); at += len)
		if ((at == offered->text || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return 1;
	return 0;
}

static enum nl_knob_code write_one(int dir, uint16_t cpu, const char *governor,
				   struct nl_err *why)
{
	struct nl_value offered;
	char path[PATH_SIZE];
	int err;

	if (!is_offered(dir, cpu, governor, &offered)) {
		nl_fail(why, NL_REFUSED, "CPU %u has no governor %s; it offers %.150s", cpu, governor,
			offered.text);
		return NL_KNOB_UNSUPPORTED;
	}
	file_of(cpu, "scaling_governor", path);
	err = nl_knob_file_write(dir, path, governor);
	return err ? nl_knob_fail_errno(why, path, err) : NL_KNOB_OK;
}

static enum nl_knob_code governor_write(const struct nl_knob *k, const char *text,
					struct nl_err *why)
{
	struct governors g = {.count = 0};
	int dir, err;
	enum nl_knob_code code = open_cpus(&dir, why);

	(void)k;
	if (code != NL_KNOB_OK)
		return code;
	err = list_cpus(dir, &g);
	if (err)
		code = nl_knob_fail_errno(why, NL_SYS_CPU, err);
	for (size_t i = 0; code == NL_KNOB_OK && i < g.count; i++)
		code = write_one(dir, g.cpu[i], text, why);
	close(dir);
	return code;
}

/* Copy the governor of a word GOVERNOR:CPULIST and parse its CPUs; *at moves to the next word. 0 or
 * -1. */
static int take_word(const char **at, char governor[GOVERNOR_MAX + 1], uint16_t *cpu, size_t *count)
{
	char list[NL_KNOB_VALUE_MAX + 1];
	size_t name = strcspn(*at, ": "), len;

	if ((*at)[name] != ':' || name == 0 || name > GOVERNOR_MAX)
		return -1;
	memcpy(governor, *at, name);
	governor[name] = '\0';
	*at += name + 1;
	len = strcspn(*at, " ");
	if (len >= sizeof(list))
		return -1;
	memcpy(list, *at, len);
	list[len] = '\0';
	*at += len + ((*at)[len] == ' ');
	return nl_cpulist_parse(list, cpu, CPUS_MAX, count);
}

/* Restores as many CPUs as it can; the first failure is the one reported. */
static enum nl_knob_code governor_restore(const struct nl_knob *k, const char *exact,
					  struct nl_err *why)
{
	char governor[GOVERNOR_MAX + 1];
	uint16_t cpu[CPUS_MAX];
	size_t count;
	int dir;
	enum nl_knob_code code = open_cpus(&dir, why), one;

	(void)k;
	if (code != NL_KNOB_OK)
		return code;
	while (*exact) {
		if (take_word(&exact, governor, cpu, &count) < 0) {
			nl_fail(why, NL_REFUSED, "not governors and their CPUs");
			code = NL_KNOB_REFUSED;
			break;
		}
		for (size_t i = 0; i < count; i++) {
			struct nl_err reason;

			one = write_one(dir, cpu[i], governor, &reason);
			if (one != NL_KNOB_OK && code == NL_KNOB_OK) {
				code = one;
				*why = reason;
			}
		}
	}
	close(dir);
	return code;
}

/* An interrupted write: every CPU has the wanted governor, or one that was there before. */
static int governor_is_mixture(const struct nl_value *found, const char *before, const char *wanted)
{
	char governor[GOVERNOR_MAX + 1], word[GOVERNOR_MAX + 2];
	const char *at = found->exact;
	uint16_t cpu[CPUS_MAX];
	size_t count;

	while (*at) {
		if (take_word(&at, governor, cpu, &count) < 0)
			return 0;
		snprintf(word, sizeof(word), "%s:", governor);
		if (strcmp(governor, wanted) != 0 && !strstr(before, word))
			return 0;
	}
	return 1;
}

static int is_governor(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len <= GOVERNOR_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz_") == len;
}

const struct nl_knob_ops nl_knob_ops_governor = {
	.kind = "governor",
	.read = governor_read,
	.write = governor_write,
	.restore = governor_restore,
	.is_mixture = governor_is_mixture,
	.value_ok = is_governor,
	.value_form = "a governor is a word such as performance or powersave",
};
