"""A search request: a path of a study, an objective and a time budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlab.errors import BadInput, require
from netlab.lab.link_queues import queue_a_cpu
from netlab.lab.pair import lab_pair
from netlab.search.autotune.candidates import Candidate, check_levels, within
from netlab.study import Group, Study
from netlab.study.factors import (
    OF_EMULATOR,
    OF_GROUP,
    OF_LINK,
    OF_POLICY,
    OF_REVERSE,
    OF_SOCKET,
    level_text,
)

DEFAULT_PATH = "lab"
LEAST_S, MOST_S = 10, 86_400
ENGINES = ("same", "all")
DIRECTIONS = ("->", "<->")
TAKEN_OVER = (
    *("sender", "direction", "record_length_B", "buffer_B", "receive_buffer_B"),
    *("congestion", "streams"),
)
"""Keys that a group for another direction or sender copies from the most similar group."""


def default_study() -> Study:
    """Two lab hosts joined by one unshaped path: veth's offloads, one queue per CPU."""
    link = {
        "interrupt_delay_us": 0.0,
        "segmentation_offload": True,
        "checksum_offload": True,
        "queues": queue_a_cpu(),
    }
    groups = [{"name": "gen -> sink", "path": DEFAULT_PATH}]
    tunings = [{"name": "openlab-2003-normal", "mtus_B": [1500]}]
    title = "A lab path to find the best setting of"
    return lab_pair("autotune", title, {DEFAULT_PATH: link}, groups, tunings=tunings)


@dataclass(frozen=True)
class SearchRequest:
    study: Study
    path: str
    aim: str = "goodput"
    seconds: float = 120.0
    direction: str | None = None
    sender: str | None = None
    tuning: str | None = None
    mtu_B: int | None = None
    engines: str = "same"
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int | None = None
    noisy: bool = False

    def __post_init__(self) -> None:
        objective(self.aim)
        require(self.path, self.study.paths, key="PATH", code="E-AUTOTUNE-008")
        within("seconds", self.seconds, LEAST_S, MOST_S, code="E-AUTOTUNE-009")
        ends = [end.host for end in self.study.paths[self.path].ends]
        tunings = [level.name for level in self.study.tunings]
        for key, choices in (
            ("direction", DIRECTIONS),
            ("sender", ends),
            ("tuning", tunings),
            ("engines", ENGINES),
        ):
            if (value := getattr(self, key)) is not None:
                require(value, choices, key=key, code="E-AUTOTUNE-010")
        check_levels(self.given)
        within("mtu", self.mtu_B, 576, 65535, code="E-AUTOTUNE-011")
        within("seed", self.seed, 0, 2**63 - 1, code="E-AUTOTUNE-013")
        if self.group.generator != "netlab":
            only = f"{self.group.name} uses {self.group.generator}; autotune needs netlab"
            raise BadInput(only, key="PATH", value=self.path, code="E-AUTOTUNE-012")
        self._refuse_factors()

    def _refuse_factors(self) -> None:
        """Refuse a group that crosses factors: a search starts from one setting."""
        group = self.nearest
        crossed = group.factors.over(self.study.factors).given() if group else {}
        if group is None or not crossed:
            return
        listed = "; ".join(
            f"{name} ({', '.join(map(level_text, levels))}) as {_key_of(name, self.path)}"
            for name, levels in crossed.items()
        )
        raise BadInput(
            f"{group.name} crosses factors, and a search starts from one setting: in a copy "
            f"of the study without `factors` and `exclude`, give one level of {listed}; search "
            "once for each level of interest",
            where=self.study.name,
            key="PATH",
            value=self.path,
            code="E-AUTOTUNE-017",
        )

    @property
    def nearest(self) -> Group | None:
        """The group on this path that is most similar to what is asked; None without a group."""
        return max(
            (group for group in self.study.groups if group.path == self.path),
            key=lambda group: sum(getattr(group, k) == v for k, v in self._wanted.items()),
            default=None,
        )

    @property
    def _wanted(self) -> dict[str, Any]:
        wanted = {"generator": "netlab", "direction": self.direction, "sender": self.sender}
        return {key: value for key, value in wanted.items() if value is not None}

    @property
    def group(self) -> Group:
        """The group with the current settings: the first on this path that matches.

        If none has the requested direction and sender, a new group with them and with the settings
        of the most similar one; defaults if the path has no group.
        """
        wanted, nearest = self._wanted, self.nearest
        if nearest is None:
            first = self.study.paths[self.path].ends[0].host
            return Group(**{"name": self.path, "path": self.path, "sender": first, **wanted})
        fits = all(getattr(nearest, key) == value for key, value in wanted.items())
        if fits or nearest.generator != "netlab":
            without = {"force_loss_at_s": None, "cross_udp_Mbps": 0.0, "cross_udp_B": None}
            # streams that are alike, and so over the whole path
            own = {"flows": (), "congestion": self.study.congestion_of(nearest) or None}
            return nearest.model_copy(update={**without, **own})
        same = {name: getattr(nearest, name) for name in TAKEN_OVER}
        new = {**same, **wanted, "path": self.path}
        return Group(**new, name=f"tuned {self.path} {new['direction']}")

    @property
    def start(self) -> Candidate:
        """The current settings: the group's, with the first of its stream counts."""
        group, study = self.group, self.study
        return Candidate(
            record_length_B=group.record_length_B,
            buffer_B=group.buffer_B,
            streams=study.levels(group)[0][2],
            receive_buffer_B=group.receive_buffer_B,
            engine=study.engine,
            receive=study.receive,
            send=study.send,
        )

    @property
    def own_seed(self) -> int:
        return self.study.seed if self.seed is None else self.seed

    @property
    def error(self) -> float:
        """Error probability of each race: one minus the study's confidence."""
        return 1 - self.study.confidence


