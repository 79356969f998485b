#include "run/options.h"

#include "base/cpulist.h"
#include "base/error.h"
#include "net/sock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct nl_run_opts, field)

enum { BOTH = NL_SINK | NL_GEN };

enum { HOUR_MS = 3600 * 1000, DAY_MS = 24 * HOUR_MS };

static const uint64_t buffers_max_B = UINT64_C(4) << 30;

/* One line per option. A sink's port is for the command line: an agent's sink binds port 0. */
static const struct nl_option table[] = {
	{"run", "1", "number of the run", NL_KIND_COUNT, BOTH, BOTH, 0, UINT64_MAX, AT(run)},
	{"bind", NULL, "numeric address to bind", NL_KIND_ADDRESS, NL_SINK, NL_SINK, 0, 0,
	 AT(address)},
	{"to", NULL, "numeric address of the sink", NL_KIND_ADDRESS, NL_GEN, NL_GEN, 0, 0,
	 AT(address)},
	{"from", NULL, "numeric address of the gen; sink: close connections from others",
	 NL_KIND_ADDRESS, BOTH, 0, 0, 0, AT(from)},
	{"port", "0", "TCP port of the sink; 0: chosen by the kernel", NL_KIND_COUNT, BOTH, NL_GEN, 0,
	 65535, AT(port)},
	{"streams", "1", "parallel TCP streams", NL_KIND_COUNT, BOTH, BOTH, 1, NL_STREAMS_MAX,
	 AT(streams)},
	{"token", NULL, "32 hex digits, the same at both ends; on a command line the file that has it, or -", NL_KIND_TOKEN, BOTH, BOTH, 0, 0,
	 AT(token)},
	{"record_B", "65536", "bytes of one send or recv call", NL_KIND_COUNT, BOTH, BOTH, 1, 64 << 20,
	 AT(record_B)},
	{"buffer_B", "0", "SO_SNDBUF and SO_RCVBUF; 0: the kernel's default", NL_KIND_COUNT, BOTH, 0,
	 0, 1 << 30, AT(buffer_B)},
	{"force_buffer", "0", "exceed wmem_max and rmem_max", NL_KIND_FLAG, BOTH, 0, 0, 1,
	 AT(force_buffer)},
	{"congestion", "-", "congestion control, or a list for the streams round robin; -: the default",
	 NL_KIND_WORD, BOTH, 0, 0, 0, AT(congestion)},
	{"warmup_ms", "0", "time between start and window", NL_KIND_COUNT, BOTH, 0, 0, HOUR_MS,
	 AT(warmup_ms)},
	{"window_ms", "10000", "length of the measured window; sink: 0: until the streams end",
	 NL_KIND_COUNT, BOTH, NL_SINK, 0, DAY_MS, AT(window_ms)},
	{"tail_ms", "0", "time of sending after the window", NL_KIND_COUNT, NL_GEN, 0, 0, HOUR_MS,
	 AT(tail_ms)},
	{"bytes", "0", "bytes to send per stream, instead of window_ms", NL_KIND_COUNT,
	 NL_GEN, 0, 0, UINT64_C(1) << 60, AT(bytes)},
	{"interval_ms", "100", "time between samples", NL_KIND_COUNT, BOTH, 0, 10, HOUR_MS,
	 AT(interval_ms)},
	{"accept_ms", "5000", "timeout for the arrival of all streams", NL_KIND_COUNT,
	 NL_SINK, 0, 1, HOUR_MS, AT(accept_ms)},
	{"connect_ms", "5000", "timeout for connecting and the start", NL_KIND_COUNT, NL_GEN, 0,
	 1, HOUR_MS, AT(connect_ms)},
	{"drain_ms", "5000", "timeout for streams to end after their time, or to make progress",
	 NL_KIND_COUNT, BOTH, 0, 1, HOUR_MS, AT(drain_ms)},
	{"interface", "", "interface to meter", NL_KIND_INTERFACE, BOTH, 0, 0, 0,
	 AT(interface)},
	{"trace", "0", "TCP_INFO at every sample", NL_KIND_FLAG, BOTH, 0, 0, 1, AT(trace)},
	{"cpus", "", "CPUs for the threads round robin, as 0,2-3", NL_KIND_CPUS, BOTH, 0, 0, 0,
	 AT(cpus)},
	{"follow_incoming_cpu", "0", "pin each thread to the CPU of its packets",
	 NL_KIND_FLAG, BOTH, 0, 0, 1, AT(follow_incoming_cpu)},
	{"pacing_Bps", "0", "SO_MAX_PACING_RATE per stream; 0: none", NL_KIND_COUNT, NL_GEN, 0, 0,
	 UINT64_C(1000000000000), AT(pacing_Bps)},
	{"dscp", "0", "differentiated services code point of the packets", NL_KIND_COUNT, BOTH, 0, 0, 63,
	 AT(dscp)},
	{"mss_B", "0", "TCP_MAXSEG; 0: the path's", NL_KIND_COUNT, BOTH, 0, 0, 32767, AT(mss_B)},
	{"nodelay", "0", "TCP_NODELAY", NL_KIND_FLAG, BOTH, 0, 0, 1, AT(nodelay)},
	{"busy_poll_us", "0", "SO_BUSY_POLL; 0: the host's", NL_KIND_COUNT, BOTH, 0, 0, 1000000,
	 AT(busy_poll_us)},
	{"engine", "auto", "auto, blocking (one thread per stream), epoll or plain", NL_KIND_ENGINE, BOTH, 0,
	 0, 0, AT(engine)},
	{"threads", "0", "threads of epoll; 0: one per CPU", NL_KIND_COUNT, BOTH, 0, 0, 1024,
	 AT(threads)},
	{"send", "copy", "copy, zerocopy, sendfile or splice", NL_KIND_SEND, NL_GEN, 0, 0, 0, AT(send)},
	{"receive", "copy", "copy to memory, discard in the kernel, splice, or zerocopy",
	 NL_KIND_RECEIVE, NL_SINK, 0, 0, 0, AT(receive)},
	{"batch_B", "auto", "bytes of a stream before the next one of its thread; auto or none",
	 NL_KIND_LIMIT, BOTH, 0, 1, UINT64_C(1) << 40, AT(batch_B)},
	{"yield_B", "auto", "bytes after which a thread yields its CPU; auto or never",
	 NL_KIND_LIMIT, NL_GEN, 0, 1, UINT64_C(1) << 40, AT(yield_B)},
	{"read_delay", "auto", "sleep after small reads: auto, on or off", NL_KIND_SWITCH, NL_SINK, 0,
	 0, 0, AT(read_delay)},
	{"sched_batch", "auto", "threads as SCHED_BATCH: auto, on or off", NL_KIND_SWITCH, BOTH, 0, 0,
	 0, AT(sched_batch)},
	{"spread", "auto", "pin each thread to a CPU of its own: auto, on or off", NL_KIND_SWITCH,
	 BOTH, 0, 0, 0, AT(spread)},
	{"egress", "", "interface that batches fit; empty: that of the local address",
	 NL_KIND_INTERFACE, NL_GEN, 0, 0, 0, AT(egress)},
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

static int set_count(const struct nl_option *option, const char *text, uint64_t *out,
		     struct nl_err *err)
{
	uint64_t n;

	if (nl_decimal_parse(text, option->min, option->max, &n))
		return nl_fail_key(err, option->name, "%s: expected an integer from %llu to %llu",
				   option->name, (unsigned long long)option->min,
				   (unsigned long long)option->max);
	*out = n;
	return NL_OK;
}

static int set_limit(const struct nl_option *option, const char *text, uint64_t *out,
		     struct nl_err *err)
{
	uint64_t n;

	if (strcmp(text, "auto") == 0)
		n = 0;
	else if (strcmp(text, "none") == 0 || strcmp(text, "never") == 0)
		n = UINT64_MAX;
	else if (nl_decimal_parse(text, option->min, option->max, &n))
		return nl_fail_key(err, option->name, "%s: expected auto, none or %llu to %llu",
				   option->name, (unsigned long long)option->min,
				   (unsigned long long)option->max);
	*out = n;
	return NL_OK;
}

static int set_token(const struct nl_option *option, const char *text, uint8_t *out,
		     struct nl_err *err)
{
	uint8_t token[NL_TOKEN_B];

	if (nl_hex_parse(text, token, sizeof(token)))
		return nl_fail_key(err, option->name, "token: expected %d hex digits", 2 * NL_TOKEN_B);
	memcpy(out, token, sizeof(token));
	return NL_OK;
}

/* A name for the kernel: letters, digits and a few marks, bounded. */
static int set_name(const struct nl_option *option, const char *text, size_t max, char *out,
		    struct nl_err *err)
{
	size_t len = strlen(text);

	if (len > max)
		return nl_fail_key(err, option->name, "%s: longer than %zu characters", option->name, max);
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '/')
			return nl_fail_key(err, option->name, "%s: invalid character",
					   option->name);
	memcpy(out, text, len + 1);
	return NL_OK;
}

