"""Tables of the cards' own counters and of shared receive queues."""

from __future__ import annotations

from netlab.analysis import card_counters, cell_texts
from netlab.analysis.measured import Measured
from netlab.files.tables import Sentence, Table, table_or


def counters(m: Measured) -> Table | Sentence:
    """Drops, errors and pause frames that the cards counted."""
    frame = card_counters.counters(m.runs)
    if frame is None:
        return Sentence("No driver of these hosts counts drops, errors or pause frames of its own.")
    return table_or(
        "No counter of drops, errors or pause frames of the cards grew in a run.",
        frame,
        "Drops, errors and pause frames that the cards counted (ethtool -S)",
        heads={"runs": "runs with growth", "median": "median growth", "worst": "largest growth"},
        formats={"median": cell_texts.number, "worst": cell_texts.number},
    )


def queues(m: Measured) -> Table | Sentence:
    """Streams that collided on a receive queue."""
    frame = card_counters.collisions(m.runs)
    if frame is None:
        return Sentence("The kernel numbers no receive queue of these hosts.")
    heads = {"receive_cpus": "CPUs that receive", "receive_queues": "queues in use"}
    heads["streams_per_queue"] = "most streams a queue"
    return table_or(
        "No two streams of a run shared a receive queue.",
        frame,
        "Streams that share a receive queue (SO_INCOMING_NAPI_ID at the end of a run)",
        heads,
        dict.fromkeys(heads, ".0f"),
        note="A queue is served by one CPU at a time: its streams share what that CPU can carry.",
    )
