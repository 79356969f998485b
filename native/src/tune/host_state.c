#include "tune/host_state.h"

#include "base/clock.h"
#include "base/files.h"
#include "net/features.h"
#include "net/interface.h"
#include "net/rtnl.h"
#include "tune/knob_file.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <limits.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 8192, RAW_MAX = NL_STATE_MESSAGE_MAX - NLMSG_HDRLEN, SYSCTL_DEPTH = 8, FILE_MAX = 4096 };
/* of kernels younger than the headers that this builds with */
enum { GSO_MAX_SIZE_ = 41, GRO_MAX_SIZE_ = 58, GSO_IPV4_MAX_SIZE_ = 63, GRO_IPV4_MAX_SIZE_ = 64,
       RTA_NH_ID_ = 30, ROUTE_ATTRIBUTES = 64 };

const char *nl_state_word(enum nl_state_kind kind)
{
	static const char *const words[] = {"links",  "offloads",   "addresses", "sysctls",
					    "queues", "neighbours", "routes",	 "rules",
					    "queueing disciplines"};

	return words[kind];
}

void nl_state_free(struct nl_state *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->item[i].key);
	free(s->item);
	memset(s, 0, sizeof(*s));
}

int nl_state_add(struct nl_state *s, const struct nl_state_item *item)
{
	size_t key = strlen(item->key) + 1, value = strlen(item->value) + 1;
	struct nl_state_item *added;
	char *copy;

	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 1024;
		struct nl_state_item *more = realloc(s->item, cap * sizeof(*more));

		if (!more)
			return -1;
		s->item = more;
		s->cap = cap;
	}
	copy = malloc(key + value + item->raw_len);
	if (!copy)
		return -1;
	added = &s->item[s->count++];
	*added = *item;
	added->key = memcpy(copy, item->key, key);
	added->value = memcpy(copy + key, item->value, value);
	added->raw = (uint8_t *)copy + key + value;
	if (item->raw_len)
		memcpy(added->raw, item->raw, item->raw_len);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct nl_state_item *x = a, *y = b;

	return strcmp(x->key, y->key);
}

void nl_state_sort(struct nl_state *s)
{
	if (s->count)
		qsort(s->item, s->count, sizeof(s->item[0]), by_key);
}

const struct nl_state_item *nl_state_find(const struct nl_state *s, const char *key)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(key, s->item[middle].key);

		if (order == 0)
			return &s->item[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

int nl_state_has_interface(const struct nl_state *a, const struct nl_state *b, const char *interface)
{
	char key[IFNAMSIZ + 16];
	const struct nl_state_item *x, *y;

	snprintf(key, sizeof(key), "link %s", interface);
	x = nl_state_find(a, key);
	y = nl_state_find(b, key);
	return x && y && strcmp(x->value, y->value) == 0;
}

/* -- reading ------------------------------------------------------------------------- */

struct text {
	size_t len;
	char at[TEXT_MAX];
};

struct reading {
	struct nl_state *state;
	enum nl_state_kind kind;
	size_t items; /* of that kind */
	size_t links; /* the first items, by key */
	int failed;   /* errno */
	int ifindex;  /* of the last item: a host has many routes and few interfaces */
	char name[IFNAMSIZ];
	struct text key, value;
	uint8_t raw[RAW_MAX];
	size_t raw_len;
};

__attribute__((format(printf, 2, 3))) static void append_text(struct text *t, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(t->at + t->len, sizeof(t->at) - t->len, format, arguments);
	va_end(arguments);
	if (n > 0)
		t->len = t->len + (size_t)n < sizeof(t->at) ? t->len + (size_t)n : sizeof(t->at) - 1;
}

static void append_bytes(struct text *t, const uint8_t *bytes, size_t len)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < len && t->len + 2 < sizeof(t->at); i++) {
		t->at[t->len++] = digit[bytes[i] >> 4];
		t->at[t->len++] = digit[bytes[i] & 15];
	}
	t->at[t->len] = '\0';
}

static void append_address(struct text *t, int family, const struct nl_rtattr *a)
{
	char name[INET6_ADDRSTRLEN];

	if (a->len >= (family == AF_INET ? 4U : 16U) && inet_ntop(family, a->content, name, sizeof(name)))
		append_text(t, "%s", name);
	else
		append_bytes(t, a->content, a->len);
}

static uint32_t u32_of(const struct nl_rtattr *a)
{
	uint32_t value = 0;

	memcpy(&value, a->content, a->len < sizeof(value) ? a->len : sizeof(value));
	return value;
}

static void reading_begin(struct reading *r)
{
	r->key.len = r->value.len = r->raw_len = 0;
	r->key.at[0] = r->value.at[0] = '\0';
}