/* Congestion controls, separated by commas; each must be a valid name. */
static int set_names(const struct nl_option *option, const char *text, char *out,
		     struct nl_err *err)
{
	char list[NL_LIST_MAX], name[16]; /* TCP_CA_NAME_MAX */
	size_t items = 0, len;
	const char *at = text;

	if (strlen(text) >= sizeof(list))
		return nl_fail_key(err, option->name, "%s: the list is too long", option->name);
	do {
		at += items > 0; /* past the comma */
		len = strcspn(at, ",");
		if (++items > NL_CONGESTIONS_MAX)
			return nl_fail_key(err, option->name, "%s: expected a list of at most %d names",
					   option->name, NL_CONGESTIONS_MAX);
		if (len == 0 && (*at || items > 1))
			return nl_fail_key(err, option->name, "%s: empty name in the list", option->name);
		snprintf(list, sizeof(list), "%.*s", (int)len, at);
		if (set_name(option, list, sizeof(name) - 1, name, err))
			return NL_BAD_REQUEST;
		at += len;
	} while (*at);
	memcpy(out, text, strlen(text) + 1);
	return NL_OK;
}

static int set_cpus(const struct nl_option *option, const char *text, char *out, struct nl_err *err)
{
	uint16_t cpu[NL_CPUS_MAX];
	size_t count;

	if (strlen(text) >= NL_LIST_MAX || (*text && nl_cpulist_parse(text, cpu, NL_CPUS_MAX, &count)))
		return nl_fail_key(err, option->name,
				   "%s: expected a list as 0,2-3 of at most %d CPUs without repeats",
				   option->name, NL_CPUS_MAX);
	memcpy(out, text, strlen(text) + 1);
	return NL_OK;
}

