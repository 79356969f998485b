"""The emulator reports before and after each run, and gets the order for a forced loss."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from lab_study import lab_study

from netlab.errors import RunError
from netlab.experiment.emulation import Emulation
from netlab.study import Study
from netlab.study.schedule import visits


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


def study(sender: str = "a", **group) -> Study:
    link = {"emulator": {"with": "netlab", "delay_ms": [20.0, 70.0]}}
    made = lab_study(paths={"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": link}})
    content = made.model_dump()
    content["groups"] = [{"name": "only", "path": "a-b", "sender": sender, **group}]
    return Study.model_validate(content)


def up(emulated_with: str | None) -> tuple[SimpleNamespace, Listener]:
    """A lab double with that kind of emulation, and its emulator."""
    listener = Listener()
    return SimpleNamespace(
        emulated_with=lambda path: emulated_with, emulator=lambda path: listener
    ), listener


@pytest.mark.parametrize(("sender", "forward", "way_s"), [("a", "ab", 0.02), ("b", "ba", 0.07)])
def test_a_loss_is_ordered_for_the_forward_direction_of_the_run_and_no_other(
    sender, forward, way_s
):
    """The first data packet reaches the emulator one way after the common start."""
    asked = study(sender, force_loss_at_s=0.5)
    visit = visits(asked)[0]
    lab, listener = up("netlab")
    emulation = Emulation.of(asked, visit.path, lab)
    made, emulated = emulation.around(visit.runs[0].group, lambda: "a result")
    assert made == "a result"
    assert listener.calls == [
        ("force", forward, pytest.approx(0.5 + way_s)),
        ("report", False, asked.timing.interval_ms),
        ("report", True, None),
        ("forget", forward),
    ]
    assert emulated.forward == forward
    assert (emulated.before, emulated.after) == ({"calls": 2}, {"calls": 3})


def test_a_run_that_wants_no_loss_orders_none():
    asked = study()
    visit = visits(asked)[0]
    lab, listener = up("netlab")
    Emulation.of(asked, visit.path, lab).around(visit.runs[0].group, lambda: None)
    assert [word for word, *_ in listener.calls] == ["report", "report"]


def test_a_run_that_fails_leaves_no_order_for_a_loss():
    asked = study(force_loss_at_s=0.5)
    visit = visits(asked)[0]
    lab, listener = up("netlab")

    def fails():
        raise RunError("failed")

    with pytest.raises(RunError):
        Emulation.of(asked, visit.path, lab).around(visit.runs[0].group, fails)
    assert listener.calls[-1] == ("forget", "ab")


@pytest.mark.parametrize("emulated_with", ["netem", None])
def test_a_path_without_netlabs_own_emulator_is_not_asked(emulated_with):
    asked = study()
    visit = visits(asked)[0]
    assert Emulation.of(asked, visit.path, up(emulated_with)[0]) is None
    assert Emulation.of(asked, visit.path, None) is None
