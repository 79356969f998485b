#include "run/run.h"

#include "base/dealt.h"
#include "base/error.h"
#include "io/affinity.h"
#include "net/sock.h"
#include "net/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct nl_run_opts, field)
#define COUNT(field, initial, help, roles, required, min, max)                                     \
	{#field, initial, help, NL_KIND_COUNT, roles, required, min, max, AT(field)}
#define FLAG(field, help, roles) {#field, "0", help, NL_KIND_FLAG, roles, 0, 0, 1, AT(field)}
#define LIMIT(field, help, roles)                                                                  \
	{#field, "auto", help, NL_KIND_LIMIT, roles, 0, 1, UINT64_C(1) << 40, AT(field)}
#define NUMBERS(field, help, roles, max) {#field, "", help, NL_KIND_NUMBERS, roles, 0, 0, max, AT(field)}
#define TEXT(kind, field, initial, help, roles)                                                    \
	{#field, initial, help, NL_KIND_##kind, roles, 0, 0, 0, AT(field)}

enum { BOTH = NL_SINK | NL_GEN };

enum { HOUR_MS = 3600 * 1000, DAY_MS = 24 * HOUR_MS };

static const uint64_t buffers_max_B = UINT64_C(4) << 30;

/* A sink's port is for the command line: an agent's sink binds port 0. */
static const struct nl_option table[] = {
	COUNT(run, "1", "number of the run", BOTH, BOTH, 0, UINT64_MAX),
	{"bind", NULL, "numeric address to bind", NL_KIND_ADDRESS, NL_SINK, NL_SINK, 0, 0, AT(address)},
	{"to", NULL, "numeric address of the sink", NL_KIND_ADDRESS, NL_GEN, NL_GEN, 0, 0, AT(address)},
	TEXT(ADDRESS, from, NULL, "numeric address of the gen; sink: close connections from others", BOTH),
	TEXT(ADDRESSES, also_from, "", "numeric addresses of further gens that share the streams, separated by commas",
	     NL_SINK),
	COUNT(port, "0", "TCP port of the sink; 0: chosen by the kernel", BOTH, NL_GEN, 0, 65535),
	COUNT(streams, "1", "parallel TCP streams", BOTH, BOTH, 1, NL_STREAMS_MAX),
	{"token", NULL, "32 hex digits, the same at both ends; on a command line the file that has it, or -",
	 NL_KIND_TOKEN, BOTH, BOTH, 0, 0, AT(token)},
	COUNT(record_B, "65536", "bytes of one send or recv call", BOTH, BOTH, 1, 64 << 20),
	COUNT(buffer_B, "0", "SO_SNDBUF and SO_RCVBUF; 0: the kernel's default", BOTH, 0, 0, 1 << 30),
	FLAG(force_buffer, "exceed wmem_max and rmem_max", BOTH),
	TEXT(WORD, congestion, "-",
	     "congestion control, or a list for the streams round robin; -: the default", BOTH),
	COUNT(warmup_ms, "0", "time between start and window", BOTH, 0, 0, HOUR_MS),
	COUNT(window_ms, "10000", "length of the measured window; sink: 0: until the streams end", BOTH,
	      NL_SINK, 0, DAY_MS),
	COUNT(tail_ms, "0", "time of sending after the window", NL_GEN, 0, 0, HOUR_MS),
	COUNT(bytes, "0", "bytes to send per stream, instead of window_ms", NL_GEN, 0, 0,
	      UINT64_C(1) << 60),
	NUMBERS(starts_ms, "first byte of each stream after the start, dealt to the streams in turn; empty: 0",
		NL_GEN, HOUR_MS),
	NUMBERS(ends_ms, "end of each stream after the start, dealt in turn; 0: with the run, as one at least", BOTH,
		DAY_MS),
	NUMBERS(pacings_Bps, "SO_MAX_PACING_RATE of each stream, dealt in turn; 0: none", NL_GEN,
		UINT64_C(1000000000000)),
	NUMBERS(source_ports, "first source port of each stream, dealt in turn; empty: chosen by the kernel", NL_GEN,
		65535),
	NUMBERS(own_streams, "of a sink of several senders: 1 of each of its streams that this gen has, dealt in turn",
		NL_GEN, 1),
	COUNT(sender, "0", "number of the gen among the senders of its sink", NL_GEN, 0, 0, NL_SENDERS_MAX - 1),
	COUNT(source_span, "1", "ports from there on that a stream may take; at least the streams", NL_GEN, 0, 1, 65535),
	COUNT(interval_ms, "100", "time between samples", BOTH, 0, 10, HOUR_MS),
	COUNT(accept_ms, "5000", "timeout for the arrival of all streams", NL_SINK, 0, 1, HOUR_MS),
	COUNT(await_start_ms, "0", "of an agent: streams that have arrived wait as long for the request `start`", NL_SINK, 0, 0,
	      HOUR_MS),
	COUNT(connect_ms, "5000", "timeout for connecting and the start", NL_GEN, 0, 1, HOUR_MS),
	COUNT(drain_ms, "5000", "timeout for streams to end after their time, or to make progress", BOTH, 0,
	      1, HOUR_MS),
	TEXT(INTERFACE, interface, "", "interface to meter", BOTH),
	FLAG(trace, "TCP_INFO at every sample", BOTH),
	COUNT(latency_interval_ms, "0", "mean time between probes of the RTT, which the sink answers; 0: none", BOTH,
	      0, 0, 1000),
	COUNT(latency_probe, "1", "1: probes are datagrams, 2: go over a TCP connection, 3: both", BOTH, 0, 1, 3),
	COUNT(latency_idle_ms, "1000", "time of probing before the streams connect, and after they ended", BOTH, 0,
	      0, 60 * 1000),
	COUNT(latency_dscp, "0", "differentiated services code point of the probes", BOTH, 0, 0, 63),
	FLAG(udp, "send datagrams of record_B at pacing_Bps, beside a TCP connection per stream", BOTH),
	FLAG(gso, "the kernel cuts datagrams from larger sends: UDP_SEGMENT", NL_GEN),
	FLAG(gro, "the kernel joins datagrams: UDP_GRO", NL_SINK),
	FLAG(kernel_pacing, "the kernel spaces datagrams: SO_MAX_PACING_RATE, needs the qdisc fq", NL_GEN),
	FLAG(fragment, "datagrams may exceed the MTU", NL_GEN),
	TEXT(CPUS, cpus, "", "CPUs for the threads round robin, as 0,2-3", BOTH),
	FLAG(follow_incoming_cpu, "pin each thread to the CPU of its packets", BOTH),
	COUNT(pacing_Bps, "0", "SO_MAX_PACING_RATE per stream; 0: none; of udp its rate", NL_GEN, 0, 0,
	      UINT64_C(1000000000000)),
	COUNT(dscp, "0", "differentiated services code point of the packets", BOTH, 0, 0, 63),
	COUNT(mss_B, "0", "TCP_MAXSEG; 0: the path's", BOTH, 0, 0, 32767),
	FLAG(nodelay, "TCP_NODELAY", BOTH),
	COUNT(busy_poll_us, "0", "SO_BUSY_POLL; 0: the host's", BOTH, 0, 0, 1000000),
	TEXT(ENGINE, engine, "auto", "auto, blocking (one thread per stream), epoll or plain", BOTH),
	COUNT(threads, "0", "threads of epoll; 0: one per CPU", BOTH, 0, 0, 1024),
	TEXT(SEND, send, "copy", "copy, zerocopy, sendfile or splice", NL_GEN),
	TEXT(RECEIVE, receive, "copy", "copy to memory, discard in the kernel, splice, or zerocopy", NL_SINK),
	LIMIT(batch_B, "bytes of a stream before the next one of its thread; auto or none", BOTH),
	LIMIT(yield_B, "bytes after which a thread yields its CPU; auto or never", NL_GEN),
	TEXT(SWITCH, read_delay, "auto", "sleep after small reads: auto, on or off", NL_SINK),
	TEXT(SWITCH, sched_batch, "auto", "threads as SCHED_BATCH: auto, on or off", BOTH),
	TEXT(SWITCH, spread, "auto", "pin each thread to a CPU of its own: auto, on or off", BOTH),
	TEXT(INTERFACE, egress, "", "interface that batches fit; empty: that of the local address", NL_GEN),
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

const struct nl_option *nl_options(size_t *count)
{
	*count = ROWS;
	return table;
}

const struct nl_option *nl_option_find(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

static int option_refuse(const struct nl_option *option, const char *why, struct nl_err *err)
{
	return nl_fail_key(err, option->name, "%s: %s", option->name, why);
}

static int fail_range(const struct nl_option *option, struct nl_err *err)
{
	return nl_fail_key(err, option->name, "%s: expected %s %" PRIu64 " to %" PRIu64, option->name,
			   option->kind == NL_KIND_LIMIT ? "auto, none or" : "an integer from", option->min,
			   option->max);
}

/* A name for the kernel: letters, digits and a few marks, at most 15: IFNAMSIZ and TCP_CA_NAME_MAX less
 * their NUL. */
static int check_option_name(const struct nl_option *option, const char *text, struct nl_err *err)
{
	enum { NAME_MAX = 15 };

	if (strlen(text) > NAME_MAX)
		return nl_fail_key(err, option->name, "%s: longer than %d characters", option->name, NAME_MAX);
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || *text == '/')
			return option_refuse(option, "invalid character", err);
	return NL_OK;
}

/* Congestion controls, separated by commas; each must be a valid name, or one with a number of streams. */
static int check_option_names(const struct nl_option *option, const char *text, struct nl_err *err)
{
	char item[NL_LIST_MAX], *name;
	size_t items = 0, len;
	uint64_t streams;

	if (strlen(text) >= sizeof(item))
		return option_refuse(option, "the list is too long", err);
	for (const char *at = text;; at += len + 1) {
		len = strcspn(at, ",");
		if (++items > NL_CONGESTIONS_MAX)
			return nl_fail_key(err, option->name, "%s: expected a list of at most %d names",
					   option->name, NL_CONGESTIONS_MAX);
		if (len == 0 && (*at || items > 1))
			return option_refuse(option, "empty name in the list", err);
		snprintf(item, sizeof(item), "%.*s", (int)len, at);
		name = strchr(item, '*');
		if (name)
			*name++ = '\0';
		if (name && (!*name || strchr(name, '*') ||
			     nl_decimal_parse(item, 1, NL_STREAMS_MAX, &streams)))
			return nl_fail_key(err, option->name, "%s: expected NAME or 1 to %d*NAME",
					   option->name, NL_STREAMS_MAX);
		if (check_option_name(option, name ? name : item, err))
			return NL_BAD_REQUEST;
		if (!at[len])
			return NL_OK;
	}
}

/* Numbers, separated by commas, each alone or with a number of streams. */
static int check_numbers(const struct nl_option *option, const char *text, struct nl_err *err)
{
	const char *at = text, *end = text + strlen(text);

	if (end - text >= NL_LIST_MAX)
		return option_refuse(option, "the list is too long", err);
	for (int items = 1; *text; items++) {
		uint64_t number, streams = 1;
		int bad = nl_decimal_take(&at, end, &number);

		if (!bad && *at == '*') {
			streams = number;
			at++;
			bad = nl_decimal_take(&at, end, &number);
		}
		if (bad || items > NL_CONGESTIONS_MAX || streams < 1 || streams > NL_STREAMS_MAX ||
		    number < option->min || number > option->max || (*at && *at != ','))
			return nl_fail_key(err, option->name,
					   "%s: expected a list of at most %d, NUMBER or 1 to %d*NUMBER, each from %" PRIu64
					   " to %" PRIu64,
					   option->name, NL_CONGESTIONS_MAX, NL_STREAMS_MAX, option->min, option->max);
		if (!*at++)
			break;
	}
	return NL_OK;
}

static int check_cpus(const struct nl_option *option, const char *text, struct nl_err *err)
{
	uint16_t cpu[NL_CPUS_MAX];
	size_t count;

	if (strlen(text) >= NL_LIST_MAX || (*text && nl_cpulist_parse(text, cpu, NL_CPUS_MAX, &count)))
		return nl_fail_key(err, option->name,
				   "%s: expected a list as 0,2-3 of at most %d CPUs without repeats",
				   option->name, NL_CPUS_MAX);
	return NL_OK;
}

static int check_address(const struct nl_option *option, const char *text, struct nl_err *err)
{
	struct nl_address address;

	if (strlen(text) >= NL_ADDRESS_MAX || nl_address_parse(text, 0, &address))
		return option_refuse(option, "expected a numeric IPv4 or IPv6 address", err);
	return NL_OK;
}

static int check_addresses(const struct nl_option *option, const char *text, struct nl_err *err)
{
	char item[NL_ADDRESSES_MAX];
	size_t items = 1, len;

	if (!*text)
		return NL_OK;
	if (strlen(text) >= sizeof(item))
		return option_refuse(option, "the list is too long", err);
	for (const char *at = text;; at += len + 1, items++) {
		len = strcspn(at, ",");
		snprintf(item, sizeof(item), "%.*s", (int)len, at);
		if (check_address(option, item, err))
			return NL_BAD_REQUEST;
		if (items >= NL_SENDERS_MAX)
			return option_refuse(option, "too many senders", err);
		if (!at[len])
			return NL_OK;
	}
}

static const struct {
	uint32_t kind;
	const char *choices; /* for the message */
	const char *word[4]; /* in the order of the kind's enum */
} word_lists[] = {
	{NL_KIND_ENGINE, "expected auto, blocking, epoll or plain", {"auto", "blocking", "epoll", "plain"}},
	{NL_KIND_SEND, "expected copy, zerocopy, sendfile or splice",
	 {"copy", "zerocopy", "sendfile", "splice"}},
	{NL_KIND_RECEIVE, "expected copy, discard, splice or zerocopy",
	 {"copy", "discard", "splice", "zerocopy"}},
	{NL_KIND_SWITCH, "expected auto, on or off", {"auto", "on", "off"}},
};

static int set_word(const struct nl_option *option, const char *text, uint64_t *out, struct nl_err *err)
{
	size_t k = 0;

	while (word_lists[k].kind != option->kind)
		k++;
	for (uint64_t i = 0; i < sizeof(word_lists[k].word) / sizeof(word_lists[k].word[0]); i++) {
		if (word_lists[k].word[i] && strcmp(word_lists[k].word[i], text) == 0) {
			*out = i;
			return NL_OK;
		}
	}
	return option_refuse(option, word_lists[k].choices, err);
}

static int option_set(struct nl_run_opts *opts, const struct nl_option *option, const char *text,
		      struct nl_err *err)
{
	static int (*const check[])(const struct nl_option *, const char *, struct nl_err *) = {
		[NL_KIND_ADDRESS] = check_address, [NL_KIND_ADDRESSES] = check_addresses, [NL_KIND_WORD] = check_option_names,
		[NL_KIND_INTERFACE] = check_option_name, [NL_KIND_CPUS] = check_cpus, [NL_KIND_NUMBERS] = check_numbers};
	void *field = (char *)opts + option->offset;
	uint64_t *number = field;
	uint8_t token[NL_TOKEN_B];

	switch (option->kind) {
	case NL_KIND_LIMIT:
	case NL_KIND_COUNT:
	case NL_KIND_FLAG:
		if (option->kind == NL_KIND_LIMIT && strcmp(text, "auto") == 0)
			*number = 0;
		else if (option->kind == NL_KIND_LIMIT &&
			 (strcmp(text, "none") == 0 || strcmp(text, "never") == 0))
			*number = UINT64_MAX;
		else if (nl_decimal_parse(text, option->min, option->max, number))
			return fail_range(option, err);
		return NL_OK;
	case NL_KIND_TOKEN:
		if (nl_hex_parse(text, token, sizeof(token)))
			return nl_fail_key(err, option->name, "token: expected %d hex digits", 2 * NL_TOKEN_B);
		memcpy(field, token, sizeof(token));
		return NL_OK;
	case NL_KIND_ADDRESS:
	case NL_KIND_ADDRESSES:
	case NL_KIND_WORD:
	case NL_KIND_INTERFACE:
	case NL_KIND_CPUS:
	case NL_KIND_NUMBERS:
		if (check[option->kind](option, text, err))
			return NL_BAD_REQUEST;
		memcpy(field, text, strlen(text) + 1);
		return NL_OK;
	default:
		return set_word(option, text, field, err);
	}
}

void nl_run_opts_init(struct nl_run_opts *opts, int role)
{
	memset(opts, 0, sizeof(*opts));
	opts->role = (uint64_t)role;
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].initial && (table[i].roles & (uint32_t)role))
			option_set(opts, &table[i], table[i].initial, NULL);
}

int nl_run_opts_set(struct nl_run_opts *opts, const char *name, const char *text, struct nl_err *err)
{
	const struct nl_option *option = nl_option_find(name);

	if (!option || !(option->roles & opts->role))
		return nl_fail_key(err, name, "a %s has no option %s",
				   opts->role == NL_GEN ? "gen" : "sink", name);
	return option_set(opts, option, text, err);
}

/* Options may also be set as plain fields, so check the table's limits here too. */
static int check_limits(const struct nl_run_opts *opts, struct nl_err *err)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct nl_option *option = &table[i];
		uint64_t value;

		if (!(option->roles & opts->role) ||
		    (option->kind != NL_KIND_COUNT && option->kind != NL_KIND_FLAG))
			continue;
		memcpy(&value, (const char *)opts + option->offset, sizeof(value));
		if (value < option->min || value > option->max)
			return fail_range(option, err);
	}
	return NL_OK;
}

