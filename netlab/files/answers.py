"""Answers of the processes on a host: the fields of each, with their types and ranges.

One table for all of them; `native/PROTOCOL.md` says what they mean. An answer that does not fit it
is refused as a whole, so that what reads one may rely on its fields. Keys that the table does not
have are dropped. Text is escaped where it is not printable.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from netlab.errors import printable, shown

MAX_TEXT = 4096
"""Characters of a text, apart from the output of a tool."""

Schema = cs.CoreSchema


def _integer(most: int, least: int = 0) -> Schema:
    return cs.int_schema(strict=True, ge=least, le=most)


# Sums of a run's counts, and of all its streams, fit the 64 bits of a column.
COUNT = _integer(1 << 60)
OF_STREAM = _integer(1 << 49)
COUNTER = _integer((1 << 63) - 1)
"""A count since boot: it may be anything, its growth is checked."""
TIME = _integer(1 << 62)
SPAN = _integer(1 << 62, -(1 << 62))
WORD32 = _integer((1 << 32) - 1)
SMALL = _integer((1 << 31) - 1, -(1 << 31))
RUN = _integer((1 << 64) - 1)
FLAG = cs.bool_schema(strict=True)


def _escaped(text: str) -> str:
    return text if text.isprintable() else printable(text)


TEXT = cs.no_info_after_validator_function(
    _escaped, cs.str_schema(strict=True, max_length=MAX_TEXT)
)


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


OUTPUT = cs.no_info_after_validator_function(_decoded, cs.str_schema(strict=True))
"""Bytes that a tool printed."""


def _known(schema: Schema) -> Schema:
    """A value that may be null."""
    return cs.nullable_schema(schema)


def _list(schema: Schema) -> Schema:
    return cs.list_schema(schema, strict=True)


def _table(schema: Schema) -> Schema:
    """An object with keys of the host's."""
    return cs.dict_schema(TEXT, schema, strict=True)


def _of(schema: Schema, names: str) -> dict[str, Schema]:
    return dict.fromkeys(names.split(), schema)


def _object(
    needed: Mapping[str, Schema],
    more: Mapping[str, Schema] | None = None,
    *,
    others: Schema | None = None,
) -> Schema:
    """An object that has all `needed` keys, and may have `more`, and `others` of any name."""
    fields = {key: cs.typed_dict_field(schema) for key, schema in needed.items()}
    for key, schema in (more or {}).items():
        fields[key] = cs.typed_dict_field(schema, required=False)
    if others is None:
        return cs.typed_dict_schema(fields, strict=True)
    return cs.typed_dict_schema(fields, strict=True, extra_behavior="allow", extras_schema=others)


_COUNTED = "rx_bytes tx_bytes rx_packets tx_packets rx_errors tx_errors rx_dropped tx_dropped"
_CPU = _object(
    _of(COUNT, "cpu user_us nice_us system_us idle_us iowait_us irq_us softirq_us steal_us"),
    _of(_known(COUNT), "frequency_kHz first_frequency_kHz throttled"),
)
_HOST = {
    "cpu": _list(_CPU),
    **_of(COUNT, "interrupts context_switches"),
    "softnet": _known(_object(_of(COUNT, "processed dropped time_squeeze"))),
    "process": _object(_of(COUNT, "user_us system_us")),
}
_PROCESS = _object({"name": TEXT, **_of(COUNT, "pid born_ticks cpu_us")})
_OTHERS = _object(
    {**_of(COUNT, "pid born_ticks cpu_us"), **_of(TIME, "t0_ns t1_ns"), "top": _list(_PROCESS)}
)
_INTERFACE = {"name": TEXT, **_of(COUNT, _COUNTED + " wraps"), "reset": FLAG}
_METER = _object(
    {
        **_of(TIME, "t0_ns t1_ns"),
        "clock": _object({**_of(SPAN, "step_ns drift_ns"), **_of(TIME, "steps unsure_ns")}),
        "interface": _known(_object(_INTERFACE)),
        **_HOST,
    }
)