def _key_of(factor: str, path: str) -> str:
    """Key of a study that has one level of a factor."""
    link = f"paths.{path}.link"
    places = {
        OF_REVERSE: f"{link}.emulator.reverse.{factor.removeprefix('reverse_')}",
        OF_EMULATOR: f"{link}.emulator.{factor}",
        ("offloads",): f"{link}.segmentation_offload and checksum_offload",
        ("rate_Mbps",): f"{link}.rate_Mbps, or emulator.rate_Mbps of a link with an emulator",
        OF_LINK: f"{link}.{factor}",
        OF_GROUP: f"{factor} of the group",
        OF_SOCKET: f"socket.{factor}",
        OF_POLICY: f"policy.{factor}",
    }
    return next((key for factors, key in places.items() if factor in factors), factor)


@dataclass(frozen=True)
class Objective:
    """One figure of a run to maximise or minimise.

    Scores are natural logarithms, so that a difference of two is a ratio: the spread of figures is
    proportional to their size.
    """

    name: str
    column: str
    label: str
    unit: str
    sign: int

    def score(self, sample: dict) -> float | None:
        value = sample.get(self.column)
        if value is None or not math.isfinite(value) or value <= 0:
            return None
        return self.sign * math.log(value)

    def value(self, score: float) -> float:
        return math.exp(self.sign * score)

    def lag_percent(self, gap: float) -> float:
        """A gap in score as per cent of the better figure.

        At most 100 for a goodput (the missing share); unlimited for a cost (the excess).
        """
        return -self.sign * self.change_percent(-gap)

    def change_percent(self, score: float) -> float:
        """A change of score as a change of the figure in per cent; infinite on overflow."""
        try:
            return 100 * math.expm1(self.sign * score)
        except OverflowError:
            return math.inf


OBJECTIVES = {
    "goodput": Objective("goodput", "goodput_MBps", "goodput", "MB/s", 1),
    "cpu": Objective("cpu", "cpu_s_per_GB", "CPU time per byte", "CPU s/GB", -1),
}


def objective(name: str) -> Objective:
    require(name, OBJECTIVES, key="for", code="E-AUTOTUNE-014")
    return OBJECTIVES[name]