static int check_engine(const struct nl_run_opts *opts, struct nl_err *err)
{
	int plain = opts->engine == NL_ENGINE_PLAIN;

	if (opts->engine > NL_ENGINE_PLAIN || opts->send > NL_SEND_SPLICE ||
	    opts->receive > NL_RECEIVE_ZEROCOPY)
		return nl_fail_key(err, "engine", "unknown engine, send or receive");
	if ((plain || opts->engine == NL_ENGINE_BLOCKING) && opts->threads)
		return nl_fail_key(err, "threads", "threads: the %s engine always has one per stream",
				   plain ? "plain" : "blocking");
	if (plain && opts->role == NL_GEN && opts->send != NL_SEND_COPY)
		return nl_fail_key(err, "send", "engine plain supports send=copy only");
	if (plain && opts->role == NL_SINK && opts->receive != NL_RECEIVE_COPY)
		return nl_fail_key(err, "receive", "engine plain supports receive=copy only");
	return NL_OK;
}

/* Behaviour of threads; the engine plain has no such options. */
static int check_policy(const struct nl_run_opts *opts, struct nl_err *err)
{
	const struct {
		const char *name;
		uint64_t value, max;
	} given[] = {
		{"batch_B", opts->batch_B == UINT64_MAX ? 1 : opts->batch_B, UINT64_C(1) << 40},
		{"yield_B", opts->yield_B == UINT64_MAX ? 1 : opts->yield_B, UINT64_C(1) << 40},
		{"read_delay", opts->read_delay, NL_SWITCH_OFF},
		{"sched_batch", opts->sched_batch, NL_SWITCH_OFF},
		{"spread", opts->spread, NL_SWITCH_OFF},
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		if (given[i].value > given[i].max)
			return nl_fail_key(err, given[i].name, "%s: out of range", given[i].name);
		if (given[i].value && (opts->engine == NL_ENGINE_PLAIN || opts->udp))
			return nl_fail_key(err, given[i].name, "%s: the %s engine has none", given[i].name,
					   opts->udp ? "udp" : "plain");
	}
	if (opts->spread == NL_SWITCH_ON && (opts->cpus[0] || opts->follow_incoming_cpu))
		return nl_fail_key(err, "spread", "spread excludes cpus and follow_incoming_cpu");
	return NL_OK;
}

