#include "tune/knob.h"

#include "base/request.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct nl_knob_ops *const table[] = {
	&nl_knob_ops_sysctl,   &nl_knob_ops_mtu,      &nl_knob_ops_txqueuelen, &nl_knob_ops_ring,
	&nl_knob_ops_coalesce, &nl_knob_ops_feature,  &nl_knob_ops_defer,      &nl_knob_ops_adaptive,
	&nl_knob_ops_pause,    &nl_knob_ops_channels, &nl_knob_ops_napi,       &nl_knob_ops_offload,
	&nl_knob_ops_qdisc,    &nl_knob_ops_module,   &nl_knob_ops_governor,   &nl_knob_ops_irq,
	&nl_knob_ops_pci,
};

enum { KINDS = sizeof(table) / sizeof(table[0]) };

/* The rule of the kernel's dev_valid_name(), for the bytes that a request may have. */
static int interface_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= NL_KNOB_INTERFACE_MAX && !strpbrk(name, "/: ") && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* The place of a word in a list, or of the NULL at its end. */
static size_t place_of(const char *const *words, const char *word)
{
	size_t i = 0;

	while (words[i] && strcmp(words[i], word) != 0)
		i++;
	return i;
}

size_t nl_knob_name_index(const struct nl_knob *k)
{
	return place_of(k->ops->names, k->name);
}

static int fail_kind(struct nl_err *err)
{
	char allowed[200] = "";
	size_t used = 0;

	for (int i = 0; i < KINDS; i++)
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
					 i == 0 ? "" : i == KINDS - 1 ? " or " : ", ", table[i]->kind);
	return nl_fail_key(err, "knob", "knob: expected %s", allowed);
}

static int check_knob_name(const struct nl_knob_ops *ops, const char *name, struct nl_err *err)
{
	if (!ops->names && !ops->is_name)
		return name ? nl_fail_key(err, "name", "a %s has no name", ops->kind) : NL_OK;
	if (!name)
		return nl_fail_key(err, "name", "a %s needs a name", ops->kind);
	if (strlen(name) > NL_KNOB_NAME_MAX)
		return nl_fail_key(err, "name", "the name is longer than %d bytes", NL_KNOB_NAME_MAX);
	if (ops->is_name && !ops->is_name(name))
		return nl_fail_key(err, "name", "name: expected %s", ops->expected);
	if (ops->names && !ops->names[place_of(ops->names, name)])
		return nl_fail_key(err, "name", "unknown name of a %s: %.60s", ops->kind, name);
	return NL_OK;
}

int nl_knob_parse(struct nl_knob *out, const char *kind, const char *name, const char *interface,
		  struct nl_err *err)
{
	const struct nl_knob_ops *ops = NULL;

	memset(out, 0, sizeof(*out));
	if (!kind)
		return nl_fail_key(err, "knob", "the kind of knob is missing");
	for (int i = 0; i < KINDS; i++)
		if (strcmp(table[i]->kind, kind) == 0)
			ops = table[i];
	if (!ops)
		return fail_kind(err);
	if (check_knob_name(ops, name, err))
		return NL_BAD_REQUEST;
	if (ops->has_interface && !interface)
		return nl_fail_key(err, "interface", "a %s needs an interface", ops->kind);
	if (!ops->has_interface && interface)
		return nl_fail_key(err, "interface", "a %s has no interface", ops->kind);
	if (interface && !interface_ok(interface))
		return nl_fail_key(err, "interface", "not a valid name of an interface");
	out->ops = ops;
	if (name)
		memcpy(out->name, name, strlen(name) + 1);
	if (interface)
		memcpy(out->interface, interface, strlen(interface) + 1);
	return NL_OK;
}

int nl_knob_check_value(const struct nl_knob *k, const char *text, struct nl_err *err)
{
	const struct nl_knob_ops *ops = k->ops;
	uint64_t number;

	if (strlen(text) > NL_KNOB_VALUE_MAX)
		return nl_fail_key(err, "value", "the value is longer than %d bytes",
				   NL_KNOB_VALUE_MAX);
	if (ops->words) /* two of them */
		return ops->words[place_of(ops->words, text)]
			       ? NL_OK
			       : nl_fail_key(err, "value", "value: expected %s or %s", ops->words[0],
					     ops->words[1]);
	if (ops->most && nl_decimal_parse(text, ops->least, ops->most, &number))
		return nl_fail_key(err, "value", "value: expected a decimal number from %" PRIu32
				   " to %" PRIu32, ops->least, ops->most);
	return NL_OK;
}

enum nl_knob_code nl_knob_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	memset(out, 0, sizeof(*out));
	return k->ops->read(k, out, why);
}

enum nl_knob_code nl_knob_restore(const struct nl_knob *k, const char *exact, struct nl_err *why)
{
	return (k->ops->restore ? k->ops->restore : k->ops->write)(k, exact, why);
}

int nl_knob_same(const struct nl_knob *a, const struct nl_knob *b)
{
	return a->ops == b->ops && strcmp(a->name, b->name) == 0 &&
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
	return nl_knob_fail(why, NL_KNOB_NO_PRIVILEGE, "no privilege: changing it needs CAP_NET_ADMIN");
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
	return nl_knob_fail(why, NL_KNOB_GONE, "no such interface: %s", k->interface);
}

enum nl_knob_code nl_knob_unreadable(struct nl_err *why, const char *what, int errnum)
{
	return nl_knob_fail_errno(why, what, errnum) == NL_KNOB_FAILED ? NL_KNOB_FAILED : NL_KNOB_UNSUPPORTED;
}

void nl_knob_put_text(struct nl_value *out, const char *text)
{
	snprintf(out->text, sizeof(out->text), "%s", text);
	memcpy(out->exact, out->text, sizeof(out->exact));
}

void nl_knob_put_number(struct nl_value *out, uint32_t value)
{
	char text[24];

	nl_decimal_format(text, value);
	nl_knob_put_text(out, text);
}

/* Sysctls that are one number, or a few, of this namespace or machine, which the kernel only reads: a write
 * changes nothing else, and the old value is written back exactly. */
static const char *const plain_sysctls[] = {
	"net.core.", "net.ipv4.tcp_", "net.ipv4.udp_", "net.ipv4.ip_local_port_range",
	"net.ipv4.ip_no_pmtu_disc", "net.ipv4.min_adv_mss", "net.ipv4.route.min_adv_mss",
	"net.ipv4.route.min_pmtu", "net.ipv4.route.mtu_expires", "net.ipv4.ip_forward_use_pmtu",
	"net.mptcp.", "net.netfilter.", "kernel.", "vm.",
};

int nl_knob_has_effects(const struct nl_knob *k)
{
	if (k->ops == &nl_knob_ops_sysctl) {
		for (size_t i = 0; i < sizeof(plain_sysctls) / sizeof(plain_sysctls[0]); i++)
			if (strncmp(k->name, plain_sysctls[i], strlen(plain_sysctls[i])) == 0)
				return 0;
		return 1;
	}
	/* these restart a card, change the interfaces above, or renew its queues */
	return k->ops == &nl_knob_ops_mtu || k->ops == &nl_knob_ops_channels || k->ops == &nl_knob_ops_ring ||
	       k->ops == &nl_knob_ops_feature || k->ops == &nl_knob_ops_offload;
}
