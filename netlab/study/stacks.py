"""Congestion controls that a study defines: a window law of netlab's own, with parameters."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netlab.study.base import Model
from netlab.tuning.knobs import key

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


class Stack(Model, title="`stacks.NAME`"):
    """A congestion control: one of netlab's window laws, with parameters.

    ``scalable`` (Kelly 2003), ``highspeed`` (RFC 3649), ``aimd`` or ``fast`` (Wei, Jin, Low, Hegde
    2006); or ``kernel`` for a module from outside of Linux, which has no parameters. A parameter
    left out has the value of the law's publication: increase 1 and decrease 0.5 in ``aimd`` as in
    Reno, 0.01, 0.125 and 16 segments in ``scalable``, 200 packets and 0.5 in ``fast``. Limited slow
    start is that of RFC 3742; 0: none.
    """

    law: Literal["scalable", "highspeed", "aimd", "fast", "kernel"] = key(
        "Window law, or `kernel` for a module of the hosts.", "aimd"
    )
    increase: float | None = key(
        "aimd: segments gained in a round trip; scalable: for each acknowledged.",
        1.0,
        None,
        ge=1e-6,
        le=1000,
        allow_inf_nan=False,
    )
    decrease: float | None = key(
        "Share of the window given up at a loss.",
        0.5,
        None,
        ge=1e-6,
        le=0.999999,
        allow_inf_nan=False,
    )
    legacy_window_segments: Segments | None = key("scalable: grows as Reno up to here.", 16, None)
    max_ssthresh_segments: Segments | None = key("Limited slow start above this window.", 100, None)
    alpha_packets: int | None = key(
        "fast: packets that stay queued.", 200, None, ge=1, le=1_000_000
    )
    gamma: float | None = key(
        "fast: share of the way in one round trip.", 0.5, None, ge=1e-6, le=1, allow_inf_nan=False
    )

    @model_validator(mode="after")
    def _keys_fit_law(self) -> Self:
        for name in self.parameters():
            if name not in KEYS[self.law]:
                takes = ", ".join(KEYS[self.law]) or "no parameters"
                raise ValueError(f"{name}: the law {self.law} takes {takes}")
        if self.law == "scalable" and self.increase is not None and self.increase > 1:
            raise ValueError("increase: scalable gains at most 1 segment for each acknowledged")
        return self

    def parameters(self) -> dict[str, float | int]:
        return self.model_dump(exclude={"law"}, exclude_none=True)
