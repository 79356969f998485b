#include "tune/qdisc.h"

#include "base/request.h"
#include "net/rtnl.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS_LOG_MAX = 18 };

/* In the order of the text; `nopacing` has no number. */
static const struct parameter {
	const char *name;
	uint16_t type;
	uint32_t usual;       /* the kernel's default */
	uint64_t least, most; /* of the number in the text */
} parameters[NL_FQ_COUNT] = {
	[NL_FQ_LIMIT] = {"limit", TCA_FQ_PLIMIT, 10000, 1, UINT32_MAX},
	[NL_FQ_FLOW_LIMIT] = {"flow_limit", TCA_FQ_FLOW_PLIMIT, 100, 1, UINT32_MAX},
	[NL_FQ_BUCKETS] = {"buckets", TCA_FQ_BUCKETS_LOG, 10, 1, 1U << BUCKETS_LOG_MAX},
	[NL_FQ_MAXRATE] = {"maxrate", TCA_FQ_FLOW_MAX_RATE, UINT32_MAX, 8,
			   (UINT64_C(0xffffffff) - 1) * 8},
	[NL_FQ_PACING] = {"nopacing", TCA_FQ_RATE_ENABLE, 1, 0, 0},
};

void nl_qdisc_init(struct nl_qdisc *out, const char *kind, size_t len)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->kind, kind, len < NL_QDISC_KIND_MAX ? len : NL_QDISC_KIND_MAX);
	for (size_t i = 0; i < NL_FQ_COUNT; i++)
		out->fq[i] = parameters[i].usual;
}

/* The number in the text for the kernel's. */
static uint64_t shown_value(size_t i, uint32_t value)
{
	if (i == NL_FQ_BUCKETS)
		return UINT64_C(1) << value;
	return i == NL_FQ_MAXRATE ? (uint64_t)value * 8 : value;
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

static int take_kind(const char **text, struct nl_qdisc *out)
{
	char word[32];

	if (next_word(text, word) || strlen(word) > NL_QDISC_KIND_MAX)
		return -1;
	nl_qdisc_init(out, word, strlen(word));
	return 0;
}

static int take_parameter(const char **text, struct nl_qdisc *q)
{
	uint64_t n, value;
	char word[32];
	size_t i = 0;

	if (next_word(text, word))
		return -1;
	while (i < NL_FQ_COUNT && strcmp(parameters[i].name, word) != 0)
		i++;
	if (i == NL_FQ_COUNT)
		return -1;
	if (i == NL_FQ_PACING) {
		q->fq[i] = 0;
		return 0;
	}
	if (next_word(text, word) || nl_decimal_parse(word, parameters[i].least, parameters[i].most, &n))
		return -1;
	value = i == NL_FQ_MAXRATE ? n / 8 : n;
	if (i == NL_FQ_BUCKETS)
		for (value = 0; UINT64_C(1) << value < n;)
			value++;
	q->fq[i] = (uint32_t)value;
	return shown_value(i, q->fq[i]) == n ? 0 : -1;
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

	for (size_t i = 0; i < NL_FQ_COUNT && strcmp(q->kind, "fq") == 0; i++) {
		if (len >= size || q->fq[i] == parameters[i].usual)
			continue;
		len += (size_t)snprintf(out + len, size - len, " %s", parameters[i].name);
		if (len < size && i != NL_FQ_PACING)
			len += (size_t)snprintf(out + len, size - len, " %llu",
						(unsigned long long)shown_value(i, q->fq[i]));
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
	struct nl_rtattr attribute;
	size_t at = 0;

	while (strcmp(q->kind, "fq") == 0 && nl_rtattr_next(options, len, &at, &attribute)) {
		uint32_t value;

		if (attribute.len < sizeof(value))
			continue;
		memcpy(&value, attribute.content, sizeof(value));
		if (attribute.type == TCA_FQ_BUCKETS_LOG && value > BUCKETS_LOG_MAX)
			continue;
		for (size_t i = 0; i < NL_FQ_COUNT; i++)
			if (attribute.type == parameters[i].type)
				q->fq[i] = value;
	}
}

size_t nl_qdisc_put_options(const struct nl_qdisc *q, uint8_t out[64])
{
	size_t len = 0;

	for (size_t i = 0; i < NL_FQ_COUNT && strcmp(q->kind, "fq") == 0; i++) {
		struct rtattr attribute = {.rta_len = RTA_LENGTH(sizeof(q->fq[i])),
					   .rta_type = parameters[i].type};

		if (q->fq[i] == parameters[i].usual)
			continue;
		memcpy(out + len, &attribute, sizeof(attribute));
		memcpy(out + len + sizeof(attribute), &q->fq[i], sizeof(q->fq[i]));
		len += RTA_SPACE(sizeof(q->fq[i]));
	}
	return len;
}
