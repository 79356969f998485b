/* netlab.h: the public interface of the netlab core.
 *
 * The library moves bytes memory to memory over parallel TCP streams, counts them, and reads the
 * host's counters at the same time. It never exits or prints, and has no globals. A process need
 * not ignore SIGPIPE for the library: its sends never raise it.
 *
 * Names carry the units: _ns _us _ms _B (a size) _bytes (a count). All times are CLOCK_MONOTONIC of
 * this host.
 *
 * Failure: a function that can fail returns an nl_code. Unless it is NL_OK, *err is filled and the
 * outputs are unchanged.
 *
 * Bounds of one stream's byte counts at a clean end (the hello is NL_HELLO_B bytes; SYN and FIN
 * each take one sequence number):
 *
 *     gen  bytes + NL_HELLO_B <= bytes_acked    <= bytes + NL_HELLO_B + 2
 *     sink bytes + NL_HELLO_B <= bytes_received <= bytes + NL_HELLO_B + 1
 *
 * cmake/binding.py copies the part between the two cffi marks for Python, so it has plain
 * declarations only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NL_API __attribute__((visibility("default")))

/* cffi: begin */

enum nl_code {
	NL_OK = 0,
	NL_BAD_REQUEST = 1, /* an option is unknown, missing or out of range; err.key names it */
	NL_IN_USE = 2,      /* an address is taken */
	NL_REFUSED = 3,     /* refused by the kernel; err.message names the call and errno */
	NL_PEER = 4,        /* a peer sent invalid data or vanished */
	NL_TIMEOUT = 5,
	NL_LIMIT = 6, /* files, memory, threads */
	NL_INTERNAL = 7,
};

enum {
	NL_MESSAGE_MAX = 256,
	NL_NAME_MAX = 32, /* option keys, congestion control and interface names */
	NL_ADDRESS_MAX = 64,
	NL_ADDRESSES_MAX = 1024, /* a list of addresses, as text */
	NL_LIST_MAX = 256, /* a list of names or CPUs, as text */
	NL_SENDERS_MAX = 16,    /* gens of one sink */
	NL_CONGESTIONS_MAX = 8, /* items of a list that is dealt to the streams */
	NL_TOKEN_B = 16,
	NL_HELLO_B = 64,
	NL_CPUS_MAX = 1024, /* CPUs beyond are not metered */
	NL_STREAMS_MAX = 10000,
};

struct nl_err {
	int32_t code;
	char key[NL_NAME_MAX]; /* the option at fault, or empty */
	char message[NL_MESSAGE_MAX];
};

/* The word of a code in the protocol: "bad_request", "in_use", ... Static storage. */
NL_API const char *nl_code_name(int code);

NL_API const char *nl_version(void);       /* static storage */
NL_API const char *nl_source_digest(void); /* sha256 of the sources, hex; static storage */
NL_API uint64_t nl_now_ns(void);           /* CLOCK_MONOTONIC */

/* What the build lacked for BPF congestion controls, and its packages; NULL if gensink has them.
 * Static storage. */
NL_API const char *nl_bpf_missing(void);

/* -- options: one table for the agent, the command line and Python ---------- */

enum nl_role {
	NL_SINK = 1,
	NL_GEN = 2,
};

enum nl_option_kind {
	NL_KIND_COUNT = 0,     /* decimal, min..max */
	NL_KIND_FLAG = 1,      /* 0 or 1 */
	NL_KIND_ADDRESS = 2,   /* numeric IPv4 or IPv6, %scope allowed */
	NL_KIND_TOKEN = 3,     /* 32 hex digits */
	NL_KIND_WORD = 4,      /* up to 8 congestion controls, comma-separated; `-`: the default */
	NL_KIND_INTERFACE = 5, /* an interface name */
	NL_KIND_CPUS = 6,      /* numbers and ranges, comma-separated; empty: none */
	NL_KIND_ENGINE = 7,    /* a word of enum nl_engine_word */
	NL_KIND_SEND = 8,      /* a word of enum nl_send_word */
	NL_KIND_RECEIVE = 9,   /* a word of enum nl_receive_word */
	NL_KIND_LIMIT = 10,    /* auto (0), none or never (UINT64_MAX), or decimal, min..max */
	NL_KIND_SWITCH = 11,   /* a word of enum nl_switch_word */
	NL_KIND_NUMBERS = 12,  /* up to 8 decimals, min..max, comma-separated; empty: none */
	NL_KIND_ADDRESSES = 13, /* comma-separated; empty: none */
};

