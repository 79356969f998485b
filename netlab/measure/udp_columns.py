"""Datagrams of a UDP run: their columns, and notes on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from netlab.measure.exchange import Direction, datagrams, datagrams_of

SKIPPED_SHARE = 0.01
"""Least share of the datagrams due that a sender did not send, for a note."""


def datagram_columns(flows: Sequence[Direction]) -> dict[str, float | int | None]:
    """Columns of the datagrams, all directions; empty for TCP."""
    gens, sinks = [flow.gen for flow in flows], [flow.sink for flow in flows]
    if not (each := [stream for sink in sinks for stream in datagrams_of(sink)]):
        return {}
    sent, received = datagrams("sent", *gens), datagrams("received", *sinks)
    lost, bursts = datagrams("lost", *sinks), datagrams("bursts", *sinks)
    jitters_us = [stream["jitter_ns"] / 1e3 for stream in each if stream["received"] > 1]
    return {
        "sent_datagrams": sent,
        "skipped_datagrams": datagrams("skipped", *gens),
        "received_datagrams": received,
        "lost_percent": 100 * (1 - received / sent) if sent else None,
        "reordered": datagrams("reordered", *sinks),
        "duplicates": datagrams("duplicates", *sinks),
        "jitter_us": float(np.mean(jitters_us)) if jitters_us else None,
        "socket_drops": datagrams("socket_drops", *sinks),
        "loss_burst_mean": lost / bursts if bursts else None,
        "loss_burst_max": max(stream["burst_max"] for stream in each),
    }


def _notes(flow: Direction, unfragmented_B: int | None) -> Iterator[str]:
    skipped = datagrams("skipped", flow.gen)
    due = skipped + datagrams("sent", flow.gen)
    if skipped > SKIPPED_SHARE * due:
        why = "for want of a CPU, or of room in its send buffer"
        yield f"udp: the sender skipped {100 * skipped / due:.1f} % of its datagrams, {why}"
    if not datagrams("received", flow.sink):
        why = "UDP to the port of the receiver may be filtered"
        if unfragmented_B:
            why = (
                "a filter may drop their fragments: `netlab check` tries smaller ones; "
                f"`record_length_B: {unfragmented_B}` sends none, as does a group without it"
            )
        yield f"udp: no datagram arrived; {why}"
    if strays := flow.sink["rejected"]["datagrams"]:
        yield f"udp: {strays} datagrams came from elsewhere than the sender's sockets"
    if invalid := datagrams("invalid", flow.sink):
        yield f"udp: {invalid} datagrams were not of their stream, or came too late"


def datagram_notes(flows: Sequence[Direction], unfragmented_B: int | None = None) -> str:
    """Facts on a UDP run that its figures do not show; empty without any.

    ``unfragmented_B`` is the largest size without fragments, for datagrams that are larger.
    """
    notes = (_notes(flow, unfragmented_B) for flow in flows if datagrams_of(flow.sink))
    return "; ".join(chain.from_iterable(notes))
