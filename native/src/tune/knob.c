#include "tune/knob.h"

#include "base/request.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct nl_knob_ops *const table[NL_KNOB_KINDS] = {
	[NL_KNOB_SYSCTL] = &nl_knob_ops_sysctl,     [NL_KNOB_MTU] = &nl_knob_ops_mtu,
	[NL_KNOB_TXQUEUELEN] = &nl_knob_ops_txqueuelen, [NL_KNOB_RING] = &nl_knob_ops_ring,
	[NL_KNOB_COALESCE] = &nl_knob_ops_coalesce, [NL_KNOB_FEATURE] = &nl_knob_ops_feature,
	[NL_KNOB_DEFER] = &nl_knob_ops_defer,	    [NL_KNOB_ADAPTIVE] = &nl_knob_ops_adaptive,
	[NL_KNOB_PAUSE] = &nl_knob_ops_pause,	    [NL_KNOB_CHANNELS] = &nl_knob_ops_channels,
	[NL_KNOB_NAPI] = &nl_knob_ops_napi,	    [NL_KNOB_OFFLOAD] = &nl_knob_ops_offload,
	[NL_KNOB_QDISC] = &nl_knob_ops_qdisc,	    [NL_KNOB_MODULE] = &nl_knob_ops_module,
	[NL_KNOB_GOVERNOR] = &nl_knob_ops_governor, [NL_KNOB_IRQ] = &nl_knob_ops_irq,
	[NL_KNOB_PCI] = &nl_knob_ops_pci,
};

static int sysctl_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == '/';
}

/* The notation of sysctl(8): dots separate the components, a slash is a dot within one. */
static int sysctl_name_ok(const char *name)
{
	size_t part = 0; /* length of the component so far */
	int only_dots = 1;

	if (strncmp(name, "net.", 4) != 0)
		return 0;
	for (const char *c = name;; c++) {
		if (*c == '.' || *c == '\0') {
			if (part == 0 || only_dots)
				return 0;
			if (*c == '\0')
				return 1;
			part = 0;
			only_dots = 1;
		} else if (!sysctl_char(*c)) {
			return 0;
		} else {
			part++;
			if (*c != '/')
				only_dots = 0;
		}
	}
}

/* Only modules of congestion controls may be loaded. */
static int module_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && len < 56 && strncmp(name, "tcp_", 4) == 0 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* The rule of the kernel's dev_valid_name(). */
static int interface_ok(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > NL_KNOB_INTERFACE_MAX)
		return 0;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	for (; *name; name++)
		if (*name == '/' || *name == ':' || (unsigned char)*name <= 32 || *name == 127)
			return 0;
	return 1;
}

static const struct nl_knob_ops *find_kind(const char *kind, enum nl_knob_kind *out)
{
	for (int i = 0; i < NL_KNOB_KINDS; i++) {
		if (strcmp(table[i]->kind, kind) == 0) {
			*out = (enum nl_knob_kind)i;
			return table[i];
		}
	}
	return NULL;
}

static int check_name(const struct nl_knob_ops *ops, enum nl_knob_kind kind, const char *name,
		      struct nl_err *err)
{
	int needs_name = ops->names || ops->has_number || kind == NL_KNOB_SYSCTL ||
			 kind == NL_KNOB_MODULE;
	uint64_t number;

	if (!needs_name)
		return name ? nl_fail_key(err, "name", "a %s has no name", ops->kind) : NL_OK;
	if (!name)
		return nl_fail_key(err, "name", "a %s needs a name", ops->kind);
	if (strlen(name) > NL_KNOB_NAME_MAX)
		return nl_fail_key(err, "name", "the name is longer than %d bytes", NL_KNOB_NAME_MAX);
	if (kind == NL_KNOB_SYSCTL && !sysctl_name_ok(name))
		return nl_fail_key(err, "name", "name: expected a sysctl under net.");
	if (kind == NL_KNOB_MODULE && !module_name_ok(name))
		return nl_fail_key(err, "name", "name: expected a module tcp_...");
	if (ops->has_number && (strlen(name) > 6 || nl_decimal_parse(name, 0, 999999, &number)))
		return nl_fail_key(err, "name", "name: expected the number of a CPU or interrupt");
	if (!ops->names)
		return NL_OK;
	for (const char *const *n = ops->names; *n; n++)
		if (strcmp(*n, name) == 0)
			return NL_OK;
	return nl_fail_key(err, "name", "unknown name of a %s: %.60s", ops->kind, name);
}

int nl_knob_parse(struct nl_knob *out, const char *kind, const char *name, const char *interface,
		  struct nl_err *err)
{
	const struct nl_knob_ops *ops;
	int code;

