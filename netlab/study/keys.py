"""Every key of a study file with its description and an example, for the schema and the guide."""

from __future__ import annotations

from typing import Any

Key = tuple[str, Any]
"""Description and example."""

STUDY: dict[str, Key] = {
    "netlab": ("Version of the format.", 1),
    "name": ("Name of the study, and of the directory of its results.", "mine"),
    "title": ("Title of its report.", "My two machines"),
    "description": ("A few sentences for the report.", "Goodput before and after tuning."),
    "hosts": (
        "Hosts by name.",
        {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
    ),
    "paths": (
        "Paths by name: two hosts, and what joins them.",
        {"cable": {"ends": [{"host": "left"}, {"host": "right"}]}},
    ),
    "groups": (
        "Groups of cells; each is one table of the report.",
        [{"name": "left -> right", "path": "cable", "sender": "left"}],
    ),
    "tunings": (
        "Tuning levels. Left out, the hosts are measured as found.",
        [{"name": "as-found"}, {"name": "openlab-2003-full", "mtus_B": [1500, 9000]}],
    ),
    "profiles": (
        "Tunings of the study's own, by name.",
        {"big": {"knobs": [{"kind": "sysctl", "name": "net.core.rmem_max", "value": 67108864}]}},
    ),
    "factors": ("Further factors, each with its levels.", {"record_length_B": [1024, 65536]}),
    "exclude": (
        "Combinations of levels that are left out.",
        [{"record_length_B": 1024, "streams": [12, 20]}],
    ),
    "outer": (
        "Factors that a person sets on the hosts, with their levels; see `--outer`.",
        {"kernel": ["smp", "up"]},
    ),
    "published": (
        "A published table beside the results: a YAML file beside the study's, or its content.",
        "theirs.yml",
    ),
    "report": ("Further pages of the report.", {"notebooks": ["mine.ipynb"]}),
    "streams": ("Numbers of TCP streams.", [1, 4, 12]),
    "congestion": (
        "Congestion control, the host's own if left out; several joined by `+` are dealt to the "
        "streams in turn.",
        "cubic",
    ),
    "stacks": (
        "Congestion controls of the study's own, by name; `wad_conf` reads one from a wad.conf.",
        {"mine": {"law": "aimd", "increase": 6.0, "decrease": 0.3}},
    ),
    "force_buffer": (
        "Request socket buffers beyond the host's limits, as root.",
        True,
    ),
    "engine": ("Method of sending and receiving; `auto` depends on the streams.", "auto"),
    "threads": ("Threads of the epoll engine; 0: one for each CPU.", 0),
    "send": ("System call of the sender.", "copy"),
    "receive": ("System call of the receiver.", "copy"),
    "socket": ("Options of sockets and threads.", {"nodelay": True}),
    "policy": ("Batches, yields and placement of the agents.", {"spread": True}),
    "trace": ("Record RTT, window and retransmits of each stream at every interval.", True),
    "timing": ("Duration and number of runs.", {"rounds": 5, "seconds": 2.0}),
    "precision": (
        "Measure each cell until its interval is this narrow, in place of `timing.rounds`.",
        {"half_width_percent": 5, "budget": "20min"},
    ),
    "noise": ("Limits of the disturbance of hosts.", {"steal_percent": 5.0, "retries": 1}),
    "quick": ("Timing of the short form (`--quick`).", {"rounds": 2, "seconds": 0.5}),
    "seed": ("Seed of the randomised order.", 2003),
    "confidence": ("Level of the intervals.", 0.95),
}

HOST: dict[str, Key] = {
    "kind": ("`lab`: a namespace that netlab makes; `ssh`: a machine of yours.", "ssh"),
    "address": (
        "Host name, address or alias of ~/.ssh/config; of an ssh host.",
        "left.example.org",
    ),
    "user": ("User at the host. Default: as SSH has it.", "measure"),
    "port": ("Port of its sshd. Default: as SSH has it.", 22),
    "identity_file": ("Private key. Default: as SSH has it.", "~/.ssh/id_ed25519"),
    "bus": (
        "Bus of the card; read from the host where it reports one.",
        {"bandwidth_MBps": 7877.0, "label": "PCIe 3.0 x8"},
    ),
    "profiles": (
        "Tunings of this host in place of the study's, by level.",
        {"full": "openlab-2003-full-linux32"},
    ),
}

BUS: dict[str, Key] = {
    "bandwidth_MBps": ("Theoretical bandwidth, 10⁶ B/s.", 1064.0),
    "label": ("Name of the bus.", "PCI-X 64 bit at 133 MHz"),
    "shared": ("Both directions share the bandwidth, as on PCI-X.", True),
}

PATH: dict[str, Key] = {
    "ends": ("The two ends.", [{"host": "left"}, {"host": "right"}]),
    "link": ("The link of two lab hosts.", {"rate_Mbps": 1000.0}),
    "link_MBps": ("Rate of a real link, 10⁶ B/s, as a ceiling.", 1250.0),
}

END: dict[str, Key] = {
    "host": ("Name of the host.", "left"),
    "address": ("Data address; the lab chooses its own.", "192.0.2.1"),
    "interface": ("Interface that carries the data; the lab chooses its own.", "eth2"),
}

LINK: dict[str, Key] = {
    "rate_Mbps": ("Rate of each direction, 10⁶ bit/s of frames. Default: the slower bus.", 1000.0),
    "interrupt_delay_us": ("Deferral of interrupts, µs.", 52.4288),
    "segmentation_offload": ("TSO, GSO and GRO merging.", True),
    "checksum_offload": ("Checksums by the device.", True),
    "queues": ("Pairs of queues; 1 on a link with a rate or a bus.", 2),
    "read_burst_B": ("Maximum memory read byte count of a PCI-X card.", 4096),
    "emulator": ("A long path in place of the cable.", {"rtt_ms": 183.0, "rate_Mbps": 2500}),
}

EMULATOR: dict[str, Key] = {
    "with": ("`netem` or `netlab`. Default: netem where it can do all that is asked.", "netlab"),
    "rtt_ms": ("Round-trip time without queueing.", 183.0),
    "delay_ms": ("Delay each way, in place of `rtt_ms`.", [90.0, 93.0]),
    "rate_Mbps": ("Rate of each direction, 10⁶ bit/s of frames.", 2500.0),
    "queue_B": ("Queue before the rate, each way, bytes.", 57194375),
    "queue_packets": ("Queue before the rate, each way, packets.", 1000),
    "loss": ("Probability that a packet is lost.", 0.0001),
    "jitter_ms": ("Uniform variation of the delay, either way.", 0.5),
    "reorder": ("Probability that a packet is delayed by `reorder_ms`.", 0.001),
    "reorder_ms": ("Further delay of reordered packets.", 1.0),
    "seed": ("Seed of loss, jitter and reordering.", 1),
}

GROUP: dict[str, Key] = {
    "name": ("Name of the group, the heading of its table.", "left -> right"),
    "path": ("Name of its path.", "cable"),
    "sender": ("Host that sends (in the forward direction).", "left"),
    "direction": ("One way or both at once.", "<->"),
    "table": ("Number of the table in a source document.", 2),
    "record_length_B": ("Bytes of one send() or recv().", 65536),
    "buffer_B": ("Socket buffer requested; left out, the kernel sizes it.", 262144),
    "receive_buffer_B": ("Socket buffer of the receiver, where it differs.", 134217728),
    "congestion": ("Congestion control, in place of the study's.", "reno"),
    "generator": ("Program that sends and receives.", "iperf3"),
    "force_loss_at_s": ("Drop one packet this long after the start; needs an emulator.", 4.0),
    "tunings": ("Only these tuning levels.", ["as-found"]),
    "mtus_B": ("Only these MTUs.", [9000]),
    "streams": ("Only these numbers of streams.", [1]),
    "factors": ("Factors of the group, before the study's.", {"send": ["copy", "zerocopy"]}),
    "exclude": (
        "Combinations left out, besides the study's.",
        [{"send": "zerocopy", "streams": 1}],
    ),
    "timing": ("Timing in place of the study's.", {"seconds": 30.0}),
    "quick": ("Timing in the short form.", {"seconds": 3.0}),
    "target_percent_of_bus": ("Goal of the best cell, per cent of the bus.", 80.0),
    "target_Gbps": ("Goal of the best cell, 10⁹ bit/s of payload.", 9.0),
    "records": ("Send this many records a stream, in place of a time.", 1000),
    "quick_records": ("The same in the short form.", 100),
    "short": ("The short form has this group.", False),
    "part": ("Part of the study that the group belongs to.", "recovery"),
}

TIMING: dict[str, Key] = {
    "rounds": ("Rounds; each measures every cell once. Default 3, or as `precision` needs.", 5),
    "seconds": ("Measured window of a run, s.", 1.0),
    "warmup_s": ("Warm-up before the window, s. Default 0.3, or 20 RTTs if that is more.", 0.3),
    "interval_ms": ("Length of the interval samples, ms.", 100),
    "drain_s": ("Timeout for data in flight after the window, s.", 5.0),
}

PRECISION: dict[str, Key] = {
    "half_width_percent": ("Half the width of an interval, per cent of its mean.", 5.0),
    "min_rounds": ("Rounds in which every cell is measured.", 3),
    "max_rounds": ("Most rounds of a cell.", 12),
    "budget": ("Time for the whole campaign.", "20min"),
}

NOISE: dict[str, Key] = {
    "steal_percent": ("Limit of CPU time taken by the hypervisor, per cent of all CPUs.", 5.0),
    "foreign_cpu_percent": ("Limit of CPU time of other processes, per cent of all CPUs.", 4.0),
    "foreign_traffic_percent": (
        "Limit of others' bytes or packets on the data interface, per cent of the run's own.",
        1.0,
    ),
    "frequency_drop_percent": (
        "Limit of the fall of a busy CPU's frequency within the window, per cent.",
        10.0,
    ),
    "retries": (
        "Times that a disturbed run of a cell with too few valid ones is measured again.",
        1,
    ),
    "wait": ("Longest wait of a campaign for quiet hosts, all waits together.", "5min"),
}

LEVEL: dict[str, Key] = {
    "name": ("Name of the level, in runs and results.", "full"),
    "label": ("In tables and charts.", "+ Driver Tuning"),
    "mtus_B": ("MTUs to set. Left out, the MTU stays as found.", [1500, 9000]),
    "profile": ("Name of the tuning, where it differs from the level's.", "openlab-2003-full"),
    "extends": ("A tuning whose knobs come first; the others are inline.", "openlab-2003-kernel"),
    "knobs": (
        "The tuning itself, inline.",
        [{"kind": "sysctl", "name": "net.core.rmem_max", "value": 67108864}],
    ),
}

OWN_TUNING: dict[str, Key] = {
    "title": ("What it is.", "Large buffers"),
    "source": ("Where its values are from.", "our operations handbook"),
    "notes": ("Remarks for readers.", ["Set on both hosts."]),
    "extends": ("A tuning whose knobs come first.", "openlab-2003-kernel"),
    "knobs": ("Settings, in the order they are applied.", [{"kind": "txqueuelen", "value": 10000}]),
    "records": ("Settings that are read and recorded only.", [{"kind": "mtu"}]),
}

SETTING: dict[str, Key] = {
    "kind": ("Kind of the setting.", "sysctl"),
    "name": ("Setting of that kind; `mtu` and `txqueuelen` have none.", "net.ipv4.tcp_sack"),
}

KNOB: dict[str, Key] = {
    **SETTING,
    "value": ("Value to set: a whole number, or text; on and off in quotes.", 1),
    "source": ("Where the value is from.", "appendix D"),
    "note": ("Remark for readers.", "In pages."),
    "when_missing": ("Known reason why a kernel or card lacks it.", "left Linux in 4.12"),
}

CHOICE: dict[str, Key] = {
    "parameter": ("Name of the parameter in a document.", "RxIntDelay"),
    "published": ("Its value there.", 0),
    "note": ("Remark for readers.", "In units of 0.8192 µs."),
    "first_supported": (
        "Ways to get its effect; the first that the host supports is taken.",
        [{"knobs": [{"kind": "coalesce", "name": "rx-usecs", "value": 0}]}],
    ),
}

OPTION: dict[str, Key] = {
    "knobs": ("Knobs that are set together.", [{"kind": "ring", "name": "rx", "value": 2048}]),
    "needs": ("Only for hosts that defer interrupts in software.", "software_deferral"),
}

SOCKET: dict[str, Key] = {
    "pacing_MBps": ("Pacing rate of each stream, 10⁶ B/s.", 100.0),
    "dscp": ("DSCP code point of the packets.", 46),
    "mss_B": ("Maximum segment size, TCP options included.", 1448),
    "nodelay": ("TCP_NODELAY.", True),
    "busy_poll_us": ("SO_BUSY_POLL, µs.", 50),
    "cpus_sender": ("CPUs of the sender's threads, in turn.", "0,2-3"),
    "cpus_receiver": ("CPUs of the receiver's threads, in turn.", "1"),
    "follow_incoming_cpu": ("Pin each thread to the CPU that receives its packets.", True),
}

POLICY: dict[str, Key] = {
    "batch_B": (
        "Bytes that a stream moves before the next one: `auto`, `none` or a number.",
        65536,
    ),
    "yield_B": ("Bytes after which a sender yields its CPU: `auto`, `never` or a number.", "never"),
    "read_delay": ("A receiver sleeps after a small read.", False),
    "sched_batch": ("Threads run as SCHED_BATCH.", True),
    "spread": ("Each thread is pinned to a CPU of its own.", True),
}

STACK: dict[str, Key] = {
    "law": ("Window law, or `kernel` for a module of the hosts.", "aimd"),
    "increase": ("aimd: segments gained in a round trip; scalable: for each acknowledged.", 1.0),
    "decrease": ("Share of the window given up at a loss.", 0.5),
    "legacy_window_segments": ("scalable: grows as Reno up to here.", 16),
    "max_ssthresh_segments": ("Limited slow start above this window.", 100),
    "alpha_packets": ("fast: packets that stay queued.", 200),
    "gamma": ("fast: share of the way in one round trip.", 0.5),
}

WAD: dict[str, Key] = {
    "wad_conf": ("A wad.conf beside the study.", "wad.conf"),
    "entry": ("Its entry, where it has several.", "GVA"),
}

PUBLISHED: dict[str, Key] = {
    "title": ("Name of the table.", "Throughput over payload"),
    "source": ("Where it was published.", "A paper, table 1"),
    "file": ("Its CSV file, beside the study.", "theirs.csv"),
    "columns": ("Headings of the file that are other names of factors.", {"MTU": "mtu_B"}),
    "fluctuation_percent": ("Largest error of a published value, either way.", 3.0),
    "cells": (
        "The values, as a study beside its results has them.",
        [{"streams": 1, "goodput_MBps": 98.5}],
    ),
}

REPORT: dict[str, Key] = {
    "notebooks": (
        "Notebooks to execute: files beside the study's, or names of those that come with netlab.",
        ["mine.ipynb", "14-claims"],
    ),
}

FACTORS: dict[str, Key] = {
    **{
        name: (f"Levels of `{name}` of a group.", [GROUP[name][1]])
        for name in ("record_length_B", "buffer_B", "receive_buffer_B", "congestion", "generator")
    },
    **{
        name: (f"Levels of `{name}` of the study.", [STUDY[name][1]])
        for name in ("engine", "threads", "send", "receive", "force_buffer")
    },
    **{name: (f"Levels of `socket.{name}`.", [SOCKET[name][1]]) for name in SOCKET},
    **{name: (f"Levels of `policy.{name}`.", [POLICY[name][1]]) for name in POLICY},
    **{
        name: (f"Levels of `{name}` of the path's emulator.", [EMULATOR[name][1]])
        for name in ("rtt_ms", "queue_B", "queue_packets", "loss", "jitter_ms")
    },
    "rate_Mbps": ("Levels of the rate of the path's emulator, else of its link.", [1000.0]),
    **{
        name: (f"Levels of `{name}` of the path's link.", [LINK[name][1]])
        for name in ("queues", "interrupt_delay_us", "read_burst_B")
    },
    "offloads": ("Offloads of the path's link.", ["none", "all"]),
}

KEYS: dict[str, dict[str, Key]] = {
    "Study": STUDY,
    "StudyHost": HOST,
    "Bus": BUS,
    "Path": PATH,
    "End": END,
    "LabLink": LINK,
    "Emulator": EMULATOR,
    "Group": GROUP,
    "Timing": TIMING,
    "GroupTiming": {name: key for name, key in TIMING.items() if name != "rounds"},
    "Precision": PRECISION,
    "Noise": NOISE,
    "TuningLevel": LEVEL,
    "OwnTuning": OWN_TUNING,
    "Knob": KNOB,
    "Choice": CHOICE,
    "KnobOption": OPTION,
    "HostSetting": SETTING,
    "Factors": FACTORS,
    "Socket": SOCKET,
    "Policy": POLICY,
    "Stack": STACK,
    "WadStack": WAD,
    "Published": PUBLISHED,
    "ReportPages": REPORT,
}
"""Keys of each part of a study, by the name of its model."""

HEADINGS = {
    "Study": "A study",
    "StudyHost": "`hosts.NAME`",
    "Bus": "`hosts.NAME.bus`",
    "Path": "`paths.NAME`",
    "End": "`paths.NAME.ends`",
    "LabLink": "`paths.NAME.link`",
    "Emulator": "`paths.NAME.link.emulator`",
    "Group": "`groups`",
    "Timing": "`timing`, `quick`",
    "GroupTiming": "`timing`, `quick` of a group",
    "Precision": "`precision`",
    "Noise": "`noise`",
    "TuningLevel": "`tunings`",
    "OwnTuning": "`profiles.NAME`",
    "Knob": "A knob",
    "Choice": "A choice between knobs",
    "KnobOption": "`first_supported` of a choice",
    "HostSetting": "`records` of a tuning",
    "Factors": "`factors`",
    "Socket": "`socket`",
    "Policy": "`policy`",
    "Stack": "`stacks.NAME`",
    "WadStack": "`stacks.NAME`, from a wad.conf",
    "Published": "`published`",
    "ReportPages": "`report`",
}
"""Heading of each part in the reference."""
