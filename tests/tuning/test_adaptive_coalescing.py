"""A driver that adapts the delay of its interrupts is not drift; another change of it is."""

from __future__ import annotations

import itertools

import pytest

from netlab.tuning.profiles import load_profile
from netlab.tuning.session import TuningSession

DELAYS_US = ("8", "112", "64", "20")


class Card:
    """Answers of a host, as a Mellanox card gives them: its delay of interrupts at each read."""

    def __init__(self, adaptive: str, usecs: tuple[str, ...] = DELAYS_US):
        self.adaptive, self.usecs = adaptive, itertools.cycle(usecs)
        self.left = [{"event": "ready", "stale": 0, "note": None}]

    def send(self, line: str) -> None:
        words = dict(word.split("=") for word in line.split()[1:])
        name = (words["knob"], words.get("name"))
        value = {
            ("mtu", None): "1500",
            ("adaptive", "rx"): self.adaptive,
            ("adaptive", "tx"): "off",
            ("coalesce", "tx-usecs"): "16",
        }.get(name)
        if name == ("coalesce", "rx-usecs"):
            value = next(self.usecs)
        reason = None if value else "the device has none"
        read = {"supported": value is not None, "writable": value is not None, "reason": reason}
        place = {"knob": name[0], "name": name[1], "interface": words.get("interface")}
        self.left.append({"event": "value", **place, "value": value, **read})

    def receive(self, timeout_s: float) -> dict:
        return self.left.pop(0)


@pytest.mark.parametrize(("adaptive", "drifts"), [("on", False), ("off", True)])
def test_a_delay_that_the_driver_adapts_is_not_drift(adaptive, drifts):
    with TuningSession(Card(adaptive), load_profile("as-found"), "eth0", hold_s=0) as session:
        for _ in range(3):
            drift = session.drift()
            assert [(one.knob, one.name) for one in drift] == [("coalesce", "rx-usecs")] * drifts


def test_adaptation_that_is_turned_off_is_drift():
    card = Card("on")
    with TuningSession(card, load_profile("as-found"), "eth0", hold_s=0) as session:
        card.adaptive = "off"
        (drift,) = session.drift()
    assert (drift.knob, drift.name, drift.expected, drift.found) == ("adaptive", "rx", "on", "off")