static int check_udp(const struct nl_run_opts *opts, struct nl_err *err)
{
	const struct {
		const char *name;
		int given, udp;
	} row[] = {{"gso", opts->gso != 0, 1}, {"gro", opts->gro != 0, 1},
		   {"kernel_pacing", opts->kernel_pacing != 0, 1}, {"fragment", opts->fragment != 0, 1},
		   {"bytes", opts->window_ms == 0, 0}, {"trace", opts->trace != 0, 0},
		   {"engine", opts->engine != NL_ENGINE_AUTO, 0}, {"send", opts->send != NL_SEND_COPY, 0},
		   {"receive", opts->receive != NL_RECEIVE_COPY, 0}};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].given && row[i].udp != (int)opts->udp)
			return nl_fail_key(err, row[i].name, row[i].udp ? "%s needs udp" : "udp has a window, and no %s",
					   row[i].name);
	if (opts->udp && (opts->record_B < NL_DATAGRAM_B || opts->record_B > NL_DATAGRAM_MAX_B))
		return nl_fail_key(err, "record_B", "record_B: a datagram has %d to %d bytes", NL_DATAGRAM_B,
				   NL_DATAGRAM_MAX_B);
	if (opts->udp && opts->role == NL_GEN && !opts->pacing_Bps)
		return nl_fail_key(err, "pacing_Bps", "pacing_Bps: udp needs a rate above 0");
	if (opts->gso && opts->fragment)
		return nl_fail_key(err, "gso", "gso and fragment exclude each other");
	return NL_OK;
}