enum nl_engine_word {
	NL_ENGINE_AUTO = 0,     /* blocking for few streams, epoll for many */
	NL_ENGINE_BLOCKING = 1, /* one thread per stream */
	NL_ENGINE_EPOLL = 2,    /* one epoll set per thread, streams distributed over the threads */
	NL_ENGINE_PLAIN = 3,    /* one thread per stream, send() and recv() in a loop only */
};

enum nl_send_word {
	NL_SEND_COPY = 0,
	NL_SEND_ZEROCOPY = 1, /* MSG_ZEROCOPY: the kernel copies only if it must */
	NL_SEND_SENDFILE = 2, /* from a memfd */
	NL_SEND_SPLICE = 3,   /* pages through a pipe */
};

enum nl_receive_word {
	NL_RECEIVE_COPY = 0,
	NL_RECEIVE_DISCARD = 1,  /* MSG_TRUNC: the kernel drops the bytes */
	NL_RECEIVE_SPLICE = 2,   /* through a pipe to /dev/null */
	NL_RECEIVE_ZEROCOPY = 3, /* TCP_ZEROCOPY_RECEIVE: pages are mapped, the rest is copied */
};

enum nl_switch_word {
	NL_SWITCH_AUTO = 0, /* by the rules of PROTOCOL.md */
	NL_SWITCH_ON = 1,
	NL_SWITCH_OFF = 2,
};

struct nl_option {
	const char *name;
	const char *initial; /* the default as text; NULL: none */
	const char *help;
	uint32_t kind;     /* enum nl_option_kind */
	uint32_t roles;    /* NL_SINK | NL_GEN */
	uint32_t required; /* roles whose agent requests require it */
	uint64_t min, max; /* of NL_KIND_COUNT, NL_KIND_FLAG, NL_KIND_LIMIT and NL_KIND_NUMBERS */
	size_t offset;     /* in struct nl_run_opts */
};

struct nl_run_opts {
	uint64_t role; /* one value of enum nl_role */
	uint64_t run;
	uint64_t port; /* sink: 0: chosen by the kernel */
	uint64_t streams;
	uint64_t record_B;
	uint64_t buffer_B; /* 0: the kernel's default */
	uint64_t force_buffer;
	uint64_t warmup_ms;
	uint64_t window_ms; /* 0: until the streams end */
	uint64_t tail_ms;
	uint64_t bytes; /* gen: per stream, exact; 0 for a timed run */
	uint64_t source_span; /* gen: ports of such a range */
	uint64_t sender;  /* gen: its number among them, from 0 */
	uint64_t interval_ms;
	uint64_t accept_ms; /* sink: for all streams to arrive */
	uint64_t await_start_ms; /* sink of an agent: time to wait for the request `start`; 0: none */
	uint64_t connect_ms; /* gen: for all streams to connect and be released */
	uint64_t drain_ms;
	uint64_t trace;
	uint64_t follow_incoming_cpu; /* pin each thread to the CPU of its packets */
	uint64_t pacing_Bps;          /* gen: per stream; 0: unlimited */
	uint64_t dscp, mss_B, nodelay, busy_poll_us; /* 0: the kernel's default */
	uint64_t latency_interval_ms; /* mean time between probes of the RTT; 0: none */
	uint64_t latency_probe;       /* NL_PROBE_UDP | NL_PROBE_TCP */
	uint64_t latency_idle_ms;     /* probing before the streams connect, and after they ended */
	uint64_t latency_dscp;
	uint64_t udp;            /* datagrams of record_B beside each TCP connection, at pacing_Bps */
	uint64_t gso;            /* gen: UDP_SEGMENT */
	uint64_t gro;            /* sink: UDP_GRO */
	uint64_t kernel_pacing;  /* gen: SO_MAX_PACING_RATE spaces the datagrams, beside the clock */
	uint64_t fragment;       /* gen: datagrams may exceed the MTU */
	uint64_t engine;  /* enum nl_engine_word */
	uint64_t threads; /* epoll: 0: one per CPU that the process may use */
	uint64_t send;    /* gen: enum nl_send_word */
	uint64_t receive; /* sink: enum nl_receive_word */
	uint64_t batch_B; /* 0: auto; UINT64_MAX: no limit */
	uint64_t yield_B; /* gen: 0: auto; UINT64_MAX: never */
	uint64_t read_delay, sched_batch, spread; /* enum nl_switch_word */
	char address[NL_ADDRESS_MAX]; /* sink: bound; gen: connected to */
	char from[NL_ADDRESS_MAX];    /* of the gen. gen: bound; sink: required of peers; empty: any */
	char also_from[NL_ADDRESSES_MAX]; /* sink: addresses of further gens that share its streams; empty: none */
	char congestion[NL_LIST_MAX]; /* NAME or COUNT*NAME each, dealt to the streams in turn */
	/* NUMBER or COUNT*NUMBER each, dealt likewise; empty: 0 for all */
	char starts_ms[NL_LIST_MAX];   /* gen: first byte of a stream, after the start */
	char ends_ms[NL_LIST_MAX];     /* end of a stream, after the start; 0: with the run */
	char pacings_Bps[NL_LIST_MAX]; /* gen: in place of pacing_Bps */
	char source_ports[NL_LIST_MAX]; /* gen: first port of the range that a stream is bound to; 0: any port */
	char own_streams[NL_LIST_MAX]; /* gen: 1 of each stream of the sink that is its own; empty: all */
	char cpus[NL_LIST_MAX];       /* threads take them round robin; empty: scheduler */
	char interface[NL_NAME_MAX]; /* empty: no interface is metered */
	char egress[NL_NAME_MAX]; /* gen: the interface that batches fit; empty: of the local address */
	uint8_t token[NL_TOKEN_B];
};

