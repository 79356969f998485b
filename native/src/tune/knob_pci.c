/* knob_pci: sizes of an interface's transactions on its bus, in the capabilities of its PCI
 * configuration space: device control of PCI Express (capability 0x10, offset 8), command and status
 * of PCI-X (capability 0x07, offsets 2 and 4). */
#include "base/files.h"
#include "tune/knob_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS = 0x06, STATUS_CAPABILITIES = 0x10, FIRST_CAPABILITY = 0x34 };
enum { CONFIG_B = 256, CAPABILITIES_MAX = 48 };
enum { FOR_USERS_B = 64 }; /* others read no more than the header */

/* A size of 2^(value + shift) bytes. */
struct field {
	uint8_t capability, at;
	unsigned low, width, shift;
	const char *lacks;
};

static const struct field fields[] = {
	{0x10, 8, 12, 3, 7, "the device is not one of PCI Express"},
	{0x10, 8, 5, 3, 7, "the device is not one of PCI Express"},
	{0x07, 2, 2, 2, 9, "the device is not one of PCI-X"},
};
static const char *const names[] = {"max-read-request", "max-payload", "mmrbc", NULL};

static const struct field *field_of(const struct nl_knob *k)
{
	return &fields[nl_knob_name_index(k)];
}

static unsigned word_at(const uint8_t config[CONFIG_B], size_t at)
{
	return config[at] | (unsigned)config[at + 1] << 8;
}

/* Offset of a capability whose register `last` is within the space; 0 if there is none. */
static size_t find_capability(const uint8_t config[CONFIG_B], uint8_t id, size_t last)
{
	size_t at = config[FIRST_CAPABILITY] & 0xfc;

	if (!(config[STATUS] & STATUS_CAPABILITIES))
		return 0;
	for (int i = 0; i < CAPABILITIES_MAX && at >= FOR_USERS_B && at + last < CONFIG_B; i++) {
		if (config[at] == id)
			return at;
		at = config[at + 1] & 0xfc;
	}
	return 0;
}

/* Read the space of the interface's device and find the field. On OK *fd is its file, open with
 * `flags`, and *at the offset of the capability. */
static enum nl_knob_code open_config(const struct nl_knob *k, int flags, uint8_t config[CONFIG_B],
				     int *fd, size_t *at, struct nl_err *why)
{
	const struct field *f = field_of(k);
	int device;
	ssize_t n;
	enum nl_knob_code code = nl_knob_sysfs_pci(k, &device, why);

	if (code != NL_KNOB_OK)
		return code;
	*fd = openat(device, "config", flags | O_CLOEXEC);
	nl_close(&device);
	if (*fd < 0)
		return nl_knob_unreadable(why, "configuration space", errno);
	memset(config, 0, CONFIG_B);
	n = pread(*fd, config, CONFIG_B, 0);
	*at = n == CONFIG_B ? find_capability(config, f->capability, 11) : 0;
	if (*at)
		return NL_KNOB_OK;
	nl_close(fd);
	if (n < 0)
		return nl_knob_unreadable(why, "configuration space", errno);
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "%s",
			    n > FOR_USERS_B ? f->lacks
					    : "no privilege: only root reads the capabilities of the device");
}

static unsigned size_B(const struct field *f, unsigned word)
{
	return 1U << (((word >> f->low) & ((1U << f->width) - 1)) + f->shift);
}

static enum nl_knob_code pci_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	const struct field *f = field_of(k);
	uint8_t config[CONFIG_B];
	struct nl_err reason;
	size_t at;
	int fd;
	enum nl_knob_code code = open_config(k, O_RDONLY, config, &fd, &at, why);

	if (code != NL_KNOB_OK)
		return code;
	close(fd);
	nl_knob_put_number(out, size_B(f, word_at(config, at + f->at)));
	if (strcmp(k->name, "max-payload") == 0)
		return nl_knob_fail(why, NL_KNOB_OK, "set by the system for all devices on the way to memory");
	code = open_config(k, O_RDWR, config, &fd, &at, why);
	if (code == NL_KNOB_OK) {
		close(fd);
		out->access = NL_KNOB_WRITABLE;
	}
	if (code != NL_KNOB_UNSUPPORTED)
		return code;
	reason = *why;
	return nl_knob_fail(why, NL_KNOB_OK, "cannot be written here: %.150s", reason.message);
}

/* Most that a PCI-X device reads at once: bits 22:21 of its status. */
static unsigned most_B(const struct field *f, const uint8_t config[CONFIG_B], size_t at)
{
	if (f->capability != 0x07)
		return 4096;
	return 1U << (((word_at(config, at + 6) >> 5) & 3) + f->shift);
}

static enum nl_knob_code write_word(int fd, size_t at, unsigned word, struct nl_err *why)
{
	uint8_t bytes[2] = {(uint8_t)word, (uint8_t)(word >> 8)};
	ssize_t n = pwrite(fd, bytes, sizeof(bytes), (off_t)at);

	if (n == sizeof(bytes))
		return NL_KNOB_OK;
	if (n < 0 && errno == EPERM)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
				    "the kernel allows no writes to configuration space (lockdown)");
	return nl_knob_fail_errno(why, "configuration space", n < 0 ? errno : EIO);
}

static enum nl_knob_code pci_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	const struct field *f = field_of(k);
	unsigned wanted_B = (unsigned)strtoul(text, NULL, 10), mask = ((1U << f->width) - 1) << f->low;
	uint8_t config[CONFIG_B];
	unsigned word, value = 0;
	size_t at;
	int fd;
	enum nl_knob_code code = open_config(k, O_RDWR, config, &fd, &at, why);

	if (code != NL_KNOB_OK)
		return code;
	while (1U << (value + f->shift) < wanted_B)
		value++;
	if (1U << (value + f->shift) != wanted_B || wanted_B > most_B(f, config, at)) {
		close(fd);
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "the device takes %u to %u B",
				    1U << f->shift, most_B(f, config, at));
	}
	word = (word_at(config, at + f->at) & ~mask) | value << f->low;
	code = write_word(fd, at + f->at, word, why);
	if (code == NL_KNOB_OK && pread(fd, config, CONFIG_B, 0) == CONFIG_B &&
	    size_B(f, word_at(config, at + f->at)) != wanted_B)
		code = nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "the device keeps its %u B",
				    size_B(f, word_at(config, at + f->at)));
	close(fd);
	return code;
}

const struct nl_knob_ops nl_knob_ops_pci = {
	.kind = "pci", .names = names, .has_interface = 1, .least = 128, .most = 4096,
	.read = pci_read, .write = pci_write,
};