/* Starts, ends and rates of single streams. */
static int check_flows(const struct nl_run_opts *opts, struct nl_err *err)
{
	const struct {
		const char *name, *list;
		int timed;
	} row[] = {{"starts_ms", opts->starts_ms, 1}, {"ends_ms", opts->ends_ms, 1}, {"pacings_Bps", opts->pacings_Bps, 0},
		   {"source_ports", opts->source_ports, 0}};
	uint64_t i = 0;

	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		if (!row[k].list[0])
			continue;
		if (opts->udp || (row[k].timed && (opts->engine == NL_ENGINE_PLAIN || opts->window_ms == 0)))
			return nl_fail_key(err, row[k].name, "%s: %s has none", row[k].name,
					   opts->udp ? "udp" : opts->window_ms == 0 ? "a run without window_ms"
										    : "the plain engine");
	}
	for (i = 0; opts->source_ports[0] && i < nl_dealt_streams(opts->source_ports); i++)
		if (nl_dealt_number(opts->source_ports, i) + opts->source_span - 1 > UINT16_MAX)
			return nl_fail_key(err, "source_ports", "source_ports: a range of source_span ends beyond 65535");
	if (opts->source_ports[0] && (!opts->from[0] || opts->streams > opts->source_span))
		return nl_fail_key(err, "source_ports", "source_ports: need from, and a source_span of the streams");
	i = 0;
	while (i < opts->streams && nl_dealt_number(opts->ends_ms, i))
		i++;
	if (i == opts->streams)
		return nl_fail_key(err, "ends_ms", "ends_ms: one stream at least must last as long as the run: 0");
	return NL_OK;
}