/* The table; *count rows in static storage. */
NL_API const struct nl_option *nl_options(size_t *count);

/* Set every option of the role to its default. */
NL_API void nl_run_opts_init(struct nl_run_opts *opts, int role);

/* Set one option from text. */
NL_API int nl_run_opts_set(struct nl_run_opts *opts, const char *name, const char *text,
			   struct nl_err *err);

/* Check options against each other: bytes excludes window_ms, sizes must fit. */
NL_API int nl_run_opts_check(const struct nl_run_opts *opts, struct nl_err *err);

/* -- meter: the host's counters -------------------------------------------- */

struct nl_cpu {
	uint64_t cpu;
	uint64_t user_us, nice_us, system_us, idle_us, iowait_us, irq_us, softirq_us, steal_us;
	uint64_t frequency_kHz;       /* cpufreq, now or at the end of a span; 0: unknown */
	uint64_t first_frequency_kHz; /* at the start of a span; 0: unknown, and in a snapshot */
	int64_t throttled; /* thermal throttling events so far, or in a span; -1: unknown */
};

struct nl_interface {
	/* in the kernel's order */
	uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes;
	uint64_t rx_errors, tx_errors, rx_dropped, tx_dropped;
};

/* Differences of CLOCK_REALTIME, CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW. */
struct nl_clocks {
	int64_t realtime_ahead_ns; /* relative to CLOCK_MONOTONIC */
	int64_t raw_behind_ns;     /* CLOCK_MONOTONIC_RAW behind CLOCK_MONOTONIC */
	uint64_t unsure_ns;        /* duration of the readings */
};

/* The kernel's counters at one time. During a run they are polled every 250 ms between snapshots:
 * `interface` is then corrected for wraps, and the other findings have fields here. */
struct nl_meter {
	uint64_t t_ns;
	struct nl_clocks clocks;
	uint32_t clock_steps;  /* number of times CLOCK_REALTIME was set */
	uint32_t wraps, resets; /* of the interface's counters */
	int64_t clock_step_ns; /* the largest step */
	char name[NL_NAME_MAX]; /* of the interface; empty: none */
	int32_t ifindex;        /* 0: the interface is gone */
	uint32_t has_softnet; /* 0: the kernel does not show the next three, as in some containers */
	uint32_t softnet_processed, softnet_dropped, softnet_time_squeeze; /* may wrap */
	struct nl_interface interface;
	uint64_t interrupts, context_switches;
	uint64_t process_user_us, process_system_us; /* of the calling process */
	uint64_t cpus;
	struct nl_cpu cpu[NL_CPUS_MAX];
};