static int set_address(const struct nl_option *option, const char *text, char *out,
		       struct nl_err *err)
{
	struct nl_address address;

	if (strlen(text) >= NL_ADDRESS_MAX || nl_address_parse(text, 0, &address))
		return nl_fail_key(err, option->name, "%s: expected a numeric IPv4 or IPv6 address",
				   option->name);
	memcpy(out, text, strlen(text) + 1);
	return NL_OK;
}

static const struct {
	uint32_t kind;
	const char *choices; /* for the message */
	const char *word[4]; /* in the order of the kind's enum */
} word_lists[] = {
	{NL_KIND_ENGINE, "auto, blocking, epoll or plain", {"auto", "blocking", "epoll", "plain"}},
	{NL_KIND_SEND, "copy, zerocopy, sendfile or splice", {"copy", "zerocopy", "sendfile", "splice"}},
	{NL_KIND_RECEIVE, "copy, discard, splice or zerocopy", {"copy", "discard", "splice", "zerocopy"}},
	{NL_KIND_SWITCH, "auto, on or off", {"auto", "on", "off"}},
};

static int set_word(const struct nl_option *option, const char *text, uint64_t *out,
		    struct nl_err *err)
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
	return nl_fail_key(err, option->name, "%s: expected %s", option->name, word_lists[k].choices);
}

static int set(struct nl_run_opts *opts, const struct nl_option *option, const char *text,
	       struct nl_err *err)
{
	void *field = (char *)opts + option->offset;

	switch (option->kind) {
	case NL_KIND_COUNT:
	case NL_KIND_FLAG:
		return set_count(option, text, field, err);
	case NL_KIND_ADDRESS:
		return set_address(option, text, field, err);
	case NL_KIND_TOKEN:
		return set_token(option, text, field, err);
	case NL_KIND_WORD:
		return set_names(option, text, field, err);
	case NL_KIND_INTERFACE:
		return set_name(option, text, 15, field, err); /* IFNAMSIZ less its NUL */
	case NL_KIND_ENGINE:
	case NL_KIND_SEND:
	case NL_KIND_RECEIVE:
	case NL_KIND_SWITCH:
		return set_word(option, text, field, err);
	case NL_KIND_LIMIT:
		return set_limit(option, text, field, err);
	case NL_KIND_CPUS:
		return set_cpus(option, text, field, err);
	}
	return nl_fail(err, NL_INTERNAL, "option of an unknown kind");
}