_TCP = _object(
    {
        **_of(
            WORD32,
            "rtt_us rttvar_us min_rtt_us cwnd_segments ssthresh_segments mss_B rcv_mss_B "
            "pmtu_B retransmits lost reordering segs_out segs_in delivered_ce rcv_space_B "
            "snd_wscale rcv_wscale options notsent_B peer_window_B",
        ),
        **_of(
            OF_STREAM,
            "busy_us rwnd_limited_us sndbuf_limited_us bytes_acked bytes_received bytes_sent "
            "bytes_retransmitted delivery_rate_Bps",
        ),
    }
)
_UDP = _object(
    _of(
        OF_STREAM,
        "sent skipped received lost reordered duplicates invalid bursts burst_max jitter_ns "
        "socket_drops",
    )
)
_STREAM = _object(
    {
        "stream": WORD32,
        **_of(OF_STREAM, "bytes window_bytes calls"),
        **_of(TIME, "t_first_ns t_last_ns t_end_ns"),
        **_of(
            OF_STREAM,
            "sndbuf_start_B rcvbuf_start_B sndbuf_B rcvbuf_B cwnd_start_segments cwnd_t0_segments "
            "cwnd_max_segments sampled_us idle_us closed_us pacing_Bps dscp mss_B nodelay "
            "busy_poll_us moves",
        ),
        **_of(_known(WORD32), "cpu incoming_cpu napi_id"),
        "congestion": TEXT,
        "errno": SMALL,
        "udp": _known(_UDP),
        **_of(_known(_TCP), "tcp tcp_t1"),
    }
)


def _whole_phase(phase: dict[str, Any]) -> dict[str, Any]:
    times = (phase["rtt_us"], phase["arrived_ns"])
    if {phase["sent"], *map(len, times)} != {len(phase["t_ns"])}:
        raise ValueError("its lists differ in length")
    if any((rtt_us is None) != (at_ns is None) for rtt_us, at_ns in zip(*times, strict=True)):
        raise ValueError("an answer has an RTT or a time of arrival alone")
    return phase


_PHASE = cs.no_info_after_validator_function(
    _whole_phase,
    _object(
        {
            **_of(WORD32, "sent received reordered duplicates"),
            "t_ns": _list(TIME),
            "rtt_us": _list(_known(WORD32)),
            "arrived_ns": _list(_known(TIME)),
        }
    ),
)
_LATENCY = _object(
    _of(COUNT, "interval_ms foreign invalid dropped clock_steps"),
    {**_of(COUNT, "answered sent"), **_of(_PHASE, "idle warmup loaded after")},
)
_PROBED = _object(
    {
        **_of(COUNT, "interval_ms sent foreign invalid dropped clock_steps"),
        **_of(_PHASE, "idle warmup loaded after"),
    }
)
_ROWS = _list(_list(OF_STREAM))
_RESULT = {
    "run": RUN,
    "status": cs.literal_schema(["ok", "stopped", "timeout", "error"]),
    **_of(_known(TEXT), "code message"),
    "streams": WORD32,
    "engine": TEXT,
    "threads": WORD32,
    "policy": _object(
        {
            **_of(_known(COUNT), "batch_B yield_B"),
            **_of(FLAG, "read_delay sched_batch spread"),
            "spread_errno": COUNT,
        }
    ),
    "zerocopy": _known(
        _object({"copied_bytes": COUNT}, _of(COUNT, "completed_bytes mapped_bytes"))
    ),
    **_of(TIME, "t_go_ns t_first_byte_ns t_last_byte_ns"),
    "window": _object({**_of(TIME, "t0_ns t1_ns"), "bytes": COUNT}),
    **_of(COUNT, "total_bytes interval_sum_bytes watch_cpu_us watch_late_us waited_us"),
    "per_stream": _list(_STREAM),
    "samples": _object(
        {"interval_ms": COUNT},
        {"t_ns": _list(TIME), "bytes": _ROWS, **_of(WORD32, "count parts")},
    ),
    "trace": _known(_object({}, _of(_ROWS, "rtt_us cwnd_segments retransmits"))),
    "meter": _known(_object(_of(_METER, "window total"))),
    "others": _known(_OTHERS),
    "card": _known(_table(COUNT)),
}
_REJECTED = _object(
    _of(COUNT, "short magic version run stream token twice late address evicted datagrams")
)

