"""Rows of a store from the records of other tools, and the facts that the user gives."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from statistics import fmean, pstdev
from typing import Any

import pandas as pd

from netlab.errors import BadInput
from netlab.files.bounded_json import parse_json
from netlab.imports.facts import check_facts, moment_of
from netlab.imports.formats import ReadFile
from netlab.outputs.records import MAX_COUNT, Datagrams, Record, sum_of
from netlab.results.campaign_files import IMPORTED
from netlab.results.columns import SCHEMA_VERSION
from netlab.results.flags import Flag, join_flags
from netlab.units import datagram_share, payload_share
from netlab.version import version

UNKNOWN = "unknown"
"""Unknown tuning or congestion control; unknown bytes are 0."""

MAY_BE_UNKNOWN = ("congestion", "record_length_B", "buffer_B")
AS_REPORTED = (
    *("rtt_us", "min_rtt_us", "cwnd_segments", "mss_B", "retransmits", "sndbuf_B", "rcvbuf_B"),
    "warmup_s",
)
"""Columns that are in a record as in a row."""

HEADERS_B = (40, 52, 60, 72)
"""IPv4 and TCP headers without and with timestamps, then IPv6."""

USUAL_MTUS_B = (576, 1280, 1492, 1500, 4470, 8000, 8192, 9000, 9180, 9216, 16114, 16384, 65520)


@dataclass(frozen=True)
class Facts:
    """Facts of imported runs given by the user. A fact that contradicts its file is refused."""

    study: str
    sender: str
    receiver: str
    path: str | None = None
    group: str | None = None
    tuning: str = UNKNOWN
    mtu_B: int | None = None
    streams: int | None = None
    record_length_B: int | None = None
    buffer_B: int | None = None
    congestion: str | None = None
    started_at: datetime | str | None = None
    measured_at: str | None = None
    link_Mbps: float | None = None

    def __post_init__(self) -> None:
        check_facts(vars(self))
        if self.started_at is not None:
            object.__setattr__(self, "started_at", moment_of(self.started_at))

    @property
    def turned(self) -> Facts:
        """Those of a run of the other way on the same path."""
        return replace(self, path=self.path_name, sender=self.receiver, receiver=self.sender)

    @property
    def path_name(self) -> str:
        return self.path or f"{self.sender}-{self.receiver}"[:48]


def mtu_of(mss_B: int) -> tuple[int, int] | None:
    """The usual MTU that a maximum segment size is of, and the headers between; None if unclear."""
    fits = [(mss_B + h, h) for h in HEADERS_B if mss_B + h in USUAL_MTUS_B]
    return fits[0] if len(fits) == 1 else None


MAX_GROUP = 60
"""Characters of a group's name in a study."""

LEAST_MTU_B = 576
MOST_PACING_MBPS = 1e6
"""Limits of a study; what is beyond them is not known, or no limit."""

PLACE = ("path", "sender", "direction", "congestion", "generator")
MEASURED = ("measured",)
"""Place of a group that netlab measured: no imported run has its conditions."""


def _place(row: Mapping[str, Any]) -> tuple:
    levels = parse_json(row["factors"] or "{}", "factors")
    return (*(row[name] for name in PLACE), *levels)


def groups_of(runs: pd.DataFrame) -> dict[str, tuple]:
    """Places of the groups of runs by their names."""
    return {
        row["group"]: _place(row) if str(row["run_id"]).startswith(IMPORTED) else MEASURED
        for row in runs.to_dict("records")
    }


def _group(base: str, row: Mapping[str, Any], groups: dict[str, tuple]) -> str:
    """A name that no group of another place has."""
    numbered = (f"{base[:50]}-{number}" for number in count(2))
    names = chain((base, f"{base}-{row['congestion']}"[:MAX_GROUP].rstrip("-")), numbered)
    return next(name for name in names if groups.setdefault(name, _place(row)) == _place(row))


def key_of(source: ReadFile, record: Record) -> str:
    return hashlib.sha256(f"{source.sha256}:{record.line}".encode()).hexdigest()


def identity_of(record: Record) -> str | None:
    """Identity of a test, in any copy of its report and at both ends; None if unknown.

    Rounded figures of two tests that began within the same second may be equal.
    """
    if record.test_id:
        return f"{record.tool} {record.test_id}"
    if record.started_unix_s is None or record.rounded:
        return None
    return hashlib.sha256(repr(replace(record, line=0)).encode()).hexdigest()


def completeness_of(record: Record) -> tuple[bool, bool]:
    """Order of several reports of a test: first one that has the receiver's count and the MTU."""
    sender_only = any(flow.measured_at == "sender" for flow in record.flows)
    return sender_only, record.mss_B is None and record.path_mtu_B is None