/* Differences between two snapshots. */
struct nl_meter_span {
	uint64_t t0_ns, t1_ns;
	char name[NL_NAME_MAX];
	uint32_t reset; /* an interface counter decreased, or the interface was replaced */
	uint32_t wraps; /* 32-bit counters that passed 2^32; corrected */
	uint32_t clock_steps;     /* CLOCK_REALTIME was set by more than 1 ms */
	int64_t clock_step_ns;    /* the largest of these steps, in either direction */
	int64_t clock_drift_ns;   /* CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW */
	uint64_t clock_unsure_ns; /* uncertainty of the drift, in either direction */
	struct nl_interface interface;
	uint64_t interrupts, context_switches;
	uint64_t has_softnet, softnet_processed, softnet_dropped, softnet_time_squeeze;
	uint64_t process_user_us, process_system_us;
	uint64_t cpus;
	struct nl_cpu cpu[NL_CPUS_MAX];
};

/* Read all counters; interface NULL or empty: none. An unknown interface is NL_BAD_REQUEST. */
NL_API int nl_meter_read(const char *interface, struct nl_meter *out, struct nl_err *err);
NL_API void nl_meter_diff(const struct nl_meter *before, const struct nl_meter *after,
			  struct nl_meter_span *out);

/* CPU time that other processes of the host used between two scans, without kernel threads. */
#define NL_PROCESS_NAME 16
#define NL_TOP_PROCESSES 8

struct nl_process_use {
	int32_t pid;
	uint64_t born_ticks; /* since boot, the same in every PID namespace */
	uint64_t cpu_us;
	char name[NL_PROCESS_NAME];
};

struct nl_others {
	uint32_t known; /* 0: the processes could not be read */
	int32_t pid;    /* of the calling process, which does not count */
	uint64_t born_ticks;
	uint64_t t0_ns, t1_ns; /* from the start of the first scan to the end of the second */
	uint64_t cpu_us;
	uint64_t top_count;
	struct nl_process_use top[NL_TOP_PROCESSES]; /* those that used most */
};

/* Growth of a driver's own counters of drops, errors and pause frames. */
#define NL_CARD_NAME 33
#define NL_CARD_COUNTERS 32

struct nl_card_counter {
	char name[NL_CARD_NAME];
	uint64_t grown;
};

struct nl_card {
	uint64_t known; /* 0: the driver has no such counters */
	uint64_t count;
	struct nl_card_counter counter[NL_CARD_COUNTERS]; /* those that grew most, largest first */
};

/* -- runs ------------------------------------------------------------------- */

enum nl_status {
	NL_STATUS_OK = 0,
	NL_STATUS_STOPPED = 1,
	NL_STATUS_TIMEOUT = 2, /* streams did not arrive or drain in time */
	NL_STATUS_ERROR = 3,
};

/* TCP_INFO. Fields that this kernel lacks are 0. */
struct nl_tcp {
	uint64_t rtt_us, rttvar_us, min_rtt_us;
	uint64_t cwnd_segments, ssthresh_segments;
	uint64_t mss_B, rcv_mss_B, pmtu_B;
	uint64_t retransmits, lost, reordering;
	uint64_t busy_us, rwnd_limited_us, sndbuf_limited_us;
	uint64_t bytes_acked, bytes_received, bytes_sent, bytes_retransmitted;
	uint64_t segs_out, segs_in, delivered_ce;
	uint64_t delivery_rate_Bps, rcv_space_B;
	uint64_t notsent_B;     /* given to send(), and not sent yet */
	uint64_t peer_window_B; /* as last advertised by the peer; Linux 5.4 */
	uint64_t snd_wscale, rcv_wscale; /* shifts of the peer's window and of the own one */
	uint64_t options; /* bits of linux/tcp.h TCPI_OPT_* */
};

