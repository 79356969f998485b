"""Knobs that revert exactly: a value written back leaves the host as it was.

Other sysctls are refused unless a tuning states its ``risk``: some write to other state as well.
A test sets and reverts each that its kernel has, on a host whose other settings are not defaults.
"""

from __future__ import annotations

import difflib

KINDS = {
    "mtu": "the MTUs above, IPv6's MTU and the metrics of routes are put back with it",
    "txqueuelen": "one number of the interface",
    "ring": "two numbers of the card, which resets for each",
    "coalesce": "four numbers of the card",
    "feature": "the requested bits of every offload are put back, whoever changed them",
    "defer": "one number of the interface",
    "adaptive": "one switch of the card",
    "pause": "three switches of the card",
    "channels": "the CPUs of each queue (RPS, XPS) are put back with the queues",
    "napi": "one switch of the interface",
    "offload": "one size of the interface",
    "qdisc": "only in place of the kernel's own choice, which comes back when it is deleted",
    "module": "loaded or not; a module that is in use is neither loaded nor removed",
    "governor": "one word of each CPU",
    "irq": "one list of CPUs for each interrupt",
    "pci": "one field of a register",
}
"""Why a knob of each kind but ``sysctl`` reverts exactly."""

_SYSCTLS = (
    (
        "a limit or a start value of sockets; read when a socket asks",
        "net.core.",
        "rmem_max rmem_default wmem_max wmem_default optmem_max somaxconn busy_poll busy_read "
        "txrehash tstamp_allow_data",
    ),
    (
        "a number of the receive path, read for each packet or poll",
        "net.core.",
        "netdev_max_backlog netdev_budget netdev_budget_usecs dev_weight dev_weight_rx_bias "
        "dev_weight_tx_bias netdev_tstamp_prequeue gro_normal_batch skb_defer_max max_skb_frags "
        "high_order_alloc_disable mem_pcpu_rsv rps_sock_flow_entries flow_limit_table_len",
    ),
    (
        "the name of the next queueing discipline; those there stay, and it is reverted first",
        "net.core.",
        "default_qdisc",
    ),
    (
        "a limit of TCP's memory; read when a socket grows",
        "net.ipv4.",
        "tcp_mem tcp_rmem tcp_wmem tcp_moderate_rcvbuf tcp_adv_win_scale tcp_app_win "
        "tcp_shrink_window tcp_limit_output_bytes tcp_notsent_lowat tcp_max_orphans "
        "tcp_max_tw_buckets tcp_max_syn_backlog",
    ),
    (
        "an option of TCP; read when a connection begins",
        "net.ipv4.",
        "tcp_sack tcp_dsack tcp_fack tcp_timestamps tcp_window_scaling tcp_ecn tcp_ecn_fallback "
        "tcp_ecn_option tcp_ecn_option_beacon tcp_syncookies tcp_mtu_probing tcp_base_mss "
        "tcp_min_snd_mss tcp_mtu_probe_floor tcp_probe_interval tcp_probe_threshold "
        "tcp_no_metrics_save tcp_no_ssthresh_metrics_save tcp_workaround_signed_windows "
        "tcp_migrate_req tcp_fwmark_accept tcp_l3mdev_accept tcp_reflect_tos",
    ),
    (
        "a number of TCP's algorithms; read at each use",
        "net.ipv4.",
        "tcp_slow_start_after_idle tcp_autocorking tcp_min_tso_segs tcp_tso_win_divisor "
        "tcp_tso_rtt_log tcp_pacing_ss_ratio tcp_pacing_ca_ratio tcp_recovery tcp_reordering "
        "tcp_max_reordering tcp_early_retrans tcp_frto tcp_thin_linear_timeouts "
        "tcp_retrans_collapse tcp_comp_sack_delay_ns tcp_comp_sack_slack_ns tcp_comp_sack_nr "
        "tcp_backlog_ack_defer tcp_pingpong_thresh tcp_min_rtt_wlen tcp_rto_min_us "
        "tcp_rto_max_ms tcp_invalid_ratelimit tcp_challenge_ack_limit tcp_stdurg tcp_rfc1337 "
        "tcp_abort_on_overflow tcp_low_latency tcp_plb_enabled tcp_plb_idle_rehash_rounds "
        "tcp_plb_rehash_rounds tcp_plb_suspend_rto_sec tcp_plb_cong_thresh",
    ),
    (
        "a time or a number of tries of TCP; read when a timer is set",
        "net.ipv4.",
        "tcp_syn_retries tcp_synack_retries tcp_syn_linear_timeouts tcp_retries1 tcp_retries2 "
        "tcp_orphan_retries tcp_fin_timeout tcp_keepalive_time tcp_keepalive_probes "
        "tcp_keepalive_intvl tcp_tw_reuse tcp_tw_reuse_delay tcp_tw_recycle",
    ),
    (
        "the whole list is written back",
        "net.ipv4.",
        "tcp_allowed_congestion_control ip_local_reserved_ports",
    ),
    (
        "a number of UDP; read when a socket asks or a packet arrives",
        "net.ipv4.",
        "udp_mem udp_rmem_min udp_wmem_min udp_early_demux udp_l3mdev_accept",
    ),
    (
        "a number of IP; read for each packet or port",
        "net.ipv4.",
        "ip_local_port_range ip_default_ttl ip_early_demux ip_no_pmtu_disc ip_forward_use_pmtu "
        "ip_autobind_reuse fib_multipath_hash_policy fib_multipath_use_neigh icmp_ratelimit "
        "icmp_msgs_per_sec icmp_msgs_burst ipfrag_time ipfrag_max_dist "
        "route.min_adv_mss route.min_pmtu route.mtu_expires",
    ),
    (
        "a number of IPv6; read for each packet",
        "net.ipv6.",
        "auto_flowlabels fib_multipath_hash_policy ip6frag_time",
    ),
    (
        "a limit of the table of all interfaces",
        "net.",
        "ipv4.neigh.default.gc_thresh1 ipv4.neigh.default.gc_thresh2 "
        "ipv4.neigh.default.gc_thresh3 ipv6.neigh.default.gc_thresh1 "
        "ipv6.neigh.default.gc_thresh2 ipv6.neigh.default.gc_thresh3 netfilter.nf_conntrack_max",
    ),
    (
        "a switch or a number of Multipath TCP; read when a connection begins",
        "net.mptcp.",
        "enabled checksum_enabled allow_join_initial_addr_port add_addr_timeout stale_loss_cnt",
    ),
    (
        "a number of the scheduler or of its timers; the whole machine's",
        "kernel.",
        "numa_balancing timer_migration nmi_watchdog sched_autogroup_enabled sched_latency_ns "
        "sched_migration_cost_ns sched_min_granularity_ns sched_wakeup_granularity_ns "
        "sched_nr_migrate sched_rr_timeslice_ms sched_rt_runtime_us sched_tunable_scaling",
    ),
    (
        "a number of the memory management; the whole machine's",
        "vm.",
        "min_free_kbytes swappiness stat_interval zone_reclaim_mode",
    ),
)