static void raw_append(struct reading *r, const void *bytes, size_t len)
{
	size_t room = NLMSG_ALIGN(len);

	if (r->raw_len + room > sizeof(r->raw)) {
		r->failed = EMSGSIZE;
		return;
	}
	memset(r->raw + r->raw_len, 0, room);
	memcpy(r->raw + r->raw_len, bytes, len);
	r->raw_len += room;
}

static void raw_append_attribute(struct reading *r, uint16_t type, const void *content, size_t len)
{
	struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = type};

	raw_append(r, &head, sizeof(head));
	if (len)
		raw_append(r, content, len);
}

/* Add the item of key, value and raw; value: text for both, or NULL. Returns non-zero to end a dump. */
static int reading_add(struct reading *r, const char *interface)
{
	struct nl_state_item item = {.kind = r->kind, .key = r->key.at, .value = r->value.at,
				     .raw = r->raw, .raw_len = r->raw_len};

	snprintf(item.interface, sizeof(item.interface), "%s", interface);
	if (++r->items > NL_STATE_ITEMS_MAX)
		r->failed = E2BIG;
	else if (nl_state_add(r->state, &item) < 0)
		r->failed = ENOMEM;
	return r->failed;
}

static int add_text(struct reading *r, const char *interface, const char *value)
{
	r->value.len = 0;
	append_text(&r->value, "%s", value);
	r->raw_len = 0;
	raw_append(r, value, strlen(value) + 1);
	return reading_add(r, interface);
}

static const char *name_of(struct reading *r, int ifindex)
{
	if (ifindex != r->ifindex && nl_ifindex_name(ifindex, r->name) != 0)
		r->name[0] = '\0';
	r->ifindex = ifindex;
	return r->name;
}

static int add_number(struct reading *r, const char *interface, const char *what, uint32_t value)
{
	char text[16];

	reading_begin(r);
	append_text(&r->key, "link %s %s", interface, what);
	snprintf(text, sizeof(text), "%u", value);
	return add_text(r, interface, text);
}

static int each_link(void *ctx, const uint8_t *message, size_t len)
{
	static const struct {
		uint16_t type;
		const char *what;
	} numbers[] = {
		{IFLA_MTU, "mtu"}, {IFLA_TXQLEN, "txqueuelen"}, {IFLA_MASTER, "master"},
		{GSO_MAX_SIZE_, "gso_max_size"}, {GRO_MAX_SIZE_, "gro_max_size"},
		{GSO_IPV4_MAX_SIZE_, "gso_ipv4_max_size"}, {GRO_IPV4_MAX_SIZE_, "gro_ipv4_max_size"},
	};
	struct reading *r = ctx;
	struct ifinfomsg link;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(link));
	char name[IFNAMSIZ] = "", index[16];
	struct nl_rtattr a;

	if (len < at)
		return 0;
	memcpy(&link, message + NLMSG_HDRLEN, sizeof(link));
	while (nl_rtattr_next(message, len, &at, &a))
		if (a.type == IFLA_IFNAME)
			snprintf(name, sizeof(name), "%.*s", (int)a.len, (const char *)a.content);
	reading_begin(r);
	append_text(&r->key, "link %s", name);
	snprintf(index, sizeof(index), "%d", link.ifi_index);
	if (add_text(r, name, index) ||
	    add_number(r, name, "flags", link.ifi_flags & (IFF_UP | IFF_NOARP | IFF_MULTICAST)))
		return r->failed;
	at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(link));
	while (nl_rtattr_next(message, len, &at, &a))
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (a.type == numbers[i].type && add_number(r, name, numbers[i].what, u32_of(&a)))
				return r->failed;
	return 0;
}