_KNOB = {"knob": TEXT, **_of(_known(TEXT), "name interface")}
_STATE = {**_of(FLAG, "supported writable"), "reason": _known(TEXT)}
_MEMBERS = cs.dict_schema(
    cs.str_schema(strict=True, pattern=r"^[0-9]{1,9}$"), _known(TEXT), strict=True
)
_REVERTED = _of(COUNT, "conflicts absent failed")
_REVERTED_MORE = {"unrestored": COUNT, "uncompared": _list(TEXT)}

_LATENESS = _object(
    {**_of(COUNT, "max_ns late"), **_of(_list(COUNT), "below_us count")},
)
_DIRECTION = _object(
    {
        "direction": cs.literal_schema(["ab", "ba"]),
        **_of(
            COUNT,
            "rate_bps overhead_B delay_us jitter_us queue_limit_B queue_limit_packets mark_above_B "
            "burst_B policer loss_ppb enter_bad_ppb leave_bad_ppb bad_loss_ppb reorder_ppb "
            "reorder_us discipline target_us interval_us "
            "in_reads in_packets in_data_packets in_datagrams "
            "in_bytes out_writes out_packets out_datagrams out_bytes passed_packets passed_bytes "
            "reordered marked queue_B "
            "queue_packets max_queue_B max_queue_packets stored_packets stored_B memory_B "
            "max_memory_B",
        ),
        "seed": RUN,
        "dropped": _object(_of(COUNT, "queue loss forced policer early memory malformed refused")),
        "forced_ns": _known(TIME),
        "lateness": _LATENESS,
    }
)
_LINK = cs.list_schema(_DIRECTION, strict=True, min_length=2, max_length=2)


def _queues(*links: str) -> dict[str, Schema]:
    """Samples of the queues of links."""
    names = (f"{link}_{queue}" for link in links for queue in ("queue_B", "queue_packets"))
    return _of(_list(COUNT), " ".join([*names, *(f"{link}_dropped" for link in links)]))


_EMULATION = {
    "final": FLAG,
    **_of(TIME, "t_ns elapsed_ns busy_max_ns wake_ns"),
    "flags": _list(TEXT),
    "process": _object(_of(COUNT, "user_us system_us waited_us")),
    "directions": _LINK,
    "samples": _known(
        _object(
            {
                "interval_ms": COUNT,
                **_of(_list(TIME), "t_ns cpu_us"),
                **_queues("ab", "ba"),
            },
            _queues("ab_second", "ba_second"),
        )
    ),
}