	memset(out, 0, sizeof(*out));
	if (!kind)
		return nl_fail_key(err, "knob", "the kind of knob is missing");
	ops = find_kind(kind, &out->kind);
	if (!ops)
		return nl_fail_key(err, "knob",
				   "knob: expected sysctl, mtu, txqueuelen, ring, coalesce, feature, "
				   "defer, adaptive, pause, channels, napi, offload, qdisc, module, governor, irq or pci");
	code = check_name(ops, out->kind, name, err);
	if (code)
		return code;
	if (ops->has_interface && !interface)
		return nl_fail_key(err, "interface", "a %s needs an interface", ops->kind);
	if (!ops->has_interface && interface)
		return nl_fail_key(err, "interface", "a %s has no interface", ops->kind);
	if (interface && !interface_ok(interface))
		return nl_fail_key(err, "interface", "not a valid name of an interface");
	if (name)
		memcpy(out->name, name, strlen(name) + 1);
	if (interface)
		memcpy(out->interface, interface, strlen(interface) + 1);
	return NL_OK;
}

static int check_word(const char *const *words, const char *text, struct nl_err *err)
{
	char allowed[64] = "";

	for (const char *const *word = words; *word; word++) {
		if (strcmp(*word, text) == 0)
			return NL_OK;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s",
			 allowed[0] ? " or " : "", *word);
	}
	return nl_fail_key(err, "value", "value: expected %s", allowed);
}

int nl_knob_check_value(const struct nl_knob *k, const char *text, struct nl_err *err)
{
	const struct nl_knob_ops *ops = nl_knob_ops_of(k);
	uint64_t number;

	if (strlen(text) > NL_KNOB_VALUE_MAX)
		return nl_fail_key(err, "value", "the value is longer than %d bytes",
				   NL_KNOB_VALUE_MAX);
	if (ops->words)
		return check_word(ops->words, text, err);
	if (ops->most && nl_decimal_parse(text, ops->least, ops->most, &number))
		return nl_fail_key(err, "value", "value: expected a decimal number from %" PRIu32
				   " to %" PRIu32, ops->least, ops->most);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			return nl_fail_key(err, "value", "value: expected one line of printable ASCII");
	return NL_OK;
}

const struct nl_knob_ops *nl_knob_ops_of(const struct nl_knob *k)
{
	return table[k->kind];
}

int nl_knob_same(const struct nl_knob *a, const struct nl_knob *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->interface, b->interface) == 0;
}

/* Present in the initial network namespace only, in every kernel. Tests replace it. */
#ifndef NL_WHOLE_MACHINE_FILE
#define NL_WHOLE_MACHINE_FILE "/proc/sys/net/core/netdev_max_backlog"
#endif

const char *const nl_knob_switch[] = {"on", "off", NULL};

void nl_knob_fold(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		int blank = *from == ' ' || *from == '\t' || *from == '\n' || *from == '\r';

		if (!blank)
			*to++ = *from;
		else if (to != text && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to != text && to[-1] == ' ')
		to--;
	*to = '\0';
}

int nl_knob_in_first_namespace(void)
{
	return access(NL_WHOLE_MACHINE_FILE, F_OK) == 0;
}

int nl_knob_may_write(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return (data[0].effective >> CAP_NET_ADMIN) & 1;
}

enum nl_knob_access nl_knob_privilege(struct nl_err *why)
{
	if (nl_knob_may_write())
		return NL_KNOB_WRITABLE;
	nl_fail(why, NL_REFUSED, "no privilege: changing it needs CAP_NET_ADMIN");
	return NL_KNOB_NO_PRIVILEGE;
}

int nl_knob_is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == ENOBUFS;
}

enum nl_knob_code nl_knob_fail_errno(struct nl_err *why, const char *what, int errnum)
{
	nl_fail(why, NL_REFUSED, "%s: %s", what, strerror(errnum));
	if (nl_knob_is_shortage(errnum))
		return NL_KNOB_FAILED;
	if (errnum == EOPNOTSUPP || errnum == EROFS)
		return NL_KNOB_UNSUPPORTED;
	return errnum == ENODEV ? NL_KNOB_GONE : NL_KNOB_REFUSED;
}

enum nl_knob_code nl_knob_gone(const struct nl_knob *k, struct nl_err *why)
{
	nl_fail(why, NL_REFUSED, "no such interface: %s", k->interface);
	return NL_KNOB_GONE;
}

enum nl_knob_code nl_knob_unreadable(struct nl_err *why, const char *what, int errnum)
{
	nl_knob_fail_errno(why, what, errnum);
	return nl_knob_is_shortage(errnum) ? NL_KNOB_FAILED : NL_KNOB_UNSUPPORTED;
}

void nl_knob_put_number(struct nl_value *out, uint32_t value)
{
	snprintf(out->text, sizeof(out->text), "%" PRIu32, value);
	memcpy(out->exact, out->text, sizeof(out->exact));
}