static int each_address(void *ctx, const uint8_t *message, size_t len)
{
	/* of the kernel's own work: duplicate detection */
	static const uint32_t passing = IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_OPTIMISTIC | IFA_F_DEPRECATED;
	struct reading *r = ctx;
	struct ifaddrmsg head;
	struct nl_rtattr a;
	size_t start = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(head)), at = start;
	uint32_t flags;

	if (len < start)
		return 0;
	memcpy(&head, message + NLMSG_HDRLEN, sizeof(head));
	flags = head.ifa_flags;
	while (nl_rtattr_next(message, len, &at, &a))
		if (a.type == IFA_FLAGS)
			flags = u32_of(&a);
	if (head.ifa_family == AF_INET6 && (flags & IFA_F_TEMPORARY))
		return 0;
	flags &= ~passing;
	reading_begin(r);
	head.ifa_flags = (uint8_t)flags;
	raw_append(r, &head, sizeof(head));
	append_text(&r->key, "address");
	append_text(&r->value, "scope %u flags %x", head.ifa_scope, flags);
	for (at = start; nl_rtattr_next(message, len, &at, &a);) {
		if (a.type == IFA_FLAGS) {
			raw_append_attribute(r, IFA_FLAGS, &flags, sizeof(flags));
			continue;
		}
		raw_append_attribute(r, a.type, a.content, a.len);
		if (a.type == IFA_ADDRESS || a.type == IFA_LOCAL) {
			append_text(&r->key, a.type == IFA_LOCAL ? " local " : " ");
			append_address(&r->key, head.ifa_family, &a);
		} else if (a.type != IFA_CACHEINFO) {
			append_text(&r->value, " attribute%u ", a.type);
			append_bytes(&r->value, a.content, a.len);
		}
	}
	append_text(&r->key, "/%u dev %s", head.ifa_prefixlen, name_of(r, (int)head.ifa_index));
	return reading_add(r, name_of(r, (int)head.ifa_index));
}

static void append_metrics(struct text *t, const struct nl_rtattr *metrics)
{
	static const char *const names[] = {[RTAX_LOCK] = "lock", [RTAX_MTU] = "mtu", [RTAX_WINDOW] = "window",
					    [RTAX_RTT] = "rtt", [RTAX_ADVMSS] = "advmss",
					    [RTAX_HOPLIMIT] = "hoplimit", [RTAX_INITCWND] = "initcwnd",
					    [RTAX_INITRWND] = "initrwnd"};
	struct nl_rtattr a;
	size_t at = 0;

	while (nl_rtattr_next(metrics->content, metrics->len, &at, &a))
		if (a.type < sizeof(names) / sizeof(names[0]) && names[a.type])
			append_text(t, " %s %u", names[a.type], u32_of(&a));
		else {
			append_text(t, " metric%u ", a.type);
			append_bytes(t, a.content, a.len);
		}
}

/* Clear the flags of the kernel's own in each next hop of a copy. */
static void clean_hops(uint8_t *hops, size_t len)
{
	struct rtnexthop hop;

	for (size_t at = 0; at + sizeof(hop) <= len; at += RTNH_ALIGN(hop.rtnh_len)) {
		memcpy(&hop, hops + at, sizeof(hop));
		if (hop.rtnh_len < sizeof(hop))
			return;
		hop.rtnh_flags &= RTNH_F_PERVASIVE | RTNH_F_ONLINK;
		memcpy(hops + at, &hop, sizeof(hop));
	}
}

struct route {
	struct rtmsg head;
	struct nl_rtattr of[ROUTE_ATTRIBUTES]; /* by type; without content: none */
	uint32_t table;
};

/* Read a message; 0 if it is not a route that somebody has set. */
static int route_read(struct route *route, const uint8_t *message, size_t len)
{
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(route->head));
	struct nl_rtattr a;

	*route = (struct route){0};
	if (len < at)
		return 0;
	memcpy(&route->head, message + NLMSG_HDRLEN, sizeof(route->head));
	while (nl_rtattr_next(message, len, &at, &a))
		if ((a.type & NLA_TYPE_MASK) < ROUTE_ATTRIBUTES)
			route->of[a.type & NLA_TYPE_MASK] = a;
	route->table = route->of[RTA_TABLE].content ? u32_of(&route->of[RTA_TABLE]) : route->head.rtm_table;
	return !(route->head.rtm_flags & RTM_F_CLONED) && route->table != RT_TABLE_LOCAL &&
	       route->head.rtm_protocol != RTPROT_REDIRECT;
}

/* Destination, source, gateway, interface, table, metric and TOS: routes that differ in these stand side by side. */
static void append_route_key(struct text *key, const struct route *route, const char *interface)
{
	const struct rtmsg *head = &route->head;
	const struct nl_rtattr *of = route->of;

	append_text(key, "route ");
	if (of[RTA_DST].content)
		append_address(key, head->rtm_family, &of[RTA_DST]);
	else
		append_text(key, head->rtm_family == AF_INET ? "0.0.0.0" : "::");
	append_text(key, "/%u", head->rtm_dst_len);
	if (of[RTA_SRC].content) {
		append_text(key, " from ");
		append_address(key, head->rtm_family, &of[RTA_SRC]);
		append_text(key, "/%u", head->rtm_src_len);
	}
	if (of[RTA_GATEWAY].content) {
		append_text(key, " via ");
		append_address(key, head->rtm_family, &of[RTA_GATEWAY]);
	}
	if (of[RTA_OIF].content)
		append_text(key, " dev %s", interface);
	append_text(key, " table %u metric %u tos %u", route->table,
		    of[RTA_PRIORITY].content ? u32_of(&of[RTA_PRIORITY]) : 0, head->rtm_tos);
}

