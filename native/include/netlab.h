/* netlab.h: the public face of the netlab core.
 *
 * The library moves bytes memory to memory over parallel TCP streams, counts
 * them, and reads the host's own counters beside them. It never exits, prints or
 * keeps globals. The process must ignore SIGPIPE only for its own descriptors:
 * the library's sends never raise it.
 *
 * Units are in the names: _ns _us _ms _B (a size) _bytes (a count). All times are
 * CLOCK_MONOTONIC of this host.
 *
 * Failure: every function that can fail returns an nl_code and, when it is not
 * NL_OK, fills *err. Outputs are then untouched.
 *
 * What the byte counts of one stream bound, at a clean end (the hello is
 * NL_HELLO_B bytes; SYN and FIN each take one place in sequence space):
 *   gen  bytes + NL_HELLO_B <= bytes_acked    <= bytes + NL_HELLO_B + 2
 *   sink bytes + NL_HELLO_B <= bytes_received <= bytes + NL_HELLO_B + 1
 *
 * The part between the two cffi marks is also what Python sees; it is cut from
 * this file by cmake/binding.py, so it holds plain declarations only. */
#ifndef NETLAB_H
#define NETLAB_H

#include <stddef.h>
#include <stdint.h>

#define NL_API __attribute__((visibility("default")))

/* cffi: begin */

enum nl_code {
	NL_OK = 0,
	NL_BAD_REQUEST = 1, /* an option is unknown, missing or out of range; err.key names it */
	NL_IN_USE = 2,      /* an address is taken */
	NL_REFUSED = 3,     /* the kernel said no; err.message names the call and errno */
	NL_PEER = 4,        /* a peer spoke nonsense or vanished */
	NL_TIMEOUT = 5,
	NL_LIMIT = 6, /* files, memory, threads */
	NL_INTERNAL = 7,
};

enum {
	NL_MESSAGE_MAX = 256,
	NL_NAME_MAX = 32, /* option keys, congestion control and interface names */
	NL_ADDRESS_MAX = 64,
	NL_LIST_MAX = 256, /* a list of names or CPUs, as text */
	NL_CONGESTIONS_MAX = 8,
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

/* "bad_request", "in_use", ...: the word for a code on the wire. Static storage. */
NL_API const char *nl_code_name(int code);

NL_API const char *nl_version(void);       /* static storage */
NL_API const char *nl_source_digest(void); /* sha256 of the sources, hex; static storage */
NL_API uint64_t nl_now_ns(void);           /* CLOCK_MONOTONIC */

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
	NL_KIND_WORD = 4,      /* up to 8 congestion controls with commas, `-` for the host's own */
	NL_KIND_INTERFACE = 5, /* an interface name */
	NL_KIND_CPUS = 6,      /* numbers and ranges with commas; empty: none */
	NL_KIND_ENGINE = 7,    /* a word of enum nl_engine_word */
	NL_KIND_SEND = 8,      /* a word of enum nl_send_word */
	NL_KIND_RECEIVE = 9,   /* a word of enum nl_receive_word */
};

enum nl_engine_word {
	NL_ENGINE_AUTO = 0,     /* blocking for few streams, epoll for many */
	NL_ENGINE_BLOCKING = 1, /* a thread a stream */
	NL_ENGINE_EPOLL = 2,    /* a set per thread, streams spread over the threads */
	NL_ENGINE_URING = 3,    /* io_uring, a ring per thread; send copy or zerocopy, receive copy
				 * or discard */
};

enum nl_send_word {
	NL_SEND_COPY = 0,
	NL_SEND_ZEROCOPY = 1, /* MSG_ZEROCOPY: the kernel copies only where it has to */
	NL_SEND_SENDFILE = 2, /* from a file in memory */
	NL_SEND_SPLICE = 3,   /* pages through a pipe */
};

enum nl_receive_word {
	NL_RECEIVE_COPY = 0,
	NL_RECEIVE_DISCARD = 1,  /* MSG_TRUNC: the kernel drops the bytes */
	NL_RECEIVE_SPLICE = 2,   /* through a pipe to /dev/null */
	NL_RECEIVE_ZEROCOPY = 3, /* TCP_ZEROCOPY_RECEIVE: pages are mapped, the rest is copied */
};

struct nl_option {
	const char *name;
	const char *initial; /* the default as text; NULL: none */
	const char *help;
	uint32_t kind;     /* enum nl_option_kind */
	uint32_t roles;    /* NL_SINK | NL_GEN */
	uint32_t required; /* roles whose agent request must name it */
	uint64_t min, max; /* of NL_KIND_COUNT and NL_KIND_FLAG */
	size_t offset;     /* in struct nl_run_opts */
};

