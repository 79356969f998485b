#include "congestion/cc_bpf.h"

#include "base/error.h"
#include "congestion/cc_table.h"

#include <stdio.h>

#ifndef NL_BPF

int nl_cc_supported(char why[NL_MESSAGE_MAX])
{
	snprintf(why, NL_MESSAGE_MAX, "unsupported: built without BPF: %s", nl_bpf_missing());
	return 0;
}

const char *nl_cc_sha256(int cc)
{
	(void)cc;
	return NULL;
}

struct nl_cc_loaded *nl_cc_load(int cc, const struct nl_cc_params *params, struct nl_err *err)
{
	char why[NL_MESSAGE_MAX];

	(void)cc, (void)params;
	nl_cc_supported(why);
	nl_fail(err, NL_REFUSED, "%s", why);
	return NULL;
}

const char *nl_cc_name(const struct nl_cc_loaded *loaded)
{
	(void)loaded;
	return "";
}

void nl_cc_unload(struct nl_cc_loaded *loaded)
{
	(void)loaded;
}

#else

#include "base/files.h"
#include "base/process.h"
#include "congestion/cc_objects.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In kernel headers from 6.4 on; the build machine's may be older. */
enum { ATTACH_STRUCT_OPS = 44, MAP_WITH_LINK = 1 << 13 };

enum { MARKS = 36 * 36 };

struct nl_cc_loaded {
	char name[NL_CC_NAME_MAX + 1];
	struct bpf_object *object;
	struct bpf_link *link; /* with libbpf from 1.2 on */
	int link_fd;           /* with older libbpf */
};

/* libbpf reports the reason of a failure only to its print callback: keep the first warning. */
static char warning[NL_MESSAGE_MAX];

static int record_warning(enum libbpf_print_level level, const char *format, va_list values)
{
	/* The first warning is the cause, the later ones consequences. */
	if (level == LIBBPF_WARN && !warning[0])
		vsnprintf(warning, 161, format, values);
	warning[strcspn(warning, "\n")] = '\0';
	return 0;
}

int nl_cc_supported(char why[NL_MESSAGE_MAX])
{
	static int known; /* the kernel cannot change meanwhile, and its types are megabytes */
	struct btf *kernel = NULL;
	const char *reason = NULL, *cause = "";

	if (known)
		return 1;
	libbpf_set_print(record_warning);
	if (!nl_in_first_user_namespace()) {
		reason = "only root of the machine may load a BPF congestion control; this is root of a "
			 "user namespace";
	} else if (!(kernel = btf__load_vmlinux_btf())) {
		reason = "the kernel describes no types (BTF): ";
		cause = strerror(errno);
	} else if (btf__find_by_name_kind(kernel, "bpf_struct_ops_tcp_congestion_ops", BTF_KIND_STRUCT) <= 0) {
		reason = "the kernel has no BPF congestion controls";
	} else if (btf__find_by_name_kind(kernel, "bpf_struct_ops_link", BTF_KIND_STRUCT) <= 0) {
		reason = "a congestion control would outlive its process; needs Linux 6.4";
	}
	btf__free(kernel);
	known = !reason;
	if (reason)
		snprintf(why, NL_MESSAGE_MAX, "unsupported: %s%s", reason, cause);
	return known;
}

const char *nl_cc_sha256(int cc)
{
	return nl_cc_object[cc].sha256;
}

/* This libbpf cannot change the contents of a struct_ops, so write the name into the object. */
static int write_name(unsigned char *code, size_t size, const char *name)
{
	unsigned char *place = memmem(code, size, NL_CC_NAME_PLACE, NL_CC_NAME_MAX);

	if (!place || memmem(place + 1, size - (size_t)(place + 1 - code), NL_CC_NAME_PLACE,
			     NL_CC_NAME_MAX))
		return -1;
	memset(place, 0, NL_CC_NAME_MAX);
	memcpy(place, name, strlen(name));
	return 0;
}

