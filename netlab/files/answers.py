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

from netlab.errors import shown
from netlab.files.answer_fields import (
    COUNT,
    FLAG,
    RUN,
    TEXT,
    TIME,
    Schema,
    fields_of,
    integer,
    object_schema,
)
from netlab.files.run_results import GenResult, Reading, SinkResult


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


OUTPUT = cs.no_info_after_validator_function(_decoded, cs.str_schema(strict=True))
"""Bytes that a tool printed."""


def _known(schema: Schema) -> Schema:
    """A value that may be null."""
    return cs.nullable_schema(schema)


def _list(schema: Schema) -> Schema:
    return cs.list_schema(schema, strict=True)


def _of(schema: Schema, names: str) -> dict[str, Schema]:
    return dict.fromkeys(names.split(), schema)


_KNOB = {"knob": TEXT, **_of(_known(TEXT), "name interface")}
_STATE = {**_of(FLAG, "supported writable"), "reason": _known(TEXT)}
_MEMBERS = cs.dict_schema(
    cs.str_schema(strict=True, pattern=r"^[0-9]{1,9}$"), _known(TEXT), strict=True
)
_REVERTED = _of(COUNT, "conflicts absent failed")
_REVERTED_MORE = {"unrestored": COUNT, "uncompared": _list(TEXT)}

_LATENESS = object_schema(
    {**_of(COUNT, "max_ns late"), **_of(_list(COUNT), "below_us count")},
)
_DIRECTION = object_schema(
    {
        "direction": cs.literal_schema(["ab", "ba"]),
        **_of(
            COUNT,
            "rate_bps overhead_B delay_us jitter_us queue_limit_B queue_limit_packets mark_above_B "
            "burst_B policer loss_ppb enter_bad_ppb leave_bad_ppb bad_loss_ppb reorder_ppb "
            "reorder_us discipline target_us interval_us ecn "
            "in_reads in_packets in_data_packets in_datagrams "
            "in_bytes out_writes out_packets out_datagrams out_bytes passed_packets passed_bytes "
            "reordered marked queue_B "
            "queue_packets max_queue_B max_queue_packets stored_packets stored_B memory_B "
            "max_memory_B",
        ),
        "seed": RUN,
        "dropped": object_schema(
            _of(COUNT, "queue loss forced policer early memory malformed refused")
        ),
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
    "process": object_schema(_of(COUNT, "user_us system_us waited_us")),
    "directions": _LINK,
    "samples": _known(
        object_schema(
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
    "listening": ({}, {"run": RUN, "port": integer(65535, 1)}),
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
            "status": integer(255),
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
TYPED = {"gen_result": GenResult, "sink_result": SinkResult, "meter": Reading}
"""Answers that have a type."""
OTHERS = {"loaded": COUNT}
"""Answers with further keys: the parameters of a congestion control."""


@cache
def _validator(event: str) -> SchemaValidator:
    needed, more = fields_of(TYPED[event]) if event in TYPED else ANSWERS[event]
    fields = {"event": cs.literal_schema([event]), **needed}
    return SchemaValidator(object_schema(fields, more, others=OTHERS.get(event)))


def checked(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of an answer; ValueError if one is missing or is not what the table says."""
    event = content.get("event")
    if not isinstance(event, str) or event not in {*ANSWERS, *TYPED}:
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
