"""Congestion controls that a study defines: a window law of netlab's own, with parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from netlab.study.base import Model, misplaced
from netlab.study.mistakes import MistakesFound
from netlab.tuning.profiles import nearest

if TYPE_CHECKING:
    from netlab.study.design import Study

KEYS: dict[str, tuple[str, ...]] = {
    "scalable": ("increase", "decrease", "legacy_window_segments", "max_ssthresh_segments"),
    "highspeed": ("max_ssthresh_segments",),
    "aimd": ("increase", "decrease", "max_ssthresh_segments"),
    "fast": ("alpha_packets", "gamma", "max_ssthresh_segments"),
    "kernel": (),
}
"""Parameters of each law."""

LINUX = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp"),
    *("nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Congestion controls in the source of Linux; a host need not have them all."""

KERNEL = "kernel"
"""Law of a declared congestion control that the hosts' kernels bring, from outside of Linux."""

Segments = Annotated[int, Field(ge=0, le=1_000_000)]


class Stack(Model):
    """A congestion control: one of netlab's window laws, with parameters.

    A parameter left out has the value of the law's publication.

    Parameters
    ----------
    law : str
        ``scalable`` (Kelly 2003), ``highspeed`` (RFC 3649), ``aimd`` or ``fast`` (Wei, Jin, Low,
        Hegde 2006); or ``kernel`` for a module from outside of Linux, which has no parameters.
    increase : float, optional
        ``aimd``: segments gained in a round trip, 1 in Reno. ``scalable``: segments gained for
        each one acknowledged, 0.01.
    decrease : float, optional
        Share of the window given up at a loss: ``aimd`` 0.5 as in Reno, ``scalable`` 0.125.
    legacy_window_segments : int, optional
        ``scalable`` grows as Reno up to here, 16.
    alpha_packets : int, optional
        Packets ``fast`` keeps queued, 200.
    gamma : float, optional
        How far ``fast`` goes in one round trip, 0.5.
    max_ssthresh_segments : int, optional
        Limited slow start above this window (RFC 3742); 0 or absent: none.
    """

    law: Literal["scalable", "highspeed", "aimd", "fast", "kernel"]
    increase: Annotated[float, Field(ge=1e-6, le=1000, allow_inf_nan=False)] | None = None
    decrease: Annotated[float, Field(ge=1e-6, le=0.999999, allow_inf_nan=False)] | None = None
    legacy_window_segments: Segments | None = None
    max_ssthresh_segments: Segments | None = None
    alpha_packets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    gamma: Annotated[float, Field(ge=1e-6, le=1, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _keys_fit_law(self) -> Self:
        for key in self.parameters():
            if key not in KEYS[self.law]:
                takes = ", ".join(KEYS[self.law]) or "no parameters"
                raise ValueError(f"{key}: the law {self.law} takes {takes}")
        if self.law == "scalable" and self.increase is not None and self.increase > 1:
            raise ValueError("increase: scalable gains at most 1 segment for each acknowledged")
        return self

    def parameters(self) -> dict[str, float | int]:
        """The parameters given, by key."""
        return self.model_dump(exclude={"law"}, exclude_none=True)


def check_congestions(study: Study, found: MistakesFound) -> None:
    """Find congestion controls that neither Linux, netlab nor the study has.

    Parameters
    ----------
    study : Study
        The study.
    found : MistakesFound
        Gets the mistakes, with the place of the name in the study; the sentence has the nearest
        known names.
    """
    known = {*LINUX, *(law for law in KEYS if law != KERNEL), *study.stacks}
    named: list[tuple[tuple[str | int, ...], str]] = [(("congestion",), study.congestion or "")]
    at: tuple[str | int, ...] = ("factors", "congestion")
    named += [((*at, i), level) for i, level in enumerate(study.factors.congestion or ())]
    for number, group in enumerate(study.groups):
        place: tuple[str | int, ...] = ("groups", number)
        if group.congestion:
            named.append(((*place, "congestion"), group.congestion))
        levels = group.factors.congestion or ()
        named += [((*place, *at, i), level) for i, level in enumerate(levels)]
    for where, congestion in named:
        for name in congestion.split("+"):
            if not name or name in known:
                continue
            with found.mistakes():
                raise misplaced(
                    f"unknown congestion control {name!r}; {nearest(name, known)}; declare a "
                    f"module of the hosts' own as stacks: {{{name}: {{law: kernel}}}}",
                    where,
                    congestion,
                    code="E-STUDY-083",
                )
