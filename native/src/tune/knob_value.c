/* knob_value: functions of knob.h for all kinds of knobs. */
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