def _fact(facts: Facts, where: str, name: str, own: Any, *, needed: bool = False) -> Any:
    """A value of the file, else the user's."""
    stated, option = getattr(facts, name), f"--{name.removesuffix('_B').replace('_', '-')}"
    if own is not None and stated is not None and own != stated:
        reason = f"the file says {own}, {option} says {stated}"
        raise BadInput(reason, where=where, key=name, code="E-IMPORT-090")
    if needed and own is None and stated is None:
        reason = f"the file does not give it; state it ({option}, in Python {name})"
        raise BadInput(reason, where=where, key=name, code="E-IMPORT-091")
    return stated if own is None else own


def row_of(
    record: Record, source: ReadFile, facts: Facts, round_of: dict, groups: dict[str, tuple]
) -> dict:
    """One row of `RUN_COLUMNS`, without what no tool reports."""
    where = f"{source.path}: line {record.line}"
    fact, flows = partial(_fact, facts, where), record.flows
    streams = fact("streams", record.streams, needed=True)
    mtu_B, mtu_from = _mtu(record, facts, where)
    started_unix_s, started_from = _started(record, source, facts, where)
    ends = [flow.measured_at or fact("measured_at", None, needed=True) for flow in flows]
    facts_known = {name: fact(name, getattr(record, name)) for name in MAY_BE_UNKNOWN}
    generator = record.tool
    if record.datagrams:
        generator, facts_known["congestion"] = f"{record.tool}-udp", ""
    unknown = [name for name, value in facts_known.items() if value is None]
    unknown += ["tuning"] if facts.tuning == UNKNOWN else []
    pacing_MBps = record.pacing_MBps
    if pacing_MBps is not None and pacing_MBps > MOST_PACING_MBPS:
        pacing_MBps = None
    paced = "" if pacing_MBps is None else f"@pacing_MBps={pacing_MBps:.12g}"
    factors = json.dumps({"pacing_MBps": pacing_MBps}, separators=(",", ":")) if paced else ""
    direction = "->" if record.reverse is None else "<->"
    place = {
        **{"path": facts.path_name, "sender": facts.sender, "direction": direction},
        **{"congestion": UNKNOWN if "congestion" in unknown else facts_known["congestion"]},
        **{"factors": factors, "generator": generator},
    }
    sender_only = "sender" in ends  # has more than the receiver has read
    suffixes = "-sent" * sender_only + "-paced" * bool(paced)
    group = _group(f"{facts.group or generator}{suffixes}", place, groups)
    cell = f"{facts.path_name}@{facts.tuning}@{mtu_B}@{group}@{direction}@{streams}{paced}"
    number = round_of[cell] = round_of.get(cell, 0) + 1
    rates = [flow.goodput_MBps for flow in flows]
    goodputs = [None if end == "sender" else rate for rate, end in zip(rates, ends, strict=True)]
    window_s = fmean(flow.window_s for flow in flows)
    wall_s = record.wall_s if record.wall_s is not None else record.warmup_s + window_s
    flags: dict[Flag, str] = {}
    if sender_only:
        flags[Flag.SENDER_ONLY] = Flag.SENDER_ONLY.meaning
    full_share = payload_share(mtu_B, mtu_B - 40)
    if record.datagrams:
        full_share = datagram_share(mtu_B, facts_known["record_length_B"] or mtu_B - 28)
    if above := _above_link(rates, full_share, facts.link_Mbps):
        flags[Flag.IMPLAUSIBLE] = above
    named = f"{record.tool} {record.version}" if record.version else record.tool
    notes = [flow.note for flow in flows if flow.note]
    samples = [sample for flow in flows for sample in flow.samples]
    interval_sum_B = sum(sample.bytes for sample in samples) if samples else None
    if (interval_sum_B or 0) > 2 * MAX_COUNT:
        reason = f"intervals of {interval_sum_B} bytes in all"
        raise BadInput(reason, where=where, code="E-IMPORT-092")
    latency_ms = {name: _summary(each) for name, each in record.ping_ms.items()}
    imported = {
        "tool": record.tool,
        "version": record.version,
        "file": source.path.name,
        "sha256": source.sha256,
        "line": record.line,
        "measured_at": ends[0] if len(set(ends)) == 1 else ends,
        "rounded": record.rounded,
        "mtu_from": mtu_from,
        "started_from": started_from,
        "unknown": unknown,
        **({"latency_ms": latency_ms} if latency_ms else {}),
        **({"told": record.extras} if record.extras else {}),
        **({"test": test} if (test := identity_of(record)) else {}),
    }
    # the ICMP latency beside the streams, else the first of the others
    ping = next((name for name in latency_ms if "ICMP" in name), next(iter(latency_ms), ""))
    return dict(
        schema_version=SCHEMA_VERSION,
        study=facts.study,
        study_digest="",
        provenance_key=key_of(source, record),
        run_id=f"imported@{cell}@{number}",
        **place,
        group=group,
        receiver=facts.receiver,
        tuning=facts.tuning,
        mtu_B=mtu_B,
        streams=streams,
        round=number,
        seed=0,
        record_length_B=facts_known["record_length_B"] or 0,
        buffer_B=facts_known["buffer_B"] or 0,
        pacing_MBps=None if pacing_MBps is None else pacing_MBps * streams,
        generator_version=record.version,
        engine=record.tool,
        started_at=pd.Timestamp(round(started_unix_s * 1e6), unit="us", tz="UTC"),
        wall_s=wall_s,
        overhead_s=max(0.0, wall_s - record.warmup_s - window_s),
        window_s=window_s,
        goodput_MBps=None if sender_only else sum(rates),
        goodput_forward_MBps=goodputs[0],
        goodput_reverse_MBps=goodputs[1] if record.reverse is not None else None,
        sent_MBps=sum(rates) if sender_only else None,
        sent_B=_moved_B(record, ends, "sender"),
        received_B=_moved_B(record, ends, "receiver"),
        interval_sum_B=interval_sum_B,
        window_B=None if sender_only else sum_of([flow.window_B for flow in flows]),
        **{name: getattr(record, name) for name in AS_REPORTED},
        **(record.datagrams or Datagrams()).columns(whole=not record.warmup_s),
        **{f"ping_{part}_ms": value for part, value in latency_ms.get(ping, {}).items()},
        flags=join_flags(flags),
        message="; ".join([*(flags.values() or [f"imported from {named}"]), *notes]),
        unsupported="[]",
        knobs="{}",
        provenance=json.dumps({"netlab": version(), "imported": imported}, sort_keys=True),
    )


