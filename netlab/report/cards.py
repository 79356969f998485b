"""Tables of the cards' own counters and of shared receive queues."""

from __future__ import annotations

from netlab.analysis import cards, printed
from netlab.analysis.measured import Measured
from netlab.files.tables import Table
from netlab.report.tables import Sentence


def counters(m: Measured) -> Table | Sentence:
    """Drops, errors and pause frames that the cards counted."""
    frame = cards.counters(m.runs)
    if frame is None:
        return Sentence("No driver of these hosts counts drops, errors or pause frames of its own.")
    if frame.empty:
        return Sentence("No counter of drops, errors or pause frames of the cards grew in a run.")
    return Table(
        frame,
        "Drops, errors and pause frames that the cards counted (ethtool -S)",
        heads={"runs": "runs with growth", "median": "median growth", "worst": "largest growth"},
        formats={"median": printed.number, "worst": printed.number},
    )


def queues(m: Measured) -> Table | Sentence:
    """Streams that collided on a receive queue."""
    frame = cards.collisions(m.runs)
    if frame is None:
        return Sentence("The kernel numbers no receive queue of these hosts.")
    if frame.empty:
        return Sentence("No two streams of a run shared a receive queue.")
    return Table(
        frame,
        "Streams that share a receive queue (SO_INCOMING_NAPI_ID at the end of a run)",
        heads={
            "receive_cpus": "CPUs that receive",
            "receive_queues": "queues in use",
            "streams_per_queue": "most streams a queue",
        },
        formats=dict.fromkeys(("receive_cpus", "receive_queues", "streams_per_queue"), ".0f"),
        note="A queue is served by one CPU at a time: its streams share what that CPU can carry.",
    )
