/* knob_ethtool: numbers and switches of a card through SIOCETHTOOL: rings, coalescing, pause frames,
 * queues. Each kind is a pair of requests and a table of fields. */
#include "net/interface.h"
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <stdlib.h>
#include <string.h>

union request {
	uint32_t cmd;
	struct ethtool_ringparam ring;
	struct ethtool_coalesce coalesce;
	struct ethtool_pauseparam pause;
	struct ethtool_channels channels;
};

struct field {
	size_t at;
	size_t most; /* of the device; 0: the request does not tell */
};

/* The `detail` of a kind. */
struct family {
	uint32_t get, set;
	const char *get_call, *set_call;
	const char *lacks; /* said of a device without it */
	const char *fixed; /* said of a device that cannot change it */
	const char *unit;  /* of a number; NULL for a switch */
	int needs_most;    /* a field of which the device has at most 0 is not there */
	struct field field[4]; /* in the order of the kind's names */
};

#define CALLS(name) ETHTOOL_G##name, ETHTOOL_S##name, "ETHTOOL_G" #name, "ETHTOOL_S" #name
#define RING(field, max) {offsetof(struct ethtool_ringparam, field), offsetof(struct ethtool_ringparam, max)}
#define COALESCE(field) {offsetof(struct ethtool_coalesce, field), 0}
#define PAUSE(field) {offsetof(struct ethtool_pauseparam, field), 0}
#define CHANNELS(field, max) \
	{offsetof(struct ethtool_channels, field), offsetof(struct ethtool_channels, max)}

static const struct family ring = {
	CALLS(RINGPARAM), "the device has no ring sizes to set", "the device has no ring sizes to set",
	"descriptors", 0, {RING(rx_pending, rx_max_pending), RING(tx_pending, tx_max_pending)},
};

static const struct family coalesce = {
	CALLS(COALESCE), "the device has no interrupt coalescing to set",
	"the device cannot change this coalescing parameter", "us or frames", 0,
	{COALESCE(rx_coalesce_usecs), COALESCE(rx_max_coalesced_frames), COALESCE(tx_coalesce_usecs),
	 COALESCE(tx_max_coalesced_frames)},
};

static const struct family adaptive = {
	CALLS(COALESCE), "the device has no interrupt coalescing to set",
	"the device has no adaptive coalescing", NULL, 0,
	{COALESCE(use_adaptive_rx_coalesce), COALESCE(use_adaptive_tx_coalesce)},
};

static const struct family pause = {
	CALLS(PAUSEPARAM), "the device has no pause frames to set",
	"the device cannot change its pause frames", NULL, 0,
	{PAUSE(autoneg), PAUSE(rx_pause), PAUSE(tx_pause)},
};

static const struct family channels = {
	CALLS(CHANNELS), "the device has no such queues to set", "the device cannot change its queues",
	"queues", 1,
	{CHANNELS(combined_count, max_combined), CHANNELS(rx_count, max_rx), CHANNELS(tx_count, max_tx)},
};

enum nl_knob_code nl_knob_ethtool_failed(const struct nl_knob *k, const char *call,
					 const char *lacks, int errnum, struct nl_err *why)
{
	if (errnum == ENODEV)
		return nl_knob_gone(k, why);
	if (errnum != EOPNOTSUPP)
		return nl_knob_fail_errno(why, call, errnum);
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "%s", lacks);
}

static uint32_t *field_at(union request *r, size_t offset)
{
	return (uint32_t *)(void *)((char *)r + offset);
}

/* Ask the device; the field of the knob in *field. */
static enum nl_knob_code ethtool_get(const struct nl_knob *k, union request *r, const struct field **field,
				     struct nl_err *why)
{
	const struct family *f = k->ops->detail;
	int result;

	memset(r, 0, sizeof(*r));
	r->cmd = f->get;
	*field = &f->field[nl_knob_name_index(k)];
	result = nl_ethtool(k->interface, r);
	if (result >= 0 && f->needs_most && *field_at(r, (*field)->most) == 0)
		result = -EOPNOTSUPP;
	return result < 0 ? nl_knob_ethtool_failed(k, f->get_call, f->lacks, -result, why) : NL_KNOB_OK;
}

static enum nl_knob_code field_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	const struct family *f = k->ops->detail;
	const struct field *field;
	union request r;
	enum nl_knob_code code = ethtool_get(k, &r, &field, why);

	if (code != NL_KNOB_OK)
		return code;
	if (f->unit)
		nl_knob_put_number(out, *field_at(&r, field->at));
	else
		nl_knob_put_text(out, nl_knob_switch[!*field_at(&r, field->at)]);
	out->access = nl_knob_privilege(why);
	out->most = field->most ? *field_at(&r, field->most) : 0;
	return NL_KNOB_OK;
}

static enum nl_knob_code field_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	const struct family *f = k->ops->detail;
	const struct field *field;
	union request r;
	enum nl_knob_code code = ethtool_get(k, &r, &field, why);
	uint32_t value = f->unit ? (uint32_t)strtoul(text, NULL, 10) : strcmp(text, "on") == 0;
	int result;

	if (code != NL_KNOB_OK)
		return code;
	if (field->most && value > *field_at(&r, field->most))
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "the device takes at most %" PRIu32 " %s",
				    *field_at(&r, field->most), f->unit);
	*field_at(&r, field->at) = value;
	r.cmd = f->set;
	result = nl_ethtool(k->interface, &r);
	if (result == -EINVAL && f == &pause && r.pause.autoneg && field != pause.field)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
				    "the card negotiates its pause frames: set autoneg to off first");
	return result < 0 ? nl_knob_ethtool_failed(k, f->set_call, f->fixed, -result, why) : NL_KNOB_OK;
}

#define OPERATIONS(family, allowed, greatest, ...)                                                 \
	static const char *const family##_names[] = {__VA_ARGS__, NULL};                           \
	const struct nl_knob_ops nl_knob_ops_##family = {                                          \
		.kind = #family, .names = family##_names, .has_interface = 1, .detail = &(family), \
		.words = allowed, .most = greatest,                                                \
		.read = field_read, .write = field_write,                                          \
	}

OPERATIONS(ring, NULL, UINT32_MAX, "rx", "tx");
OPERATIONS(coalesce, NULL, UINT32_MAX, "rx-usecs", "rx-frames", "tx-usecs", "tx-frames");
OPERATIONS(adaptive, nl_knob_switch, 0, "rx", "tx");
OPERATIONS(pause, nl_knob_switch, 0, "autoneg", "rx", "tx");
OPERATIONS(channels, NULL, UINT32_MAX, "combined", "rx", "tx");
