"""Columns of each table: names, types, units and meanings."""

from __future__ import annotations

import re
from dataclasses import dataclass

SCHEMA_VERSION = 10

READABLE_VERSIONS = (2, 3, 4, 5, 6, 7, 8, 9, SCHEMA_VERSION)
"""An older file lacks only nullable columns, and has other names for :data:`RENAMED`."""

RENAMED = {"repeat": "round"}
"""Columns of older files by their names today."""

FURTHER_SENDER = "from "
"""Start of a further sender's name in ``policy``, where the ends are *sender* and *receiver*."""


@dataclass(frozen=True)
class Column:
    """One column of a table: pandas dtype, unit, meaning, and whether values may be missing.

    ``default`` stands where a record or an older file lacks the column.
    """

    name: str
    dtype: str
    unit: str
    meaning: str
    nullable: bool = False
    default: str | None = None


def _columns(table: str) -> tuple[Column, ...]:
    """Columns of a text with a line each: name, type, unit and meaning.

    A type ends in ``?`` if values may be missing, in ``=`` if an empty text stands for them.
    """
    columns = []
    for text in re.split(r"\n {4}(?=\S)", table.rstrip())[1:]:
        name, dtype, unit, *words = text.split()
        columns.append(
            Column(
                name,
                {"time": "datetime64[ns, UTC]"}.get(dtype, dtype.rstrip("?=")),
                "" if unit == "-" else unit,
                " ".join(words),
                nullable=dtype.endswith("?"),
                default="" if dtype.endswith("=") else None,
            )
        )
    return tuple(columns)