def _moved_B(record: Record, ends: list[str], end: str) -> int | None:
    """Bytes of the whole run at one end; those of the window where there was no warm-up."""
    counts = []
    for flow, counted_at in zip(record.flows, ends, strict=True):
        whole_B = flow.sent_B if end == "sender" else flow.received_B
        window_B = flow.window_B if counted_at == end and not record.warmup_s else None
        counts.append(window_B if whole_B is None else whole_B)
    return sum_of(counts)


ROUNDED = 1.001
"""Factor within which a printed rate is that of its bytes and time."""


def _above_link(rates: list[float], full_share: float, link_Mbps: float | None) -> str:
    """Why a run cannot be right: more payload than full frames carry; empty if it can."""
    most = math.inf if link_Mbps is None else link_Mbps / 8 * full_share
    if max(rates) <= most * ROUNDED:
        return ""
    return f"{max(rates):.1f} MB/s, and the link carries {most:.1f} MB/s of payload at most"


def _summary(values_ms: tuple[float, ...]) -> dict[str, float]:
    least, most = min(values_ms), max(values_ms)
    return {"min": least, "avg": fmean(values_ms), "max": most, "mdev": pstdev(values_ms)}


def interval_rows_of(run_id: str, record: Record) -> list[dict]:
    return [
        {"run_id": run_id, "direction": name, **asdict(sample)}
        for name, flow in zip(("forward", "reverse"), record.flows, strict=False)
        for sample in flow.samples
    ]


def _mtu(record: Record, facts: Facts, where: str) -> tuple[int, str]:
    mss_B, path_mtu_B = record.mss_B, record.path_mtu_B or 0
    if facts.mtu_B is not None:
        if path_mtu_B > facts.mtu_B:
            reason = f"the file says a path MTU of {path_mtu_B} B, --mtu says {facts.mtu_B}"
            raise BadInput(reason, where=where, key="mtu_B", code="E-IMPORT-093")
        return facts.mtu_B, "option"
    if path_mtu_B >= LEAST_MTU_B:
        return path_mtu_B, "path MTU"
    if mss_B is None:
        reason = "the file does not give it; state it (--mtu, in Python mtu_B)"
        raise BadInput(reason, where=where, key="mtu_B", code="E-IMPORT-094")
    usual = mtu_of(mss_B)
    if usual is None:
        stated = "state it (--mtu, in Python mtu_B)"
        reason = f"a segment size of {mss_B} B does not fit a usual MTU; {stated}"
        raise BadInput(reason, where=where, key="mtu_B", code="E-IMPORT-095")
    return usual[0], f"MSS {mss_B} and {usual[1]} B of headers"


def _started(record: Record, source: ReadFile, facts: Facts, where: str) -> tuple[float, str]:
    if record.started_unix_s is not None:
        return record.started_unix_s, "file"
    if facts.started_at is None:
        reason = "the file does not give it; state it (--started-at, in Python started_at)"
        raise BadInput(reason, where=where, key="started_at", code="E-IMPORT-096")
    if isinstance(facts.started_at, datetime):
        return facts.started_at.astimezone(UTC).timestamp(), "option"
    try:
        return source.path.stat().st_mtime, "file's modification time"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise BadInput(reason, where=where, code="E-IMPORT-097") from None