void nl_run_opts_init(struct nl_run_opts *opts, int role)
{
	memset(opts, 0, sizeof(*opts));
	opts->role = (uint64_t)role;
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].initial && (table[i].roles & (uint32_t)role))
			set(opts, &table[i], table[i].initial, NULL);
}

int nl_run_opts_set(struct nl_run_opts *opts, const char *name, const char *text, struct nl_err *err)
{
	const struct nl_option *option = nl_option_find(name);

	if (!option || !(option->roles & opts->role))
		return nl_fail_key(err, name, "a %s has no option %s",
				   opts->role == NL_GEN ? "gen" : "sink", name);
	return set(opts, option, text, err);
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
			return nl_fail_key(err, option->name, "%s: expected an integer from %llu to %llu",
					   option->name, (unsigned long long)option->min,
					   (unsigned long long)option->max);
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
		if (given[i].value && opts->engine == NL_ENGINE_PLAIN)
			return nl_fail_key(err, given[i].name, "%s: the plain engine has none",
					   given[i].name);
	}
	if (opts->spread == NL_SWITCH_ON && (opts->cpus[0] || opts->follow_incoming_cpu))
		return nl_fail_key(err, "spread", "spread excludes cpus and follow_incoming_cpu");
	return NL_OK;
}

int nl_run_opts_check(const struct nl_run_opts *opts, struct nl_err *err)
{
	int code;

	if (opts->role != NL_SINK && opts->role != NL_GEN)
		return nl_fail_key(err, "role", "role: expected sink or gen");
	code = check_limits(opts, err);
	if (code)
		return code;
	if (opts->address[0] == '\0')
		return nl_fail_key(err, opts->role == NL_GEN ? "to" : "bind", "the address is missing");
	if (opts->role == NL_GEN && opts->port == 0)
		return nl_fail_key(err, "port", "the port of the sink is missing");
	if (opts->role == NL_GEN && opts->bytes && opts->window_ms)
		return nl_fail_key(err, "bytes", "bytes and window_ms exclude each other");
	if (opts->role == NL_GEN && !opts->bytes && !opts->window_ms)
		return nl_fail_key(err, "window_ms", "a gen needs window_ms or bytes");
	if (opts->follow_incoming_cpu && opts->cpus[0])
		return nl_fail_key(err, "follow_incoming_cpu",
				   "cpus and follow_incoming_cpu exclude each other");
	code = check_engine(opts, err);
	if (!code)
		code = check_policy(opts, err);
	if (code)
		return code;
	if (opts->record_B > buffers_max_B / opts->streams)
		return nl_fail(err, NL_LIMIT, "%llu records of %llu B are more than %llu MiB",
			       (unsigned long long)opts->streams, (unsigned long long)opts->record_B,
			       (unsigned long long)(buffers_max_B >> 20));
	return NL_OK;
}

static int check_required(int role, const struct nl_request *request, struct nl_err *err)
{
	for (size_t i = 0; i < ROWS; i++)
		if ((table[i].required & (uint32_t)role) && !nl_request_has(request, table[i].name))
			return nl_fail_key(err, table[i].name, "%s is missing", table[i].name);
	if (role == NL_GEN && !nl_request_has(request, "window_ms") && !nl_request_has(request, "bytes"))
		return nl_fail_key(err, "window_ms", "window_ms or bytes is missing");
	return NL_OK;
}

int nl_options_from_request(struct nl_run_opts *opts, int role, struct nl_request *request,
			    struct nl_err *err)
{
	int code = NL_OK;

	nl_run_opts_init(opts, role);
	if (nl_request_has(request, "bytes") && !nl_request_has(request, "window_ms"))
		opts->window_ms = 0;
	for (size_t i = 0; !code && i < request->count; i++)
		code = nl_run_opts_set(opts, request->pair[i].key, request->pair[i].value, err);
	if (!code)
		code = check_required(role, request, err);
	return code ? code : nl_run_opts_check(opts, err);
}