/* Add an attribute to what restores the route, and to its value unless the key has it. */
static void route_append_attribute(struct reading *r, const struct route *route, struct nl_rtattr a)
{
	uint16_t type = a.type & NLA_TYPE_MASK;
	uint8_t hops[RAW_MAX];

	if (type == RTA_MULTIPATH && a.len <= sizeof(hops)) {
		memcpy(hops, a.content, a.len);
		clean_hops(hops, a.len);
		a.content = hops;
	}
	/* with an identified next hop its parts are the kernel's explanation */
	if (!route->of[RTA_NH_ID_].content || (type != RTA_GATEWAY && type != RTA_OIF && type != RTA_MULTIPATH))
		raw_append_attribute(r, a.type, a.content, a.len);
	if (type == RTA_METRICS) {
		append_metrics(&r->value, &a);
	} else if (type != RTA_DST && type != RTA_SRC && type != RTA_GATEWAY && type != RTA_OIF &&
		   type != RTA_TABLE && type != RTA_PRIORITY) {
		append_text(&r->value, type == RTA_MULTIPATH ? " nexthops " : " attribute%u ", type);
		append_bytes(&r->value, a.content, a.len);
	}
}

/* Seconds until the route expires; 0: never. */
static uint32_t route_expires_s(const struct nl_rtattr *a)
{
	struct rta_cacheinfo info;

	if (a->len < sizeof(info))
		return 0;
	memcpy(&info, a->content, sizeof(info));
	return info.rta_expires > 0 ? (uint32_t)(info.rta_expires / sysconf(_SC_CLK_TCK)) : 0;
}

static int each_route(void *ctx, const uint8_t *message, size_t len)
{
	struct reading *r = ctx;
	struct route route;
	struct nl_rtattr a;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(route.head));
	uint32_t expires_s = 0;
	const char *interface = "";

	if (!route_read(&route, message, len))
		return 0;
	route.head.rtm_flags &= RTNH_F_PERVASIVE | RTNH_F_ONLINK;
	reading_begin(r);
	raw_append(r, &route.head, sizeof(route.head));
	if (route.of[RTA_OIF].content)
		interface = name_of(r, (int)u32_of(&route.of[RTA_OIF]));
	append_route_key(&r->key, &route, interface);
	append_text(&r->value, "type %u proto %u scope %u flags %x", route.head.rtm_type, route.head.rtm_protocol,
		    route.head.rtm_scope, route.head.rtm_flags);
	while (nl_rtattr_next(message, len, &at, &a)) {
		if ((a.type & NLA_TYPE_MASK) == RTA_CACHEINFO)
			expires_s = route_expires_s(&a);
		else
			route_append_attribute(r, &route, a);
	}
	if (expires_s)
		raw_append_attribute(r, RTA_EXPIRES, &expires_s, sizeof(expires_s));
	return reading_add(r, interface);
}

static int each_neighbour(void *ctx, const uint8_t *message, size_t len)
{
	struct reading *r = ctx;
	struct nl_rtattr a;
	struct ndmsg head;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(head));

	if (len < at)
		return 0;
	memcpy(&head, message + NLMSG_HDRLEN, sizeof(head));
	if (!(head.ndm_state & NUD_PERMANENT) && !(head.ndm_flags & NTF_PROXY))
		return 0;
	if (head.ndm_family != AF_INET && head.ndm_family != AF_INET6)
		return 0;
	reading_begin(r);
	raw_append(r, &head, sizeof(head));
	append_text(&r->key, head.ndm_flags & NTF_PROXY ? "proxy for neighbour " : "neighbour ");
	while (nl_rtattr_next(message, len, &at, &a)) {
		if (a.type != NDA_DST && a.type != NDA_LLADDR && a.type != NDA_PROTOCOL)
			continue;
		raw_append_attribute(r, a.type, a.content, a.len);
		if (a.type == NDA_DST) {
			append_address(&r->key, head.ndm_family, &a);
		} else {
			append_text(&r->value, a.type == NDA_PROTOCOL ? " proto " : "");
			append_bytes(&r->value, a.content, a.len);
		}
	}
	append_text(&r->key, " dev %s", name_of(r, head.ndm_ifindex));
	return reading_add(r, name_of(r, head.ndm_ifindex));
}