struct nl_run_opts {
	uint64_t role; /* enum nl_role, one of them */
	uint64_t run;
	uint64_t port; /* sink: 0 lets the kernel choose */
	uint64_t streams;
	uint64_t record_B;
	uint64_t buffer_B; /* 0 leaves the kernel's own */
	uint64_t force_buffer;
	uint64_t warmup_ms;
	uint64_t window_ms; /* 0: until the streams end */
	uint64_t tail_ms;
	uint64_t bytes; /* gen: per stream, exact; 0 for a timed run */
	uint64_t interval_ms;
	uint64_t accept_ms; /* sink: for all streams to arrive */
	uint64_t connect_ms; /* gen: for all streams to connect and be let go */
	uint64_t drain_ms;
	uint64_t trace;
	uint64_t follow_incoming_cpu; /* keep each thread where its packets come in */
	uint64_t pacing_Bps;          /* gen: of each stream; 0: as fast as it goes */
	uint64_t dscp, mss_B, nodelay, busy_poll_us; /* 0 leaves the kernel's own */
	uint64_t engine;  /* enum nl_engine_word */
	uint64_t threads; /* epoll and uring: 0 is one a CPU that is online */
	uint64_t send;    /* gen: enum nl_send_word */
	uint64_t receive; /* sink: enum nl_receive_word */
	char address[NL_ADDRESS_MAX]; /* sink: bound; gen: connected to */
	char from[NL_ADDRESS_MAX];    /* of the gen. gen: bound; sink: required of peers; empty: any */
	char congestion[NL_LIST_MAX]; /* stream i takes item i mod n of the list */
	char cpus[NL_LIST_MAX];       /* the threads take them in turn; empty: the scheduler's */
	char interface[NL_NAME_MAX]; /* empty: none is metered */
	uint8_t token[NL_TOKEN_B];
};

/* The table; *count rows in static storage. */
NL_API const struct nl_option *nl_options(size_t *count);

/* Every option of the role at its default. */
NL_API void nl_run_opts_init(struct nl_run_opts *opts, int role);

/* Set one option from text. */
NL_API int nl_run_opts_set(struct nl_run_opts *opts, const char *name, const char *text,
			   struct nl_err *err);

/* What single options cannot tell: bytes and window_ms exclude each other, sizes fit together. */
NL_API int nl_run_opts_check(const struct nl_run_opts *opts, struct nl_err *err);

/* -- the meter: the host's own counters ------------------------------------- */

struct nl_cpu {
	uint64_t cpu;
	uint64_t user_us, nice_us, system_us, idle_us, iowait_us, irq_us, softirq_us, steal_us;
};

struct nl_interface {
	uint64_t rx_bytes, tx_bytes, rx_packets, tx_packets;
	uint64_t rx_errors, tx_errors, rx_dropped, tx_dropped;
};

/* Differences of CLOCK_REALTIME, CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW. */
struct nl_clocks {
	int64_t realtime_ahead_ns; /* of CLOCK_MONOTONIC */
	int64_t raw_behind_ns;     /* CLOCK_MONOTONIC_RAW, behind CLOCK_MONOTONIC */
	uint64_t unsure_ns;        /* what reading them one after the other took */
};

/* Counters as the kernel has them now. Between two snapshots of a run they are looked at every
 * 250 ms: interface then has no wraps in it, and the rest of what was seen stands beside it. */
struct nl_meter {
	uint64_t t_ns;
	struct nl_clocks clocks;
	uint32_t clock_steps;  /* how often CLOCK_REALTIME was set so far */
	uint32_t wraps, resets; /* of the interface's counters so far */
	int64_t clock_step_ns; /* the largest step */
	char name[NL_NAME_MAX]; /* of the interface; empty: none */
	int32_t ifindex;        /* 0: the interface is gone */
	uint32_t softnet_processed, softnet_dropped, softnet_time_squeeze; /* wrap, as the kernel's do */
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
	uint32_t reset; /* an interface counter went backwards, or the interface was replaced */
	uint32_t wraps; /* counters of 32 bits that went past 2^32 and were put right */
	uint32_t clock_steps;     /* CLOCK_REALTIME was set by more than 1 ms */
	int64_t clock_step_ns;    /* the largest of these steps, forward or back */
	int64_t clock_drift_ns;   /* CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW */
	uint64_t clock_unsure_ns; /* of the drift, either way */
	struct nl_interface interface;
	uint64_t interrupts, context_switches;
	uint64_t softnet_processed, softnet_dropped, softnet_time_squeeze;
	uint64_t process_user_us, process_system_us;
	uint64_t cpus;
	struct nl_cpu cpu[NL_CPUS_MAX];
};

/* Read all counters; interface NULL or empty: none. An unknown interface is NL_BAD_REQUEST. */
NL_API int nl_meter_read(const char *interface, struct nl_meter *out, struct nl_err *err);
NL_API void nl_meter_diff(const struct nl_meter *before, const struct nl_meter *after,
			  struct nl_meter_span *out);

/* -- runs ------------------------------------------------------------------- */

enum nl_status {
	NL_STATUS_OK = 0,
	NL_STATUS_STOPPED = 1,
	NL_STATUS_TIMEOUT = 2, /* streams did not arrive, or did not drain, in time */
	NL_STATUS_ERROR = 3,
};