SYSCTLS = {
    f"{prefix}{name}": reason for reason, prefix, names in _SYSCTLS for name in names.split()
}
"""Why each sysctl that a tuning may set without a ``risk`` reverts exactly."""

INSTEAD = {
    "net.ipv4.tcp_congestion_control": "the study's `congestion` sets that of the streams alone",
    "net.ipv4.ip_forward": "it resets the forwarding and the redirects of every interface",
    "net.ipv4.neigh": "`unres_qlen` and `unres_qlen_bytes` are one number in two units",
    "net.ipv6.neigh": "`unres_qlen` and `unres_qlen_bytes` are one number in two units",
    "net.ipv6.conf": "some remove addresses and routes, or reset those of other interfaces",
    "net.ipv4.conf": "some reset those of other interfaces",
}
"""Kinds of other sysctls by their beginning."""


def is_exact(kind: str, name: str | None) -> bool:
    return kind in KINDS or name in SYSCTLS


def refusal(name: str) -> str:
    """Why a sysctl is refused, and what to do."""
    close = difflib.get_close_matches(name, SYSCTLS, n=1, cutoff=0.85)
    known = next((why for start, why in INSTEAD.items() if f"{name}.".startswith(f"{start}.")), "")
    reason = f"did you mean {close[0]}?" if close and not known else known
    return (
        f"{name} is not among the knobs that revert exactly (docs/tuning.md)"
        f"{'; ' if reason else ''}{reason.removesuffix('?')}{'?' if reason.endswith('?') else ';'} "
        'to set it all the same, state why in the knob: `risk: "..."`, and what it changes beside '
        "itself is compared, restored where that is possible, and reported"
    )


def markdown() -> str:
    """The table of the documentation."""
    rows = [(f"`{kind}`", reason) for kind, reason in KINDS.items()]
    for reason, prefix, names in _SYSCTLS:
        rows.append((", ".join(f"`{prefix}{name}`" for name in names.split()), reason))
    lines = [f"| {names} | {reason} |" for names, reason in rows]
    return "\n".join(["| kind or sysctl | why it reverts exactly |", "|---|---|", *lines]) + "\n"