static int each_rule(void *ctx, const uint8_t *message, size_t len)
{
	struct reading *r = ctx;
	struct nl_rtattr a;
	struct fib_rule_hdr head;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(head));

	if (len < at)
		return 0;
	memcpy(&head, message + NLMSG_HDRLEN, sizeof(head));
	head.flags &= FIB_RULE_PERMANENT | FIB_RULE_INVERT;
	reading_begin(r);
	append_text(&r->key, "rule ");
	append_bytes(&r->key, (const uint8_t *)&head, sizeof(head));
	while (nl_rtattr_next(message, len, &at, &a)) {
		append_text(&r->key, " attribute%u ", a.type);
		append_bytes(&r->key, a.content, a.len);
	}
	return reading_add(r, "");
}

static int each_qdisc(void *ctx, const uint8_t *message, size_t len)
{
	struct reading *r = ctx;
	struct nl_rtattr a;
	struct tcmsg head;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(head));

	if (len < at)
		return 0;
	memcpy(&head, message + NLMSG_HDRLEN, sizeof(head));
	reading_begin(r);
	append_text(&r->key, "qdisc dev %s parent %x", name_of(r, head.tcm_ifindex),
		    head.tcm_parent == TC_H_ROOT ? head.tcm_parent : TC_H_MIN(head.tcm_parent));
	while (nl_rtattr_next(message, len, &at, &a)) {
		if (a.type == TCA_KIND)
			append_text(&r->value, "%.*s ", (int)a.len, (const char *)a.content);
		else if (a.type == TCA_OPTIONS)
			append_bytes(&r->value, a.content, a.len);
	}
	return reading_add(r, name_of(r, head.tcm_ifindex));
}

/* Read the file into *text, folded. 0, or errno. */
static int file_read(int dir, const char *path, char text[FILE_MAX + 1], int must_be_writable)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), err;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno;
	err = fstat(fd, &st) < 0 ? errno : must_be_writable && !(st.st_mode & 0222) ? EACCES : 0;
	n = err ? 0 : read(fd, text, FILE_MAX);
	if (!err && n < 0)
		err = errno;
	nl_close(&fd);
	if (err || n == FILE_MAX)
		return err ? err : EMSGSIZE;
	text[n] = '\0';
	nl_knob_fold(text);
	return 0;
}

/* The interface of net/ipv4/conf/NAME/forwarding and net/ipv6/neigh/NAME/..., or "". */
static void interface_of(const char *path, char name[IFNAMSIZ])
{
	static const char *const below[] = {"net/ipv4/conf/", "net/ipv6/conf/", "net/ipv4/neigh/",
					    "net/ipv6/neigh/", "net/mpls/conf/"};
	size_t len;

	name[0] = '\0';
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		const char *from = path + strlen(below[i]);

		if (strncmp(path, below[i], strlen(below[i])) != 0)
			continue;
		len = strcspn(from, "/");
		if (len < IFNAMSIZ && strncmp(from, "all/", 4) != 0 && strncmp(from, "default/", 8) != 0)
			snprintf(name, IFNAMSIZ, "%.*s", (int)len, from);
	}
}

/* From a path to the notation of sysctl(8), and back. */
static void swap_dots(char *text)
{
	for (; *text; text++)
		*text = *text == '/' ? '.' : *text == '.' ? '/' : *text;
}

static void put_sysctl(struct reading *r, const char *path, const char *text)
{
	char interface[IFNAMSIZ], mtu_key[64];
	const struct nl_state_item *link;
	struct nl_state links;

	reading_begin(r);
	append_text(&r->key, "sysctl %s", path);
	swap_dots(r->key.at);
	interface_of(path, interface);
	add_text(r, interface, text);
	/* IPv6's MTU follows the link's unless somebody lowered it */
	if (interface[0] && strncmp(path, "net/ipv6/conf/", 14) == 0 && strcmp(strrchr(path, '/'), "/mtu") == 0) {
		snprintf(mtu_key, sizeof(mtu_key), "link %s mtu", interface);
		links = (struct nl_state){.item = r->state->item, .count = r->links}; /* items move when one is added */
		link = nl_state_find(&links, mtu_key);
		if (link && strcmp(link->value, text) == 0) {
			free(r->state->item[--r->state->count].key);
			r->value.len = 0;
			append_text(&r->value, "that of the link");
			reading_add(r, interface);
		}
	}
}

static void add_sysctl(struct reading *r, int proc, const char *path)
{
	char text[FILE_MAX + 1];
	int err;

	if (strcmp(path, "net/ipv4/tcp_fastopen_key") == 0 ||
	    strcmp(path, "net/ipv4/tcp_allowed_congestion_control") == 0)
		return;
	err = file_read(proc, path, text, 1);
	if (nl_knob_is_shortage(err))
		r->failed = err;
	if (!err)
		put_sysctl(r, path, text);
}

