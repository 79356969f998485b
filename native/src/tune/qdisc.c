#include "tune/qdisc.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 10000, FLOW_LIMIT = 100, BUCKETS_LOG = 10, BUCKETS_LOG_MAX = 18 };

static const uint64_t maxrate_max_bps = (UINT64_C(0xffffffff) - 1) * 8;

/* Those that carry traffic without parameters or classes. */
static const char *const kinds[] = {"noqueue", "pfifo_fast", "pfifo", "bfifo", "mq",  "fq",
				    "fq_codel", "codel",     "sfq",   "cake",  NULL};

void nl_qdisc_init(struct nl_qdisc *out, const char *kind, size_t len)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->kind, kind, len < NL_QDISC_KIND_MAX ? len : NL_QDISC_KIND_MAX);
	out->limit = LIMIT;
	out->flow_limit = FLOW_LIMIT;
	out->buckets = 1U << BUCKETS_LOG;
	out->paces = 1;
}

/* The next word in word[32]; moves *text past it. 0, or -1 without one. */
static int next_word(const char **text, char word[32])
{
	size_t len = strcspn(*text, " ");

	if (len == 0 || len >= 32)
		return -1;
	memcpy(word, *text, len);
	word[len] = '\0';
	*text += len + ((*text)[len] == ' ');
	return 0;
}

static int next_number(const char **text, uint64_t least, uint64_t most, uint64_t *out)
{
	char word[32], *end;

	if (next_word(text, word) || word[0] < '0' || word[0] > '9' || strlen(word) > 18)
		return -1;
	*out = strtoull(word, &end, 10);
	return *end || *out < least || *out > most ? -1 : 0;
}

static int take_kind(const char **text, struct nl_qdisc *out)
{
	char word[32];

	if (next_word(text, word))
		return -1;
	for (const char *const *kind = kinds; *kind; kind++) {
		if (strcmp(*kind, word) == 0) {
			nl_qdisc_init(out, word, strlen(word));
			return 0;
		}
	}
	return -1;
}

static int take_parameter(const char **text, struct nl_qdisc *q)
{
	char word[32];
	uint64_t n;

	if (next_word(text, word))
		return -1;
	if (strcmp(word, "nopacing") == 0) {
		q->paces = 0;
		return 0;
	}
	if (strcmp(word, "maxrate") == 0) {
		/* the kernel counts bytes */
		if (next_number(text, 8, maxrate_max_bps, &n) || n % 8)
			return -1;
		q->maxrate_Bps = (uint32_t)(n / 8);
		return 0;
	}
	if (strcmp(word, "buckets") == 0) {
		if (next_number(text, 1, 1U << BUCKETS_LOG_MAX, &n) || (n & (n - 1)))
			return -1;
		q->buckets = (uint32_t)n;
		return 0;
	}
	if (strcmp(word, "limit") != 0 && strcmp(word, "flow_limit") != 0)
		return -1;
	if (next_number(text, 1, UINT32_MAX, &n))
		return -1;
	*(word[0] == 'l' ? &q->limit : &q->flow_limit) = (uint32_t)n;
	return 0;
}

int nl_qdisc_parse(const char *text, struct nl_qdisc_tree *out)
{
	struct nl_qdisc *last = &out->root;

	memset(out, 0, sizeof(*out));
	if (take_kind(&text, &out->root))
		return -1;
	if (*text && strcmp(out->root.kind, "mq") == 0) {
		last = &out->leaf;
		if (take_kind(&text, last) || strcmp(last->kind, "mq") == 0 ||
		    strcmp(last->kind, "noqueue") == 0)
			return -1;
	}
	while (*text)
		if (strcmp(last->kind, "fq") != 0 || take_parameter(&text, last))
			return -1;
	return 0;
}