# Name of an answer -> the keys that it has, and those that it may have. Answers of one name from
# several programs have the keys of all: those of the other programs are optional.
ANSWERS: dict[str, tuple[Mapping[str, Schema], Mapping[str, Schema]]] = {
    "error": ({}, {"run": _known(RUN), **_of(_known(TEXT), "code key message")}),
    "ready": (
        {},
        {
            "protocol": COUNT,
            "pid": COUNT,
            "digest": TEXT,
            "may_force_buffers": FLAG,
            "may_write": FLAG,
            "stale": COUNT,
            "note": _known(TEXT),
            "supported": FLAG,
            "reason": _known(TEXT),
        },
    ),
    "lease": (_of(RUN, "number previous"), {}),
    "pong": ({"t_ns": TIME}, {}),
    **dict.fromkeys(("connected", "running"), ({"run": RUN}, {})),
    "listening": ({}, {"run": RUN, "port": _integer(65535, 1)}),
    "samples": (
        {
            "run": RUN,
            "role": cs.literal_schema(["gen", "sink"]),
            "table": cs.literal_schema(["t_ns", "bytes", "rtt_us", "cwnd_segments", "retransmits"]),
            "first": COUNT,
            "values": _list(TIME),
        },
        {},
    ),
    "gen_result": (
        {
            **_RESULT,
            "t_let_go_ns": TIME,
            "send": TEXT,
            **_of(_known(_PROBED), "latency latency_tcp"),
        },
        {},
    ),
    "sink_result": (
        {
            **_RESULT,
            "accepted": WORD32,
            "rejected": _REJECTED,
            "receive": TEXT,
            **_of(_known(_LATENCY), "latency latency_tcp"),
        },
        {},
    ),
    "meter": (
        {
            "t_ns": TIME,
            "interface": _known(_object({"name": TEXT, **_of(COUNTER, _COUNTED)})),
            **_HOST,
        },
        {"others": _known(_OTHERS)},
    ),
    "value": ({**_KNOB, **_STATE, "value": _known(TEXT)}, {"most": COUNT}),
    "listed": (
        {
            **_of(_MEMBERS, "values handlers"),
            "knob": TEXT,
            **_of(_known(TEXT), "interface online near"),
            **_STATE,
        },
        {},
    ),
    "begun": ({}, {}),
    "set": (
        {},
        {
            **_KNOB,
            **_of(_known(TEXT), "old value readback reason"),
            "status": cs.literal_schema(
                ["unchanged", "applied", "differs", "unsupported", "refused"]
            ),
            "t_ns": TIME,
        },
    ),
    "drift": ({**_KNOB, "expected": TEXT, "found": _known(TEXT)}, {}),
    "verified": ({"drifted": COUNT}, {}),
    "reverted": (
        {
            **_KNOB,
            "status": cs.literal_schema(["restored", "conflict", "absent", "failed"]),
            **_of(_known(TEXT), "found reason"),
        },
        {},
    ),
    **dict.fromkeys(
        ("unrestored", "beside"), ({"what": TEXT, **_of(_known(TEXT), "was found")}, {})
    ),
    "reverted_all": (_REVERTED, _REVERTED_MORE),
    "alive": ({}, {}),
    "ended": (
        {},
        {
            **_REVERTED,
            **_REVERTED_MORE,
            "status": _integer(255),
            "full": FLAG,
            "times": TEXT,
            "size": COUNT,
            "output": OUTPUT,
        },
    ),
    "loaded": (_of(TEXT, "name cc sha256") | {"revision": COUNT}, {}),
    "unloaded": ({"name": TEXT}, {}),
    "opened": ({"t_ns": TIME}, {}),
    "emulation": (_EMULATION, {"second": _LINK}),
    "copyrate": (_of(COUNT, "hot_Bps cold_Bps"), {}),
    # scripts of netlab that run a tool, or set a route
    **dict.fromkeys(("taken", "started", "applied", "refused"), ({}, {})),
    "printed": ({"size": COUNT, "output": OUTPUT}, {}),
}
OTHERS = {"loaded": COUNT}
"""Answers with further keys: the parameters of a congestion control."""


@cache
def _validator(event: str) -> SchemaValidator:
    needed, more = ANSWERS[event]
    fields = {"event": cs.literal_schema([event]), **needed}
    return SchemaValidator(_object(fields, more, others=OTHERS.get(event)))


def checked(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of an answer; ValueError if one is missing or is not what the table says."""
    event = content.get("event")
    if not isinstance(event, str) or event not in ANSWERS:
        raise ValueError(f"unknown answer {shown(event)}")
    try:
        return _validator(event).validate_python(content)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        if first["type"] == "missing":
            raise ValueError(f"{event} lacks {place}") from None
        text = f"{event}: {place} is {shown(first['input'])}: {first['msg']}"
        raise ValueError(text) from None