static void walk_sysctls(struct reading *r, int proc, char path[PATH_MAX], size_t len, int depth)
{
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		nl_close(&fd);
		r->failed = errno;
		return;
	}
	while (!r->failed && (entry = readdir(dir))) {
		int n = snprintf(path + len, PATH_MAX - len, "/%s", entry->d_name);

		if (entry->d_name[0] == '.' || n < 0 || (size_t)n >= PATH_MAX - len)
			continue;
		if (entry->d_type == DT_REG)
			add_sysctl(r, proc, path);
		else if (entry->d_type == DT_DIR && depth < SYSCTL_DEPTH)
			walk_sysctls(r, proc, path, len + (size_t)n, depth + 1);
	}
	path[len] = '\0';
	closedir(dir);
}

static void read_sysctls(struct reading *r)
{
	int proc = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX] = "net";

	if (proc < 0)
		r->failed = errno;
	else
		walk_sysctls(r, proc, path, 3, 0);
	nl_close(&proc);
}

/* Open the directory of this namespace's interfaces, by one that is not everywhere. A negative errno. */
static int interfaces_open(const char *interface)
{
	struct nl_knob k = {.ops = &nl_knob_ops_defer};
	struct nl_err why;
	int dir = -1;

	snprintf(k.interface, sizeof(k.interface), "%s", interface);
	return nl_knob_sysfs_interfaces(&k, &dir, &why) == NL_KNOB_OK ? dir : -EOPNOTSUPP;
}

static void read_queues_of(struct reading *r, int dir, const char *interface)
{
	static const char *const files[2][2] = {{"rps_cpus", "rps_flow_cnt"}, {"xps_cpus", "xps_rxqs"}};
	char path[PATH_MAX], text[FILE_MAX + 1];
	struct dirent *entry;
	DIR *queues;
	int fd, err;

	snprintf(path, sizeof(path), "%s/queues", interface);
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	queues = fd < 0 ? NULL : fdopendir(fd);
	if (!queues) {
		nl_close(&fd);
		if (nl_knob_is_shortage(errno))
			r->failed = errno;
		return;
	}
	while (!r->failed && (entry = readdir(queues)))
		for (int i = 0; i < 2 && entry->d_name[0] != '.'; i++) {
			snprintf(path, sizeof(path), "%s/queues/%s/%s", interface, entry->d_name,
				 files[entry->d_name[0] == 't'][i]);
			err = file_read(dir, path, text, 1);
			if (nl_knob_is_shortage(err))
				r->failed = err;
			if (err)
				continue;
			reading_begin(r);
			append_text(&r->key, "queue %s", path);
			add_text(r, interface, text);
		}
	closedir(queues);
}

static void read_queues(struct reading *r)
{
	int dir = -1;

	for (size_t i = 0; i < r->links && !r->failed; i++) {
		struct nl_state_item link = r->state->item[i];

		if (strchr(link.key + 5, ' ') || strcmp(link.interface, "lo") == 0)
			continue;
		if (dir < 0)
			dir = interfaces_open(link.interface);
		if (dir < 0)
			r->failed = -dir;
		else
			read_queues_of(r, dir, link.interface);
	}
	if (dir >= 0)
		nl_close(&dir);
}

static void read_features(struct reading *r)
{
	for (size_t i = 0; i < r->links && !r->failed; i++) {
		struct nl_state_item link = r->state->item[i];
		struct nl_features f;
		int err;

		if (strchr(link.key + 5, ' '))
			continue;
		err = -nl_features_get(link.interface, &f);
		if (nl_knob_is_shortage(err))
			r->failed = err;
		if (err) /* gone meanwhile, or without offloads */
			continue;
		reading_begin(r);
		append_text(&r->key, "offloads %s", link.interface);
		append_text(&r->value, "requested ");
		r->value.len += (size_t)nl_features_write(f.requested, f.blocks, r->value.at + r->value.len, 100);
		append_text(&r->value, " active ");
		r->value.len += (size_t)nl_features_write(f.active, f.blocks, r->value.at + r->value.len, 100);
		raw_append(r, f.requested, f.blocks * sizeof(f.requested[0]));
		reading_add(r, link.interface);
	}
}

static void dump_state(struct reading *r, uint16_t type, const void *head, size_t head_len,
		       int (*each)(void *ctx, const uint8_t *message, size_t len))
{
	struct nl_rtnl_request request;
	int err;

	if (r->failed)
		return;
	nl_rtnl_begin(&request, type, NLM_F_DUMP, head, head_len);
	err = nl_rtnl_dump(&request, each, r);
	if (!r->failed && err != EAFNOSUPPORT && err != EOPNOTSUPP)
		r->failed = err;
}