static int render_one(const struct nl_qdisc *q, char *out, size_t size)
{
	size_t len = (size_t)snprintf(out, size, "%s", q->kind);

	if (strcmp(q->kind, "fq") == 0) {
		if (len < size && q->limit != LIMIT)
			len += (size_t)snprintf(out + len, size - len, " limit %u", q->limit);
		if (len < size && q->flow_limit != FLOW_LIMIT)
			len += (size_t)snprintf(out + len, size - len, " flow_limit %u", q->flow_limit);
		if (len < size && q->buckets != 1U << BUCKETS_LOG)
			len += (size_t)snprintf(out + len, size - len, " buckets %u", q->buckets);
		if (len < size && q->maxrate_Bps)
			len += (size_t)snprintf(out + len, size - len, " maxrate %llu",
						(unsigned long long)q->maxrate_Bps * 8);
		if (len < size && !q->paces)
			len += (size_t)snprintf(out + len, size - len, " nopacing");
	}
	return len < size ? (int)len : -1;
}

int nl_qdisc_render(const struct nl_qdisc_tree *tree, char *out, size_t size)
{
	int len = render_one(&tree->root, out, size);

	if (len < 0 || !tree->leaf.kind[0])
		return len < 0 ? -1 : 0;
	if ((size_t)len + 1 >= size)
		return -1;
	out[len++] = ' ';
	return render_one(&tree->leaf, out + len, size - (size_t)len) < 0 ? -1 : 0;
}

void nl_qdisc_take_options(struct nl_qdisc *q, const uint8_t *options, size_t len)
{
	size_t next;

	if (strcmp(q->kind, "fq") != 0)
		return;
	for (size_t i = 0; i + sizeof(struct rtattr) <= len; i = next) {
		struct rtattr attribute;
		uint32_t value;

		memcpy(&attribute, options + i, sizeof(attribute));
		if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > len - i)
			return;
		next = i + RTA_ALIGN(attribute.rta_len);
		if (attribute.rta_len < sizeof(attribute) + sizeof(value))
			continue;
		memcpy(&value, options + i + sizeof(attribute), sizeof(value));
		if (attribute.rta_type == TCA_FQ_PLIMIT)
			q->limit = value;
		else if (attribute.rta_type == TCA_FQ_FLOW_PLIMIT)
			q->flow_limit = value;
		else if (attribute.rta_type == TCA_FQ_BUCKETS_LOG && value <= BUCKETS_LOG_MAX)
			q->buckets = 1U << value;
		else if (attribute.rta_type == TCA_FQ_FLOW_MAX_RATE)
			q->maxrate_Bps = value == UINT32_MAX ? 0 : value;
		else if (attribute.rta_type == TCA_FQ_RATE_ENABLE)
			q->paces = value != 0;
	}
}

static void put(uint8_t out[64], size_t *len, uint16_t type, uint32_t value)
{
	struct rtattr attribute = {.rta_len = RTA_LENGTH(sizeof(value)), .rta_type = type};

	memcpy(out + *len, &attribute, sizeof(attribute));
	memcpy(out + *len + sizeof(attribute), &value, sizeof(value));
	*len += RTA_SPACE(sizeof(value));
}

size_t nl_qdisc_put_options(const struct nl_qdisc *q, uint8_t out[64])
{
	uint32_t log = 0;
	size_t len = 0;

	if (strcmp(q->kind, "fq") != 0)
		return 0;
	while (1U << log < q->buckets)
		log++;
	if (q->limit != LIMIT)
		put(out, &len, TCA_FQ_PLIMIT, q->limit);
	if (q->flow_limit != FLOW_LIMIT)
		put(out, &len, TCA_FQ_FLOW_PLIMIT, q->flow_limit);
	if (log != BUCKETS_LOG)
		put(out, &len, TCA_FQ_BUCKETS_LOG, log);
	if (q->maxrate_Bps)
		put(out, &len, TCA_FQ_FLOW_MAX_RATE, q->maxrate_Bps);
	if (!q->paces)
		put(out, &len, TCA_FQ_RATE_ENABLE, 0);
	return len;
}