/* The datagrams of a stream of a UDP run, over the whole run. */
struct nl_udp {
	uint64_t sent; /* of a sink, as the gen says at its end */
	uint64_t skipped; /* gen: due, but its thread was too late or the send buffer full */
	/* sink: */
	uint64_t received, lost; /* their sum is sent */
	uint64_t reordered, duplicates;
	uint64_t invalid;            /* not of this stream, or too late to be told from a duplicate */
	uint64_t bursts, burst_max;  /* runs of consecutive losses, and the longest */
	uint64_t jitter_ns;          /* RFC 3550, mean of its estimates */
	uint64_t socket_drops;       /* the receive buffer was full */
};

struct nl_stream_report {
	uint32_t stream;
	int32_t errnum; /* errno that ended the stream, or 0 */
	uint64_t bytes, window_bytes;
	uint64_t calls; /* send or recv calls that moved bytes */
	/* gen: before its first send, after its last; sink: first bytes read, end of stream. 0:
	 * never */
	uint64_t t_first_ns, t_end_ns;
	uint64_t t_last_ns; /* after the call that moved the last bytes; 0 in a timed run */
	uint64_t sndbuf_start_B, rcvbuf_start_B; /* effective, from getsockopt, at the start */
	uint64_t sndbuf_B, rcvbuf_B;             /* the same at the end: the kernel may size them */
	uint64_t pacing_Bps, dscp, mss_B, nodelay, busy_poll_us; /* effective, at the start */
	int32_t cpu, incoming_cpu; /* the thread's, -1: not pinned; the last packet's */
	uint32_t moves;            /* moves of the thread to the CPU of its packets */
	uint32_t napi_id;          /* receive queue of the last packet; 0: unknown */
	uint64_t has_tcp, has_tcp_t1, has_udp;
	struct nl_tcp tcp;    /* after the end of data, before close */
	struct nl_tcp tcp_t1; /* timed gen: at the end of the window */
	struct nl_udp udp;
	/* gen: at go, at the start of the window, in the last sample, and the most of all samples */
	uint64_t cwnd_start_segments, cwnd_t0_segments, cwnd_segments, cwnd_max_segments;
	/* gen: time of the window between readings of TCP_INFO, and the parts of it that ended with nothing
	 * to send, or with a peer's window below a quarter of its largest so far. A time with nothing sent or
	 * queued counts as idle however it ended. */
	uint64_t sampled_us, idle_us, closed_us;
	uint64_t last_sample_ns, last_busy_us, peer_window_max_B; /* of the readings so far */
	char congestion[NL_NAME_MAX];
};

struct nl_rejected {
	uint64_t too_short, magic, version, run, stream, token, twice, late;
	uint64_t address; /* not the one of opts.from */
	uint64_t evicted; /* made way for a newer connection */
	uint64_t datagrams; /* of a UDP run, from elsewhere than its streams */
};

/* Behaviour of a run's threads. The rules of `auto` are in PROTOCOL.md; `plain` has none of it. */
struct nl_policy {
	uint64_t batch_B;    /* of a stream in a set before the next one; UINT64_MAX: no limit */
	uint64_t yield_B;    /* a gen's thread yields its CPU after it; UINT64_MAX: never */
	int32_t read_delay;  /* the sink may sleep between reads */
	int32_t sched_batch; /* SCHED_BATCH instead of SCHED_OTHER */
	int32_t spread;      /* each thread is pinned to a CPU of its own */
	int32_t spread_errno; /* of the kernel that refused to pin, where no option asked for it; 0 */
};

/* The latency probe: a gen sends questions beside its streams, which the sink answers. */
#define NL_PROBES_MAX 262144
#define NL_PROBE_UDP 1
#define NL_PROBE_TCP 2
#define NL_PROBE_LOST_NS 1000000000

struct nl_probe_row {
	uint64_t t_ns;        /* when it was sent */
	uint64_t arrived_ns;  /* when it reached the sink, by the sink's clock */
	uint32_t rtt_us;      /* less the time at the sink; UINT32_MAX: no answer within NL_PROBE_LOST_NS */
	uint16_t reordered;   /* 1: its answer came after that of a later probe */
	uint16_t duplicates;  /* further answers */
};