static void dump_tables(struct reading *r, uint16_t type, int family,
			int (*each)(void *ctx, const uint8_t *message, size_t len))
{
	struct tcmsg head = {.tcm_family = (unsigned char)family}; /* the longest of the heads, all zero */

	dump_state(r, type, &head,
		   type == RTM_GETLINK ? sizeof(struct ifinfomsg)
		   : type == RTM_GETADDR ? sizeof(struct ifaddrmsg)
		   : type == RTM_GETQDISC ? sizeof(struct tcmsg) : sizeof(struct rtmsg),
		   each);
}

/* Neighbours are dumped apart from those that this host answers for. */
static void dump_neighbours(struct reading *r)
{
	static const struct ndmsg heads[] = {{.ndm_flags = 0}, {.ndm_flags = NTF_PROXY}};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		dump_state(r, RTM_GETNEIGH, &heads[i], sizeof(heads[i]), each_neighbour);
}

static void read_kind(struct reading *r)
{
	switch (r->kind) {
	case NL_STATE_LINK:
		dump_tables(r, RTM_GETLINK, AF_UNSPEC, each_link);
		break;
	case NL_STATE_FEATURE:
		read_features(r);
		break;
	case NL_STATE_ADDRESS:
		dump_tables(r, RTM_GETADDR, AF_INET, each_address);
		dump_tables(r, RTM_GETADDR, AF_INET6, each_address);
		break;
	case NL_STATE_SYSCTL:
		read_sysctls(r);
		break;
	case NL_STATE_QUEUE:
		read_queues(r);
		break;
	case NL_STATE_NEIGHBOUR:
		dump_neighbours(r);
		break;
	case NL_STATE_ROUTE:
		dump_tables(r, RTM_GETROUTE, AF_INET, each_route);
		dump_tables(r, RTM_GETROUTE, AF_INET6, each_route);
		break;
	case NL_STATE_RULE:
		dump_tables(r, RTM_GETRULE, AF_INET, each_rule);
		dump_tables(r, RTM_GETRULE, AF_INET6, each_rule);
		break;
	default:
		dump_tables(r, RTM_GETQDISC, AF_UNSPEC, each_qdisc);
	}
}

static struct reading current; /* large for a stack; one thread tunes */

int nl_state_parse(struct nl_state *out, enum nl_state_kind kind, const uint8_t *message, size_t len)
{
	static int (*const of[])(void *ctx, const uint8_t *message, size_t len) = {
		[NL_STATE_LINK] = each_link,   [NL_STATE_ADDRESS] = each_address, [NL_STATE_NEIGHBOUR] = each_neighbour,
		[NL_STATE_ROUTE] = each_route, [NL_STATE_RULE] = each_rule,	  [NL_STATE_QDISC] = each_qdisc,
	};

	memset(&current, 0, sizeof(current));
	current.state = out;
	current.kind = kind;
	return of[kind] ? of[kind](&current, message, len) : EOPNOTSUPP;
}

int nl_state_parse_sysctl(struct nl_state *out, const char *path, const char *text)
{
	memset(&current, 0, sizeof(current));
	current.state = out;
	current.kind = NL_STATE_SYSCTL;
	nl_state_sort(out);
	current.links = out->count;
	put_sysctl(&current, path, text);
	return current.failed;
}

void nl_state_capture(struct nl_state *out)
{
	memset(&current, 0, sizeof(current));
	memset(out, 0, sizeof(*out));
	current.state = out;
	out->t_ns = nl_now_ns();
	for (int kind = 0; kind < NL_STATE_KINDS; kind++) {
		current.kind = (enum nl_state_kind)kind;
		current.items = 0;
		current.failed = 0;
		read_kind(&current);
		if (current.failed)
			out->missing |= 1U << kind;
		if (kind == NL_STATE_LINK) {
			nl_state_sort(out);
			current.links = out->count;
		}
	}
	nl_state_sort(out);
}

/* -- restoring ------------------------------------------------------------------------ */

/* Write text to a file below root. 0, or errno. */
static int file_write(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (nl_write_all(fd, text, strlen(text)) < 0)
		err = errno;
	nl_close(&fd);
	return err;
}

static int restore_link(const struct nl_state_item *item)
{
	char key[IFNAMSIZ + 16];
	int ifindex = nl_ifindex_of(item->interface);
	struct nl_rtnl_u32 mtu = {IFLA_MTU, (uint32_t)strtoul(item->value, NULL, 10)};

	snprintf(key, sizeof(key), "link %s mtu", item->interface);
	if (strcmp(item->key, key) != 0)
		return EOPNOTSUPP;
	return ifindex < 0 ? -ifindex : nl_rtnl_set_u32(ifindex, &mtu, 1);
}

