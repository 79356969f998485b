#include "tune/knob.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct nl_knob_ops *const table[NL_KNOB_KINDS] = {
	[NL_KNOB_SYSCTL] = &nl_knob_ops_sysctl,     [NL_KNOB_MTU] = &nl_knob_ops_mtu,
	[NL_KNOB_TXQUEUELEN] = &nl_knob_ops_txqueuelen, [NL_KNOB_RING] = &nl_knob_ops_ring,
	[NL_KNOB_COALESCE] = &nl_knob_ops_coalesce, [NL_KNOB_FEATURE] = &nl_knob_ops_feature,
	[NL_KNOB_DEFER] = &nl_knob_ops_defer,	    [NL_KNOB_MODULE] = &nl_knob_ops_module,
};

static int sysctl_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == '/';
}

/* sysctl(8)'s notation: dots part the components, a slash stands for a dot within one. */
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

/* Modules of congestion controls alone: nothing else is ours to load. */
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

static int fail(const char **bad_key, const char **message, const char *key, const char *sentence)
{
	*bad_key = key;
	*message = sentence;
	return -1;
}

int nl_knob_parse(struct nl_knob *out, const char *kind, const char *name, const char *interface,
		  const char **bad_key, const char **message)
{
	const struct nl_knob_ops *ops = NULL;
	int needs_name;

	memset(out, 0, sizeof(*out));
	if (!kind)
		return fail(bad_key, message, "knob", "the kind of knob is missing");
	for (int i = 0; i < NL_KNOB_KINDS; i++) {
		if (strcmp(table[i]->kind, kind) == 0) {
			ops = table[i];
			out->kind = (enum nl_knob_kind)i;
		}
	}
	if (!ops)
		return fail(bad_key, message, "knob",
			    "not a kind of knob: sysctl, mtu, txqueuelen, ring, coalesce, feature, "
			    "defer or module");
	needs_name = ops->names != NULL || out->kind == NL_KNOB_SYSCTL ||
		     out->kind == NL_KNOB_MODULE;
	if (needs_name && !name)
		return fail(bad_key, message, "name", "this kind of knob needs a name");
	if (!needs_name && name)
		return fail(bad_key, message, "name", "this kind of knob has no name");
	if (name && strlen(name) > NL_KNOB_NAME_MAX)
		return fail(bad_key, message, "name", "the name is too long");
	if (out->kind == NL_KNOB_SYSCTL && !sysctl_name_ok(name))
		return fail(bad_key, message, "name", "not the name of a sysctl under net.");
	if (out->kind == NL_KNOB_MODULE && !module_name_ok(name))
		return fail(bad_key, message, "name", "not the name of a module tcp_...");
	if (ops->names) {
		int known = 0;

		for (const char *const *n = ops->names; *n; n++)
			known |= strcmp(*n, name) == 0;
		if (!known)
			return fail(bad_key, message, "name", "no such knob of this kind");
	}
	if (ops->has_interface && !interface)
		return fail(bad_key, message, "interface", "this kind of knob needs an interface");
	if (!ops->has_interface && interface)
		return fail(bad_key, message, "interface", "this kind of knob has no interface");
	if (interface && !interface_ok(interface))
		return fail(bad_key, message, "interface",
			    "not a name the kernel takes for an interface");
	if (name)
		memcpy(out->name, name, strlen(name) + 1);
	if (interface)
		memcpy(out->interface, interface, strlen(interface) + 1);
	return 0;
}

int nl_knob_check_value(const struct nl_knob *k, const char *text, const char **message)
{
	const struct nl_knob_ops *ops = nl_knob_ops_of(k);

	if (strlen(text) > NL_KNOB_VALUE_MAX) {
		*message = "the value is too long";
		return -1;
	}
	if (!ops->value_ok(text)) {
		*message = ops->value_form;
		return -1;
	}
	return 0;
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

int nl_knob_may_write(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return (data[0].effective >> CAP_NET_ADMIN) & 1;
}

enum nl_knob_access nl_knob_privilege(struct nl_reason *why)
{
	if (nl_knob_may_write())
		return NL_KNOB_WRITABLE;
	nl_reason_set(why, "no privilege: changing it needs CAP_NET_ADMIN");
	return NL_KNOB_NO_PRIVILEGE;
}

void nl_reason_set(struct nl_reason *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
}

enum nl_knob_code nl_reason_errno(struct nl_reason *why, const char *what, int errnum)
{
	nl_reason_set(why, "%s: %s", what, strerror(errnum));
	if (errnum == EOPNOTSUPP || errnum == EROFS)
		return NL_KNOB_UNSUPPORTED;
	return errnum == ENODEV ? NL_KNOB_GONE : NL_KNOB_REFUSED;
}

int nl_knob_is_number(const char *text)
{
	uint64_t n = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return 0;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return 0;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > UINT32_MAX)
			return 0;
	}
	return 1;
}