RUN_COLUMNS = _columns("""
    schema_version           int64     -     version of this schema
    study                    string    -     name of the study
    study_digest             string    -     SHA-256 of the study's content
    provenance_key           string    -     digest of all settings of the run; a run with the same
                                             one is not repeated
    campaign                 string?   -     campaign that measured it; missing if imported
    run_id                   string    -     readable id: block, group, streams and round
    block_id                 string    -     path, tuning, MTU, and factors that are set between
                                             blocks
    order                    int64     -     position in the study's randomised order, from 0
    group                    string    -     group of the study (one table of the report)
    table                    Int64?    -     table number in the source report
    path                     string    -     path of the study
    sender                   string    -     sending host (of the forward direction); of several
                                             that of the group, the others are in flows
    receiver                 string    -     receiving host (of the forward direction)
    direction                string    -     -> or <->
    tuning                   string    -     tuning as a factor level
    mtu_B                    int64     B     MTU of the hosts' interfaces; packet_B has the path's
    streams                  int64     -     TCP streams or flows of UDP in each direction
    factors                  string=   -     JSON: further factors of the study and their levels;
                                             empty without any
    round                    int64     -     round of the schedule, from 1
    seed                     int64     -     seed of the study
    record_length_B          int64     B     bytes of one send() or recv(); of UDP, of a datagram
    buffer_B                 int64     B     requested socket buffer; 0: none, the kernel sizes it
    buffer_clamp_sender_B    Int64?    B     limit of the send buffer by the tuning's wmem_max,
                                             applied to the socket
    buffer_clamp_receiver_B  Int64?    B     limit of the receive buffer by the tuning's rmem_max,
                                             applied to the socket
    receive_buffer_B         Int64?    B     requested socket buffer of the receiver, if it differs
    congestion               string    -     congestion control, by its name in the study; of a
                                             host as found, in the kernel
    congestion_source        string?   -     source of the congestion control: kernel, module or
                                             BPF, with version
    flows                    string=   -     JSON: number, congestion control, pace, RTT, links,
                                             host and times of flows that are unequal, dealt to the
                                             streams in turn; empty without any
    generator                string    -     program that sent and received: netlab or another
                                             tool; of datagrams udp, or of an imported run TOOL-udp
    generator_version        string?   -     version of the other tool at both ends
    records                  Int64?    -     records sent on each stream, if the run has an amount
                                             in place of a duration
    engine                   string    -     method of sender and receiver, e.g.
                                             blocking:copy/epoll:discard
    policy                   string?   -     JSON: batch, yield threshold, read delay, scheduling
                                             and placement of both ends, and of each further
                                             sender (from HOST)
    started_at               time      -     start of the run
    wall_s                   float64   s     wall time of the run, from request to result
    overhead_s               float64   s     wall time less warm-up and window
    warmup_s                 float64   s     duration of the warm-up, before the window
    warmup_rule              string?   -     stated by the study, a number of RTTs, or the default
                                             of a short path
    window_s                 float64?  s     window at the sink; of an amount, first byte sent to
                                             last read; mean of directions
    window_error_s           float64?  s     error bound of window_s for an amount timed on two
                                             clocks
    goodput_MBps             float64?  MB/s  payload received per second, sum of directions
    goodput_forward_MBps     float64?  MB/s  goodput from sender to receiver
    goodput_reverse_MBps     float64?  MB/s  goodput from receiver to sender; missing for ->
    rate_variation_percent   float64?  %     standard deviation of the goodput over ten equal parts
                                             of the window, of their mean; the larger direction's
    burst_MBps               float64?  MB/s  goodput before the step of an unsteady run
    burst_s                  float64?  s     time of that step since the start of the window
    sustained_MBps           float64?  MB/s  goodput after it, sum of directions
    sent_MBps                float64?  MB/s  instead of goodput, where only the sender of a
                                             direction counted: sum of directions
    sent_B                   Int64?    B     bytes given to send(), whole run, all directions
    received_B               Int64?    B     bytes the sinks read, whole run
    interval_sum_B           Int64?    B     sum of the interval samples, whole run
    cross_udp_Mbps           float64?  Mb/s  UDP beside the streams, payload, as asked for; 0:
                                             none
    cross_udp_B              Int64?    B     payload of each of its datagrams
    cross_goodput_MBps       float64?  MB/s  goodput of UDP beside the streams, in their window
    cross_sent_datagrams     Int64?    -     datagrams sent beside the streams, whole run
    cross_lost_percent       float64?  %     of these, sent and not received
    zerocopy_copied_B        Int64?    B     bytes of `send: zerocopy` that the senders' kernels
                                             copied all the same, as they report it, whole run
    acked_B                  Int64?    B     TCP_INFO bytes_acked, whole run
    tcp_received_B           Int64?    B     TCP_INFO bytes_received, whole run
    window_B                 Int64?    B     bytes the sinks read within the window
    jain_index               float64?  -     Jain's index of the bytes of each stream within the
                                             window, while all flows are on: 1 for equal shares;
                                             the lower of directions, or of two links
    silent_streams           Int64?    -     streams without a byte within the window, while all
                                             flows are on, all directions
    interface_tx_B           Int64?    B     sum of both ends' interface tx bytes, whole run
    interface_rx_B           Int64?    B     sum of both ends' interface rx bytes, whole run
    counter_wraps            Int64?    -     wraps of 32-bit interface counters, corrected
    ledger_error_B           Int64?    B     largest difference of counts that must be equal
    header_share             float64?  1     interface rx bytes over payload less 1, whole run
    rtt_us                   float64?  us    smoothed RTT at the sender, mean of streams
    min_rtt_us               float64?  us    minimum RTT at the sender, minimum of streams
    rtt_idle_p50_us          float64?  us    median RTT of the latency probe before the streams
    rtt_loaded_p50_us        float64?  us    median RTT of the latency probe within the window
    rtt_loaded_p90_us        float64?  us    90th percentile of the same
    rtt_loaded_p99_us        float64?  us    99th percentile of the same
    rtt_loaded_max_us        float64?  us    largest of the same
    rtt_loaded_hdr           string?   -     all RTTs of the latency probe within the window, us, as
                                             an HDR histogram (compressed, base64)
    rtt_after_p50_us         float64?  us    median RTT of the latency probe after the streams
    added_latency_us         float64?  us    rtt_loaded_p50_us less rtt_idle_p50_us
    added_forward_us         float64?  us    median time from the probing sender to the receiver,
                                             within the window less before
    added_return_us          float64?  us    the same on the way back
    one_way_error_us         float64?  us    error of both: halves of what the median RTTs before
                                             and after exceed the smallest
    responsiveness_rpm       float64?  1/min round trips a minute: 60 s over the mean RTT of the
                                             latency probe within the window
    probe_loss_percent       float64?  %     probes of the window without an answer within 1 s;
                                             missing if the clock was set
    probe_reordered          Int64?    -     probes of the window whose answer came after a later
                                             one's
    tcp_rtt_idle_p50_us      float64?  us    median RTT of the latency probe over TCP before the
                                             streams
    tcp_rtt_loaded_p50_us    float64?  us    median RTT of the same within the window
    tcp_rtt_loaded_p99_us    float64?  us    99th percentile of the same
    tcp_rtt_loaded_hdr       string?   -     all of the same, as rtt_loaded_hdr
    sent_datagrams           Int64?    -     datagrams sent, whole run, all directions
    skipped_datagrams        Int64?    -     datagrams due that the sender could not send in time
    received_datagrams       Int64?    -     datagrams received, each once, whole run
    lost_percent             float64?  %     datagrams sent and not received, whole run
    reordered                Int64?    -     datagrams received after a later one
    duplicates               Int64?    -     further copies of received datagrams
    jitter_us                float64?  us    interarrival jitter of RFC 3550, mean of its estimates
                                             and of streams
    socket_drops             Int64?    -     datagrams that the full buffer of the receiver's socket
                                             dropped
    loss_burst_mean          float64?  -     consecutive datagrams lost at a time, mean
    loss_burst_max           Int64?    -     consecutive datagrams lost at a time, the most
    cwnd_segments            float64?  -     congestion window at the end, mean of streams
    cwnd_start_segments      float64?  -     congestion window at the start, likewise
    cwnd_t0_segments         float64?  -     congestion window as the window begins, likewise
    cwnd_max_segments        float64?  -     largest congestion window sampled, likewise
    congestion_in_force      string?   -     congestion control of the senders' sockets, by its
                                             name in the kernel
    window_scale             Int64?    -     shift of the receiver's window, the least of streams
    mss_B                    float64?  B     sender's maximum segment size, mean of streams
    packet_B                 Int64?    B     full packet of the senders at the end, from their MSS
                                             and the MTU of their path; the least of streams
    retransmits              Int64?    -     retransmitted segments, all streams
    delivered_ce             Int64?    -     segments acknowledged with a mark of congestion (ECN),
                                             as the senders' kernels count them, all streams
    busy_share               float64?  1     share of time with data in flight or waiting, mean of
                                             streams
    rwnd_limited_share       float64?  1     share of the busy time limited by the receiver's
                                             window
    sndbuf_limited_share     float64?  1     share of the busy time limited by the send buffer
    idle_share               float64?  1     share of the window in which nothing waited to be sent,
                                             mean of streams: a slow program, or a small send
                                             buffer of which all is in flight
    closed_share             float64?  1     share of the window in which the receiver advertised
                                             less than a quarter of its largest window, likewise; 0
                                             before Linux 5.4
    sender_waited_share      float64?  1     share of the run that the sender's threads waited for a
                                             CPU
    receiver_waited_share    float64?  1     the same of the receiver's
    sndbuf_start_B           float64?  B     SO_SNDBUF at the sender, before the first byte
    rcvbuf_start_B           float64?  B     SO_RCVBUF at the receiver, before the first byte
    sndbuf_B                 float64?  B     SO_SNDBUF at the sender, at the end
    rcvbuf_B                 float64?  B     SO_RCVBUF at the receiver, at the end
    sender_cpu_percent       float64?  %     busy share of the sending machine's cores; of several
                                             the busiest one's
    receiver_cpu_percent     float64?  %     busy share of the receiving machine's cores
    sender_softirq_percent   float64?  %     softirq share of the sending machine's cores
    receiver_softirq_percent float64?  %     softirq share of the receiving machine's cores
    busiest_core_percent     float64?  %     busy share of the busiest core of either machine
    steal_percent            float64?  %     steal share of all cores, larger of machines
    foreign_cpu_percent      float64?  %     CPU time of other processes, larger of machines
    foreign_traffic_percent  float64?  %     bytes or packets of others on a data interface, of the
                                             run's own, the largest share
    throttle_events          Int64?    -     thermal throttling events of the CPU that had most,
                                             whole run; missing if not counted
    cpu_frequency_percent    float64?  %     change of frequency over the window, of the busy CPU
                                             that slowed most
    agent_cpu_s              float64?  s     CPU time of both agents or tools, whole run
    interface_drops          Int64?    -     rx and tx drops of both interfaces, whole run
    softnet_drops            Int64?    -     packets dropped by the softnet backlog, both machines
    card_counters            string?   -     JSON: end -> drop, error and pause counters of its
                                             card that grew, whole run
    receive_cpus             Int64?    -     CPUs that processed the received packets, as of the
                                             end; of the end with fewer
    receive_queues           Int64?    -     receive queues of the streams, likewise, if numbered
    streams_per_queue        Int64?    -     most streams whose packets came from one receive queue
    interrupts_per_s         float64?  1/s   interrupts of both machines, in the window
    context_switches_per_s   float64?  1/s   context switches of both machines, in the window
    bus_MBps                 float64?  MB/s  bandwidth of the slower host's bus; doubled for <-> if
                                             each direction has it all
    bus_shared               boolean?  -     true if both directions share the bus
    link_MBps                float64?  MB/s  link rate with headers, if known; of flows that pass
                                             one of two links alone the sum of the links, less what
                                             flows over both have
    pacing_MBps              float64?  MB/s  pacing rate of payload, sum of streams, as read back
    ceiling_MBps             float64?  MB/s  maximum payload rate of the path
    ceiling_kind             string?   -     bus, link or memory
    ceiling_source           string=   -     name of the ceiling and who states it
    percent_of_bus           float64?  %     goodput over bus_MBps
    percent_of_ceiling       float64?  %     goodput over ceiling_MBps
    ping_min_ms              float64?  ms    minimum of five pings before the block, or of those
                                             beside an imported run
    ping_avg_ms              float64?  ms    mean of five pings before the block, or of those
                                             beside an imported run
    ping_max_ms              float64?  ms    maximum of five pings before the block, or of those
                                             beside an imported run
    ping_mdev_ms             float64?  ms    deviation of five pings before the block, or of those
                                             beside an imported run
    ping_loss_percent        float64?  %     loss of five pings before the block
    path_rtt_us              float64?  us    round-trip time configured in the emulator; the
                                             longest of flows that have their own
    path_packets             Int64?    -     packets that reached the emulator, both directions
    path_B                   Int64?    B     IP bytes that reached the emulator, both directions
    path_drops               Int64?    -     packets that the emulator dropped, for any reason
    path_datagram_drops      Int64?    -     datagrams that the emulator dropped, for any reason
    path_queue_drops         Int64?    -     packets that the emulator dropped at a full queue
    path_marked              Int64?    -     packets that the emulator marked (ECN) and did not drop
    path_forced_drops        Int64?    -     packets that the emulator dropped by a drop plan
    forced_loss_s            float64?  s     time of the last forced drop, from the common start
    path_queue_max_B         Int64?    B     maximum queue of either direction, and link
    path_queue_max_packets   Int64?    -     maximum queue of either direction, and link
    emulator_late_us         float64?  us    99th percentile of the delay of the emulator's writes
    emulator_cpu_percent     float64?  %     CPU share of the emulator, of one core, whole run
    emulator_waited_percent  float64?  %     share of the run that the emulator waited for a
                                             processor
    bottleneck               string?   -     bus, link, one slave of the bond, pacing, slow
                                             start, CPU, slow receiver, slow sender, window, send
                                             buffer, shaped link, policer, loss, foreign CPU or
                                             unknown;
                                             `window, asked for by the study` where the study
                                             fixes the buffer; in `Results.runs` by the rules
                                             of the netlab that reads, as in `cells`
    flags                    string    -     flags of the run, joined by commas; empty when valid
    message                  string    -     reason of a failure or flag; empty when valid
    unsupported              string    -     JSON list of {host, knob, reason}
    knobs                    string    -     JSON: host -> knob -> value read back
    provenance               string    -     JSON: agent digest, version, kernel, CPU, NIC, driver
                                             of each host
""")

