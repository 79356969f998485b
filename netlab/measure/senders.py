"""Several hosts that send to one sink: the part of each, and their reports as one sender's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from netlab.files.run_results import ReadEnd, SentEnd

STREAM_TIMES: tuple[Literal["t_first_ns", "t_last_ns", "t_end_ns"], ...] = (
    "t_first_ns",
    "t_last_ns",
    "t_end_ns",
)


@dataclass(frozen=True)
class Part:
    """Streams of a direction that one host sends: its report, and the sink's of them alone."""

    host: str
    gen: SentEnd
    sink: ReadEnd
    streams: tuple[int, ...]

    @classmethod
    def of(cls, host: str, gen: SentEnd, sink: ReadEnd, streams: tuple[int, ...]) -> Part:
        rows = [sink["per_stream"][stream] for stream in streams]
        samples, window = sink["samples"], sink.get("window")
        counts = np.asarray(samples["bytes"], np.int64).reshape(len(sink["per_stream"]), -1)
        counts = counts[list(streams)]
        own = {
            "per_stream": rows,
            "total_bytes": sum(row["bytes"] for row in rows),
            "interval_sum_bytes": int(np.diff(counts, axis=1).sum()),
            "samples": {**samples, "bytes": counts},
            "window": window and {**window, "bytes": sum(row["window_bytes"] for row in rows)},
            "meter": None,  # of all senders
        }
        return cls(host, gen, cast(ReadEnd, {**sink, **own}), streams)


def joined(parts: Sequence[Part]) -> SentEnd:
    """The streams of all parts as the report of one sender, without what is of a host.

    Each host has its own clock. Times are those of the first one's, where all start at once.
    """
    first = parts[0].gen
    rows: dict[int, dict] = {}
    for part in parts:
        ahead_ns = part.gen["t_go_ns"] - first["t_go_ns"]
        for stream, row in zip(part.streams, part.gen["per_stream"], strict=True):
            times = {name: row[name] - ahead_ns for name in STREAM_TIMES if row.get(name)}
            rows[stream] = {**row, "stream": stream, **times}
    failed = next((part for part in parts if part.gen["status"] != "ok"), parts[0])
    gens, window = [part.gen for part in parts], first.get("window")
    if window is not None:
        window = {**window, "bytes": sum(gen["window"]["bytes"] for gen in gens)}
    sums = {name: sum(gen[name] for gen in gens) for name in ("total_bytes", "interval_sum_bytes")}
    of_all = {
        **first,
        **{name: failed.gen.get(name) for name in ("status", "code", "message")},
        **sums,
        "window": window,
        "streams": len(rows),
        "per_stream": [rows[stream] for stream in sorted(rows)],
        **dict.fromkeys(("meter", "others", "card", "trace", "zerocopy")),
    }
    return cast(SentEnd, of_all)
