/* knob_ethtool: numbers and switches of a card through SIOCETHTOOL: rings, coalescing, pause frames,
 * queues. Each kind is a pair of requests and a table of fields. */
#include "net/interface.h"
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <stddef.h>
#include <stdio.h>
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
	const char *name;
	size_t at;
	size_t most; /* of the device; 0: the request does not tell */
};

struct family {
	uint32_t get, set;
	const char *get_call, *set_call;
	const char *lacks; /* said of a device without it */
	const char *fixed; /* said of a device that cannot change it */
	const char *unit;  /* of a number; NULL for a switch */
	int needs_most;    /* a field of which the device has at most 0 is not there */
	const struct field *fields;
};

#define RING(name, field, max) \
	{name, offsetof(struct ethtool_ringparam, field), offsetof(struct ethtool_ringparam, max)}
#define COALESCE(name, field) {name, offsetof(struct ethtool_coalesce, field), 0}
#define PAUSE(name, field) {name, offsetof(struct ethtool_pauseparam, field), 0}
#define CHANNELS(name, field, max) \
	{name, offsetof(struct ethtool_channels, field), offsetof(struct ethtool_channels, max)}

static const struct family ring = {
	ETHTOOL_GRINGPARAM, ETHTOOL_SRINGPARAM, "ETHTOOL_GRINGPARAM", "ETHTOOL_SRINGPARAM",
	"the device has no ring sizes to set", "the device has no ring sizes to set",
	"descriptors", 0,
	(const struct field[]){RING("rx", rx_pending, rx_max_pending),
			       RING("tx", tx_pending, tx_max_pending), {NULL, 0, 0}},
};

static const struct family coalesce = {
	ETHTOOL_GCOALESCE, ETHTOOL_SCOALESCE, "ETHTOOL_GCOALESCE", "ETHTOOL_SCOALESCE",
	"the device has no interrupt coalescing to set",
	"the device cannot change this coalescing parameter", "us or frames", 0,
	(const struct field[]){COALESCE("rx-usecs", rx_coalesce_usecs),
			       COALESCE("rx-frames", rx_max_coalesced_frames),
			       COALESCE("tx-usecs", tx_coalesce_usecs),
			       COALESCE("tx-frames", tx_max_coalesced_frames), {NULL, 0, 0}},
};

static const struct family adaptive = {
	ETHTOOL_GCOALESCE, ETHTOOL_SCOALESCE, "ETHTOOL_GCOALESCE", "ETHTOOL_SCOALESCE",
	"the device has no interrupt coalescing to set",
	"the device has no adaptive coalescing", NULL, 0,
	(const struct field[]){COALESCE("rx", use_adaptive_rx_coalesce),
			       COALESCE("tx", use_adaptive_tx_coalesce), {NULL, 0, 0}},
};

static const struct family pause = {
	ETHTOOL_GPAUSEPARAM, ETHTOOL_SPAUSEPARAM, "ETHTOOL_GPAUSEPARAM", "ETHTOOL_SPAUSEPARAM",
	"the device has no pause frames to set", "the device cannot change its pause frames",
	NULL, 0,
	(const struct field[]){PAUSE("autoneg", autoneg), PAUSE("rx", rx_pause),
			       PAUSE("tx", tx_pause), {NULL, 0, 0}},
};

static const struct family channels = {
	ETHTOOL_GCHANNELS, ETHTOOL_SCHANNELS, "ETHTOOL_GCHANNELS", "ETHTOOL_SCHANNELS",
	"the device has no such queues to set", "the device cannot change its queues", "queues", 1,
	(const struct field[]){CHANNELS("combined", combined_count, max_combined),
			       CHANNELS("rx", rx_count, max_rx), CHANNELS("tx", tx_count, max_tx),
			       {NULL, 0, 0}},
};

enum nl_knob_code nl_knob_ethtool_failed(const struct nl_knob *k, const char *call,
					 const char *lacks, int errnum, struct nl_err *why)
{
	if (errnum == ENODEV)
		return nl_knob_gone(k, why);
	if (errnum != EOPNOTSUPP)
		return nl_knob_fail_errno(why, call, errnum);
	nl_fail(why, NL_REFUSED, "%s", lacks);
	return NL_KNOB_UNSUPPORTED;
}

static uint32_t *at(union request *r, size_t offset)
{
	return (uint32_t *)(void *)((char *)r + offset);
}

