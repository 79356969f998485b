"""The emulator reports before and after each run, and gets the order for a forced loss."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from lab_study import lab_study

from netlab.experiment.emulation import Emulation
from netlab.study import Study


class Listener:
    """An emulator double: records its calls, and reports their number."""

    def __init__(self):
        self.calls: list[tuple] = []

    def force_loss(self, direction: str, after_s: float) -> None:
        self.calls.append(("force", direction, after_s))

    def forget_losses(self, direction: str) -> None:
        self.calls.append(("forget", direction))

    def report(self, *, samples: bool = False, restart_ms: int | None = None) -> dict:
        self.calls.append(("report", samples, restart_ms))
        return {"calls": len(self.calls)}


def emulated(with_: str | None = "netlab", sender: str = "a", **group):
    """The emulation of a lab double, a group, and the calls of its emulator."""
    link = {"emulator": {"with": "netlab", "delay_ms": [20.0, 70.0]}}
    made = lab_study(paths={"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": link}})
    content = made.model_dump()
    content["groups"] = [{"name": "only", "path": "a-b", "sender": sender, **group}]
    asked, listener = Study.model_validate(content), Listener()
    lab = SimpleNamespace(emulated_with=lambda path: with_, emulator=lambda path: listener)
    return Emulation.of(asked, "a-b", lab), asked.groups[0], listener.calls


@pytest.mark.parametrize(("sender", "forward", "way_s"), [("a", "ab", 0.02), ("b", "ba", 0.07)])
def test_a_loss_is_ordered_for_the_forward_direction_of_the_run_and_no_other(
    sender, forward, way_s
):
    """The first data packet reaches the emulator one way after the common start."""
    emulation, group, calls = emulated(sender=sender, force_loss_at_s=0.5)
    made, found = emulation.around(group, lambda: "a result")
    assert made == "a result"
    assert calls == [
        ("force", forward, pytest.approx(0.5 + way_s)),
        ("report", False, emulation.interval_ms),
        ("report", True, None),
        ("forget", forward),
    ]
    assert (found.forward, found.before, found.after) == (forward, {"calls": 2}, {"calls": 3})


def test_a_run_that_wants_no_loss_orders_none():
    emulation, group, calls = emulated()
    emulation.around(group, lambda: None)
    assert [word for word, *_ in calls] == ["report", "report"]


def test_a_run_that_fails_leaves_no_order_for_a_loss():
    emulation, group, calls = emulated(force_loss_at_s=0.5)
    with pytest.raises(ZeroDivisionError):
        emulation.around(group, lambda: 1 / 0)
    assert calls[-1] == ("forget", "ab")


def test_a_path_without_netlabs_own_emulator_is_not_asked():
    assert emulated("netem")[0] is emulated(None)[0] is None
    assert Emulation.of(lab_study(), "a-b", None) is None