INTERVAL_COLUMNS = _columns("""
    run_id     string    -     run
    direction  string    -     forward or reverse
    stream     int64     -     stream, from 0
    t_s        float64   s     end of the interval, from the common start
    interval_s float64   s     length of the interval
    bytes      int64     B     bytes read by the sink in the interval
    in_window  bool      -     true if the interval is within the measured window
    rtt_p50_us float64?  us    median RTT of the latency probes that were sent in the interval, by
                               the sender's time since its start; of all streams
    rtt_p99_us float64?  us    99th percentile of the same
""")

TRACE_COLUMNS = _columns("""
    run_id        string    -     run
    direction     string    -     forward or reverse
    stream        int64     -     stream, from 0
    t_s           float64   s     time since the sender's start, on the sender's clock
    rtt_us        int64     us    smoothed RTT at the sender
    cwnd_segments int64     -     congestion window
    retransmits   int64     -     retransmitted segments so far
""")

PATH_COLUMNS = _columns("""
    run_id        string    -     run
    direction     string    -     forward or reverse; of a second link in a row forward second
                                  or reverse second
    t_s           float64   s     time of the sample, from the common start
    queue_B       int64     B     bytes that wait for the emulated link
    queue_packets int64     -     packets that wait for the emulated link
    drops         int64     -     packets dropped since the previous sample, for any reason
""")

TABLES = {
    "runs": RUN_COLUMNS,
    "intervals": INTERVAL_COLUMNS,
    "traces": TRACE_COLUMNS,
    "paths": PATH_COLUMNS,
}
"""The tables of a store; a block has a file in each, of the last two only where it has rows."""