/* Ask the device; the field of the knob in *field. */
static enum nl_knob_code get(const struct nl_knob *k, const struct family *f, union request *r,
			     const struct field **field, struct nl_err *why)
{
	int result;

	memset(r, 0, sizeof(*r));
	r->cmd = f->get;
	for (*field = f->fields; (*field)->name; (*field)++)
		if (strcmp((*field)->name, k->name) == 0)
			break;
	result = nl_ethtool(k->interface, r);
	if (result < 0)
		return nl_knob_ethtool_failed(k, f->get_call, f->lacks, -result, why);
	if (f->needs_most && *at(r, (*field)->most) == 0)
		return nl_knob_ethtool_failed(k, f->get_call, f->lacks, EOPNOTSUPP, why);
	return NL_KNOB_OK;
}

static enum nl_knob_code read_field(const struct nl_knob *k, const struct family *f,
				    struct nl_value *out, enum nl_knob_access *access,
				    struct nl_err *why)
{
	const struct field *field;
	union request r;
	enum nl_knob_code code;
	uint32_t value;

	*access = NL_KNOB_READ_ONLY;
	code = get(k, f, &r, &field, why);
	if (code != NL_KNOB_OK)
		return code;
	value = *at(&r, field->at);
	nl_knob_put_number(out, value);
	if (!f->unit) {
		snprintf(out->text, sizeof(out->text), "%s", nl_knob_switch[!value]);
		memcpy(out->exact, out->text, sizeof(out->exact));
	}
	*access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

static enum nl_knob_code write_field(const struct nl_knob *k, const struct family *f,
				     const char *text, struct nl_err *why)
{
	const struct field *field;
	union request r;
	enum nl_knob_code code = get(k, f, &r, &field, why);
	uint32_t value = f->unit ? (uint32_t)strtoul(text, NULL, 10) : strcmp(text, "on") == 0;
	int result;

	if (code != NL_KNOB_OK)
		return code;
	if (field->most && value > *at(&r, field->most)) {
		nl_fail(why, NL_REFUSED, "the device takes at most %" PRIu32 " %s",
			*at(&r, field->most), f->unit);
		return NL_KNOB_UNSUPPORTED;
	}
	*at(&r, field->at) = value;
	r.cmd = f->set;
	result = nl_ethtool(k->interface, &r);
	if (result == -EINVAL && f == &pause && r.pause.autoneg && strcmp(field->name, "autoneg") != 0) {
		nl_fail(why, NL_REFUSED, "the card negotiates its pause frames: set autoneg to off first");
		return NL_KNOB_UNSUPPORTED;
	}
	if (result < 0)
		return nl_knob_ethtool_failed(k, f->set_call, f->fixed, -result, why);
	return NL_KNOB_OK;
}

/* The operations of a kind: `ops_NAME` reads and writes the fields of the family NAME. */
#define OPERATIONS(family, allowed, greatest, ...)                                                \
	static enum nl_knob_code family##_read(const struct nl_knob *k, struct nl_value *out,     \
					       enum nl_knob_access *access, struct nl_err *why)   \
	{                                                                                         \
		return read_field(k, &family, out, access, why);                                  \
	}                                                                                         \
	static enum nl_knob_code family##_write(const struct nl_knob *k, const char *text,        \
						struct nl_err *why)                               \
	{                                                                                         \
		return write_field(k, &family, text, why);                                        \
	}                                                                                         \
	static const char *const family##_names[] = {__VA_ARGS__, NULL};                          \
	const struct nl_knob_ops nl_knob_ops_##family = {                                         \
		.kind = #family,                                                                  \
		.names = family##_names,                                                          \
		.has_interface = 1,                                                               \
		.read = family##_read,                                                            \
		.write = family##_write,                                                          \
		.restore = family##_write,                                                        \
		.words = allowed,                                                                 \
		.most = greatest,                                                                 \
	}

OPERATIONS(ring, NULL, UINT32_MAX, "rx", "tx");
OPERATIONS(coalesce, NULL, UINT32_MAX, "rx-usecs", "rx-frames", "tx-usecs", "tx-frames");
OPERATIONS(adaptive, nl_knob_switch, 0, "rx", "tx");
OPERATIONS(pause, nl_knob_switch, 0, "autoneg", "rx", "tx");
OPERATIONS(channels, NULL, UINT32_MAX, "combined", "rx", "tx");
