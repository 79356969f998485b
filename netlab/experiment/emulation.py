"""The emulator of a block's path while its runs cross it: asked before and after each of them."""

from __future__ import annotations

from netlab.lab.emulator import LabEmulator
from netlab.lab.lab import Lab
from netlab.measure import Emulated
from netlab.study import Study
from netlab.study.schedule import Block, Run


class Emulation:
    """The emulator of a path of a lab that is up.

    Parameters
    ----------
    emulator : LabEmulator
        Which one.
    first : str
        Host at the first end of the path.
    each_way_s : tuple of float
        Delay asked of it from the first end to the second, and back.
    interval_ms : int
        Between two samples of its queues.
    """

    def __init__(
        self,
        emulator: LabEmulator,
        first: str,
        each_way_s: tuple[float, float],
        interval_ms: int,
    ):
        self._emulator, self._first = emulator, first
        self._each_way_s, self._interval_ms = each_way_s, interval_ms

    @classmethod
    def of(cls, study: Study, block: Block, lab: Lab | None) -> Emulation | None:
        """The emulator of a block's path; None if it has none, or netem, which tells nothing."""
        path = study.paths[block.path]
        if lab is None or path.link is None or lab.emulated_with(block.path) != "netlab":
            return None
        there_ms, back_ms = path.link.emulator.each_way_ms
        return cls(
            lab.emulator(block.path),
            path.ends[0].host,
            (there_ms / 1e3, back_ms / 1e3),
            study.timing.interval_ms,
        )

    def _forward(self, run: Run) -> str:
        return "ab" if run.group.sender == self._first else "ba"

    def begin(self, run: Run) -> dict:
        """A run is about to begin: order the loss it asks for; what was counted so far.

        Raises
        ------
        HostError
            The emulator is gone.
        """
        forward = self._forward(run)
        if run.group.force_loss_at_s is not None:
            # The first data packet is there a way before the common start, which is the sink's.
            way_s = self._each_way_s[forward == "ba"]
            self._emulator.force_loss(forward, run.group.force_loss_at_s + way_s)
        return self._emulator.report(restart_ms=self._interval_ms)

    def end(self, run: Run, before: dict) -> Emulated:
        """What the emulator did since the run began, with what :meth:`begin` returned.

        Raises
        ------
        HostError
            The emulator is gone.
        """
        return Emulated(before, self._emulator.report(samples=True), self._forward(run))

    def forget(self, run: Run) -> None:
        """Leave no order of a run that has ended, well or not, to the next one."""
        if run.group.force_loss_at_s is not None:
            self._emulator.forget_losses(self._forward(run))