static int link_create(int map_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (__u32)map_fd; /* map_fd in newer headers, at the same offset */
	attr.link_create.attach_type = ATTACH_STRUCT_OPS;
	return (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* 0, or -1 with errno. */
static int try_name(struct nl_cc_loaded *l, const struct nl_cc_object *o,
		    const struct nl_cc_params *params)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "netlab_cc");
	unsigned char *code = malloc(o->size);
	struct bpf_map *ops, *data;

	if (!code)
		return -1;
	memcpy(code, o->code, o->size);
	errno = EBADMSG;
	if (write_name(code, o->size, l->name) == 0)
		l->object = bpf_object__open_mem(code, o->size, &opts);
	free(code);
	if (!l->object)
		return -1;
	ops = bpf_object__find_map_by_name(l->object, "cc");
	data = bpf_object__find_map_by_name(l->object, ".rodata.params");
	if (!ops || !data) {
		errno = EBADMSG;
		return -1;
	}
	if (bpf_map__set_map_flags(ops, MAP_WITH_LINK) ||
	    bpf_map__set_initial_value(data, params, sizeof(*params)) ||
	    bpf_object__load(l->object))
		return -1;
	l->link = bpf_map__attach_struct_ops(ops);
	if (!l->link)
		return -1;
	if (bpf_link__fd(l->link) != bpf_map__fd(ops))
		return 0;
	/* An older libbpf has filled the map but does not support links: its result only stands for
	 * the map, which is registered here. */
	bpf_link__disconnect(l->link);
	bpf_link__destroy(l->link);
	l->link = NULL;
	l->link_fd = link_create(bpf_map__fd(ops));
	return l->link_fd < 0 ? -1 : 0;
}

static void fail_load(const struct nl_cc_loaded *l, int errnum, struct nl_err *err)
{
	if (errnum == EPERM || errnum == EACCES)
		nl_fail(err, NL_REFUSED,
			"the kernel accepts %s only from root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): %s",
			l->name, strerror(errnum));
	else if (errnum == EEXIST)
		nl_fail(err, NL_IN_USE, "all names from %.*s00 to _zz are in use", (int)strlen(l->name) - 2,
			l->name);
	else
		nl_fail(err, NL_REFUSED, "the kernel rejected %s: %s%s%s", l->name, strerror(errnum),
			warning[0] ? ": " : "", warning);
}

struct nl_cc_loaded *nl_cc_load(int cc, const struct nl_cc_params *params, struct nl_err *err)
{
	static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	static unsigned mark; /* continues over all loads, so that names rarely collide */
	struct nl_cc_loaded *l = NULL;
	char why[NL_MESSAGE_MAX];
	int errnum = EEXIST;

	if (!mark)
		mark = (unsigned)getpid();
	if (!nl_cc_supported(why))
		nl_fail(err, NL_REFUSED, "%s", why);
	else if (!(l = calloc(1, sizeof(*l))))
		nl_fail_errno(err, ENOMEM, "a congestion control");
	if (!l)
		return NULL;
	l->link_fd = -1;
	for (int tries = 0; tries < MARKS && errnum == EEXIST; tries++, mark++) {
		snprintf(l->name, sizeof(l->name), "nl_%s_%c%c", nl_cc_table[cc].name,
			 digit[mark / 36 % 36], digit[mark % 36]);
		warning[0] = '\0';
		errnum = try_name(l, &nl_cc_object[cc], params) ? errno : 0;
		if (errnum) {
			bpf_object__close(l->object);
			l->object = NULL;
		}
	}
	if (!errnum)
		return l;
	fail_load(l, errnum, err);
	nl_cc_unload(l);
	return NULL;
}

const char *nl_cc_name(const struct nl_cc_loaded *loaded)
{
	return loaded->name;
}

void nl_cc_unload(struct nl_cc_loaded *loaded)
{
	bpf_link__destroy(loaded->link);
	nl_close(&loaded->link_fd);
	bpf_object__close(loaded->object);
	free(loaded);
}

#endif