/* TCP_INFO. A field this kernel does not have is 0. */
struct nl_tcp {
	uint64_t rtt_us, rttvar_us, min_rtt_us;
	uint64_t cwnd_segments, ssthresh_segments;
	uint64_t mss_B, rcv_mss_B;
	uint64_t retransmits, lost, reordering;
	uint64_t busy_us, rwnd_limited_us, sndbuf_limited_us;
	uint64_t bytes_acked, bytes_received, bytes_sent, bytes_retransmitted;
	uint64_t segs_out, segs_in;
	uint64_t delivery_rate_Bps, rcv_space_B;
	uint64_t options; /* bits of linux/tcp.h TCPI_OPT_* */
};

struct nl_stream_report {
	uint32_t stream;
	int32_t errnum; /* errno that ended the stream, or 0 */
	uint64_t bytes, window_bytes;
	uint64_t calls; /* send or recv calls that moved bytes */
	/* gen: before its first send, after its last; sink: first bytes read, end of stream seen.
	 * 0: never */
	uint64_t t_first_ns, t_end_ns;
	uint64_t t_last_ns; /* after the call that moved the last bytes; 0 in a timed run */
	uint64_t sndbuf_B, rcvbuf_B;   /* effective, as getsockopt tells */
	uint64_t pacing_Bps, dscp, mss_B, nodelay, busy_poll_us; /* the same, at the start */
	int32_t cpu, incoming_cpu; /* of the thread, -1: not held to one; of the last packet */
	uint32_t moves;            /* how often the thread was moved after its packets */
	uint64_t has_tcp, has_tcp_t1;
	struct nl_tcp tcp;    /* when data had ended, before close */
	struct nl_tcp tcp_t1; /* timed gen: at the end of the window */
	char congestion[NL_NAME_MAX];
};

struct nl_rejected {
	uint64_t too_short, magic, version, run, stream, token, twice, late;
	uint64_t address; /* not the one of opts.from */
	uint64_t evicted; /* made way for a newer connection */
};

struct nl_report {
	int32_t role, status;
	struct nl_err err; /* why the status is not ok */
	uint64_t run, streams, accepted;
	struct nl_rejected rejected;
	char engine[NL_NAME_MAX], method[NL_NAME_MAX]; /* used: words of engine, and of send or receive */
	uint64_t threads;                              /* that moved bytes */
	/* gen, zerocopy: bytes whose completion the kernel told, and of these copied after all */
	uint64_t completed_bytes, copied_bytes;
	uint64_t mapped_bytes;     /* sink, zerocopy: not copied */
	uint64_t watch_cpu_ns;     /* CPU time of the thread that took samples and meters */
	uint64_t t_go_ns; /* 0: never let go */
	uint64_t t_let_go_ns; /* gen: every stream had heard that it may go */
	/* Least t_first_ns, greatest t_last_ns of the streams; a timed run takes t_end_ns. What a
	 * transfer of known size took lies between the gen's first and the sink's last byte. */
	uint64_t t_first_byte_ns, t_last_byte_ns;
	uint64_t window_t0_ns, window_t1_ns, window_bytes;
	uint64_t total_bytes, interval_sum_bytes;
	struct nl_stream_report *per_stream; /* [streams] */

	/* Growing byte counts: bytes of stream i at sample_t_ns[k] is
	 * sample_bytes[i * sample_capacity + k], k < sample_count. */
	uint64_t sample_count, sample_capacity;
	uint64_t interval_ms; /* wider than asked when a run without end outgrew its samples */
	uint64_t *sample_t_ns, *sample_bytes;
	/* The same layout; NULL unless trace was asked for. */
	uint32_t *trace_rtt_us, *trace_cwnd_segments, *trace_retransmits;

	uint64_t has_meter;
	struct nl_meter_span meter_window, meter_total;
};

struct nl_run; /* one sink or gen */

/* Check the options, allocate everything the run will need and, for a sink, listen.
 * The caller owns *out and frees it with nl_run_free. */
NL_API int nl_run_open(const struct nl_run_opts *opts, struct nl_run **out, struct nl_err *err);

/* The port a sink listens on. */
NL_API uint32_t nl_run_port(const struct nl_run *run);

/* Do the run: blocks until it is over; once per run. NL_OK whenever there is a
 * report, whatever its status; a code when a gen was never let go. */
NL_API int nl_run_execute(struct nl_run *run, struct nl_err *err);

/* End it early; any thread, any time between open and free; returns at once. */
NL_API void nl_run_stop(struct nl_run *run);

/* Bytes so far and when; any thread, any time between open and free. */
NL_API uint64_t nl_run_progress(const struct nl_run *run, uint64_t *t_ns);

/* Valid from the return of nl_run_execute to nl_run_free, owned by the run. */
NL_API const struct nl_report *nl_run_report(const struct nl_run *run);

/* Not while another thread is inside nl_run_execute. NULL is nothing. */
NL_API void nl_run_free(struct nl_run *run);

/* -- ceilings --------------------------------------------------------------- */

struct nl_copy_report {
	uint64_t hot_Bps;  /* source and target in cache */
	uint64_t cold_Bps; /* both far larger than the cache */
};

/* How fast one thread copies memory; takes about budget_ms. */
NL_API int nl_copy_rate(uint64_t budget_ms, struct nl_copy_report *out, struct nl_err *err);

/* cffi: end */

#endif