static int restore_features(const struct nl_state_item *item)
{
	uint32_t requested[NL_FEATURE_BLOCKS] = {0};
	struct nl_features f;
	int result = nl_features_get(item->interface, &f);

	if (result < 0)
		return -result;
	memcpy(requested, item->raw, item->raw_len < sizeof(requested) ? item->raw_len : sizeof(requested));
	if (memcmp(requested, f.requested, sizeof(requested)) == 0)
		return EOPNOTSUPP; /* only active ones differ, which follow from others */
	result = nl_features_set(item->interface, f.blocks, f.available, requested);
	return result < 0 ? -result : 0;
}

static int restore_sysctl(const struct nl_state_item *item)
{
	int proc = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC), err;
	char path[PATH_MAX];

	if (proc < 0)
		return errno;
	snprintf(path, sizeof(path), "%s", item->key + strlen("sysctl "));
	swap_dots(path);
	err = file_write(proc, path, (const char *)item->raw);
	nl_close(&proc);
	return err;
}

static int restore_queue(const struct nl_state_item *item)
{
	int dir = interfaces_open(item->interface), err;

	if (dir < 0)
		return -dir;
	err = file_write(dir, item->key + strlen("queue "), (const char *)item->raw);
	nl_close(&dir);
	return err;
}

/* Subtract the time since from the lifetimes of an address, which end with it. 0 once it has. */
static int age_lifetime(uint8_t *message, size_t len, uint64_t captured_ns)
{
	uint32_t passed_s = (uint32_t)((nl_now_ns() - captured_ns) / NL_NS_PER_S);
	size_t at = NLMSG_ALIGN(sizeof(struct ifaddrmsg));
	struct ifa_cacheinfo life;
	struct nl_rtattr a;

	while (nl_rtattr_next(message, len, &at, &a)) {
		if (a.type != IFA_CACHEINFO || a.len < sizeof(life))
			continue;
		memcpy(&life, a.content, sizeof(life));
		if (life.ifa_valid != UINT32_MAX && life.ifa_valid <= passed_s)
			return 0;
		if (life.ifa_valid != UINT32_MAX)
			life.ifa_valid -= passed_s;
		if (life.ifa_prefered != UINT32_MAX)
			life.ifa_prefered -= life.ifa_prefered < passed_s ? life.ifa_prefered : passed_s;
		memcpy(message + (a.content - message), &life, sizeof(life));
	}
	return 1;
}

size_t nl_state_compose(const struct nl_state_item *item, uint16_t type, uint16_t flags, uint64_t captured_ns,
			uint8_t *message)
{
	struct nlmsghdr head = {.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + item->raw_len), .nlmsg_type = type,
				.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | flags)};

	if (item->raw_len == 0 || item->raw_len > RAW_MAX)
		return 0;
	memcpy(message, &head, sizeof(head));
	memcpy(message + NLMSG_HDRLEN, item->raw, item->raw_len);
	if (item->kind == NL_STATE_ADDRESS && !age_lifetime(message + NLMSG_HDRLEN, item->raw_len, captured_ns))
		return 0;
	return head.nlmsg_len;
}

static int restore_message(const struct nl_state_item *item, uint16_t type, uint16_t flags, uint64_t captured_ns)
{
	_Alignas(8) uint8_t message[NL_STATE_MESSAGE_MAX];

	if (nl_state_compose(item, type, flags, captured_ns, message) == 0)
		return item->raw_len && item->raw_len <= RAW_MAX ? 0 : EMSGSIZE; /* 0: an address whose time is over */
	return nl_rtnl_send((const struct nlmsghdr *)(const void *)message);
}

int nl_state_restore(const struct nl_state_item *item, const struct nl_state_item *now, uint64_t captured_ns)
{
	uint16_t flags = NLM_F_REPLACE;
	int is_ipv4 = item->raw_len && item->raw[0] == AF_INET;

	switch (item->kind) {
	case NL_STATE_LINK:
		return restore_link(item);
	case NL_STATE_FEATURE:
		return restore_features(item);
	case NL_STATE_SYSCTL:
		return restore_sysctl(item);
	case NL_STATE_QUEUE:
		return restore_queue(item);
	case NL_STATE_ADDRESS:
		return restore_message(item, RTM_NEWADDR, flags, captured_ns);
	case NL_STATE_NEIGHBOUR:
		return restore_message(item, RTM_NEWNEIGH, flags, captured_ns);
	case NL_STATE_ROUTE:
		if (!now)
			flags = is_ipv4 ? NLM_F_APPEND : 0;
		return restore_message(item, RTM_NEWROUTE, flags, captured_ns);
	default:
		return EOPNOTSUPP;
	}
}