/* A part of the streams of a sink, and a sink of several such gens. */
static int check_senders(const struct nl_run_opts *opts, struct nl_err *err)
{
	uint64_t own = nl_dealt_count(opts->own_streams);

	if (own == 0 || opts->streams % own)
		return nl_fail_key(err, "own_streams", "own_streams: %" PRIu64 " of a turn cannot be dealt to %" PRIu64
				   " streams", own, opts->streams);
	if (opts->own_streams[0] && (opts->udp || opts->latency_interval_ms))
		return nl_fail_key(err, "own_streams", "own_streams: udp and the latency probe have one sender");
	if (opts->sender && !opts->own_streams[0])
		return nl_fail_key(err, "sender", "sender: needs own_streams");
	if (opts->also_from[0] && (opts->udp || opts->latency_interval_ms || !opts->from[0]))
		return nl_fail_key(err, "also_from", "also_from: needs from, and udp and the latency probe have one sender");
	return NL_OK;
}

int nl_run_opts_check(const struct nl_run_opts *opts, struct nl_err *err)
{
	int gen = opts->role == NL_GEN, code;

	if (opts->role != NL_SINK && opts->role != NL_GEN)
		return nl_fail_key(err, "role", "role: expected sink or gen");
	code = check_limits(opts, err);
	if (code)
		return code;
	if (opts->address[0] == '\0')
		return nl_fail_key(err, gen ? "to" : "bind", "the address is missing");
	if (gen && opts->port == 0)
		return nl_fail_key(err, "port", "the port of the sink is missing");
	if (gen && opts->bytes && opts->window_ms)
		return nl_fail_key(err, "bytes", "bytes and window_ms exclude each other");
	if (gen && !opts->bytes && !opts->window_ms)
		return nl_fail_key(err, "window_ms", "a gen needs window_ms or bytes");
	if (opts->follow_incoming_cpu && opts->cpus[0])
		return nl_fail_key(err, "follow_incoming_cpu",
				   "cpus and follow_incoming_cpu exclude each other");
	if (gen && opts->latency_interval_ms && !opts->window_ms)
		return nl_fail_key(err, "latency_interval_ms", "latency_interval_ms needs window_ms");
	if (!gen && opts->latency_interval_ms && !opts->from[0])
		return nl_fail_key(err, "from", "latency_interval_ms needs from, the address to answer");
	code = check_engine(opts, err);
	if (!code)
		code = check_policy(opts, err);
	if (!code)
		code = check_udp(opts, err);
	if (!code)
		code = check_flows(opts, err);
	if (!code)
		code = check_senders(opts, err);
	if (code)
		return code;
	if (opts->record_B > buffers_max_B / opts->streams)
		return nl_fail(err, NL_LIMIT, "%" PRIu64 " records of %" PRIu64 " B are more than %d MiB",
			       opts->streams, opts->record_B, (int)(buffers_max_B >> 20));
	return NL_OK;
}

int nl_options_from_request(struct nl_run_opts *opts, int role, struct nl_request *request,
			    struct nl_err *err)
{
	int timed = nl_request_has(request, "window_ms"), sized = nl_request_has(request, "bytes");

	nl_run_opts_init(opts, role);
	if (sized && !timed)
		opts->window_ms = 0;
	for (size_t i = 0; i < request->count; i++)
		if (nl_run_opts_set(opts, request->pair[i].key, request->pair[i].value, err))
			return NL_BAD_REQUEST;
	for (size_t i = 0; i < ROWS; i++)
		if ((table[i].required & (uint32_t)role) && !nl_request_has(request, table[i].name))
			return nl_fail_key(err, table[i].name, "%s is missing", table[i].name);
	if (role == NL_GEN && !timed && !sized)
		return nl_fail_key(err, "window_ms", "window_ms or bytes is missing");
	return nl_run_opts_check(opts, err);
}