struct nl_latency {
	uint64_t interval_ms; /* 0: no probe */
	/* gen: the idle phase ends, and the phase after the streams begins; 0: never */
	uint64_t t_idle_end_ns, t_after_ns;
	struct nl_probe_row *row; /* gen: [count], in the order of sending */
	uint64_t count;           /* gen: sent; sink: answered */
	uint64_t foreign;         /* datagrams from other addresses; no answer */
	uint64_t invalid;         /* others that are not of this run, or answers to nothing sent; no answer */
	uint64_t dropped;         /* datagrams that the kernel dropped: not probes of this run, or no room */
	uint64_t clock_steps;     /* CLOCK_REALTIME was set; a probe within 1 s after it has no RTT */
};

struct nl_report {
	int32_t role, status;
	struct nl_err err; /* the reason, unless the status is ok */
	uint64_t run, streams, accepted;
	struct nl_rejected rejected;
	char engine[NL_NAME_MAX], method[NL_NAME_MAX]; /* in use, as option words */
	uint64_t threads;                              /* worker threads */
	struct nl_policy policy;                       /* how the threads behave */
	/* gen, zerocopy: completed bytes, and of these copied */
	uint64_t completed_bytes, copied_bytes;
	uint64_t mapped_bytes;     /* sink, zerocopy: not copied */
	uint64_t watch_cpu_ns;     /* CPU time of the thread that takes samples and meters */
	uint64_t watch_late_ns;    /* the most that it acted after a time it was due at */
	uint64_t waited_ns;        /* all worker threads: runnable, but without a CPU */
	uint64_t t_go_ns; /* 0: never released */
	uint64_t t_let_go_ns; /* gen: when every stream had received its G */
	/* Least t_first_ns and greatest t_last_ns of the streams; t_end_ns in a timed run. A
	 * transfer of fixed size lasts from the gen's first to the sink's last byte. */
	uint64_t t_first_byte_ns, t_last_byte_ns;
	uint64_t window_t0_ns, window_t1_ns, window_bytes;
	uint64_t total_bytes, interval_sum_bytes;
	struct nl_stream_report *per_stream; /* [streams] */

	/* Cumulative byte counts: stream i at sample_t_ns[k] has sample_bytes[k * streams + i], k <
	 * sample_count. */
	uint64_t sample_count, sample_capacity;
	uint64_t interval_ms; /* larger than requested if samples were dropped */
	uint64_t *sample_t_ns, *sample_bytes;
	/* The same layout; NULL without the option trace. */
	uint32_t *trace_rtt_us, *trace_cwnd_segments, *trace_retransmits;

	uint64_t has_meter;
	struct nl_meter_span meter_window, meter_total;
	struct nl_others others; /* from before the warm-up to after the window */
	struct nl_card card;     /* of the metered interface, the same time */
	struct nl_latency latency[2]; /* datagrams, TCP */
};

struct nl_run; /* one sink or gen */

/* Check the options, allocate everything for the run and, for a sink, listen. The caller owns *out
 * and frees it with nl_run_free. */
NL_API int nl_run_open(const struct nl_run_opts *opts, struct nl_run **out, struct nl_err *err);

/* The port a sink listens on. */
NL_API uint32_t nl_run_port(const struct nl_run *run);

/* Execute the run, once; blocks until it ends. NL_OK whenever there is a report, whatever its
 * status; a code if a gen was never released. */
NL_API int nl_run_execute(struct nl_run *run, struct nl_err *err);

/* End the run early; any thread, any time between open and free; returns at once. */
NL_API void nl_run_stop(struct nl_run *run);

/* Bytes so far, and the time; any thread, any time between open and free. */
NL_API uint64_t nl_run_progress(const struct nl_run *run, uint64_t *t_ns);

/* Owned by the run; valid from the return of nl_run_execute to nl_run_free. */
NL_API const struct nl_report *nl_run_report(const struct nl_run *run);

/* Not while another thread is in nl_run_execute. NULL is allowed. */
NL_API void nl_run_free(struct nl_run *run);

/* -- ceilings --------------------------------------------------------------- */

struct nl_copy_report {
	uint64_t hot_Bps;  /* source and target in cache */
	uint64_t cold_Bps; /* both far larger than the cache */
};

/* Memory copy rate of one thread, per second of its CPU time; takes about budget_ms of that. */
NL_API int nl_copy_rate(uint64_t budget_ms, struct nl_copy_report *out, struct nl_err *err);

/* cffi: end */
