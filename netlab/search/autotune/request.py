"""A search request: a path of a study, an objective, a time budget, and the candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count, takewhile
from typing import Any

from netlab import core
from netlab.errors import BadInput, CoreError, require
from netlab.lab.link import queue_a_cpu
from netlab.lab.topology import lab_pair
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
from netlab.units import KIB, MIB, size

# Candidates: the settings that a search chooses, and the levels of each.

ENGINE_WORDS = {
    "send": ("copy", "zerocopy", "sendfile", "splice"),
    "receive": ("copy", "discard", "splice", "zerocopy"),
    "engine": ("blocking", "epoll", "plain"),
}
"""Options of a run with words as values, and the words that a search tries if the core has them."""


LAST_RACE = "last race"


@dataclass(frozen=True)
class Candidate:
    record_length_B: int
    buffer_B: int
    streams: int
    receive_buffer_B: int | None = None
    engine: str = "auto"
    receive: str = "copy"
    send: str = "copy"

    def level(self, factor: str) -> Any:
        return getattr(self, factor)

    def at(self, factor: str, level: int | str) -> Candidate:
        """A copy with one factor at another level; a changed buffer applies to both ends."""
        changed: dict[str, Any] = {factor: level}
        if factor == "buffer_B" and level != self.buffer_B:
            changed["receive_buffer_B"] = None
        return replace(self, **changed)

    def as_dict(self) -> dict[str, int | str]:
        return {name: level for name, level in asdict(self).items() if level is not None}

    def label(self) -> str:
        return ", ".join(shown(name, level) for name, level in self.as_dict().items())

    @property
    def discards(self) -> bool:
        """True if it does not copy every byte."""
        return (self.send, self.receive) != ("copy", "copy")


def shown(factor: str, level: int | str) -> str:
    if factor == "streams":
        return f"{level} stream" + ("" if level == 1 else "s")
    if factor == "record_length_B":
        return f"records of {size(int(level))}"
    if factor == "buffer_B":
        return f"buffers of {size(int(level))}" if level else "the kernel's own buffers"
    if factor == "receive_buffer_B":
        own = f"of {size(int(level))}" if level else "the kernel's own"
        return f"the receiver's {own}"
    return f"{factor} {level}"


def named(race: str, candidate: Candidate) -> str:
    """A candidate in a race: its level of the factor, or all levels in the last race."""
    return candidate.label() if race == LAST_RACE else shown(race, candidate.level(race))


RECORD_LENGTHS_B = tuple(4 * KIB << step for step in range(11))
LEAST_BUFFER_B, USUAL_BUFFER_B, MOST_BUFFER_B = 64 * KIB, 4 * MIB, 256 * MIB
BUFFER_STEP = 4
MOST_STREAMS = 64
REACH = 2
FILES_SPARE = 64
"""Open files that an agent needs besides its streams."""

OPTION = {"record_length_B": "record_B", "buffer_B": "buffer_B", "streams": "streams"}
"""The core's option of each numeric factor; the core has the limits."""

_REQUIRED: dict[str, dict[str, Any]] = {
    "sink": {"bind": "127.0.0.1"},
    "gen": {"to": "127.0.0.1", "port": 1},
}


@dataclass(frozen=True)
class PathLimits:
    bdp_B: float | None = None
    granted_B: int | None = None
    rate_MBps: float | None = None
    cpus: int = 1
    open_files: int | None = None


def factors(
    start: Candidate,
    found: PathLimits,
    *,
    engines: str = "same",
    given: Mapping[str, Sequence[int]] | None = None,
) -> tuple[dict[str, tuple], dict[str, str]]:
    raced: dict[str, Sequence[int]] = {
        "record_length_B": RECORD_LENGTHS_B,
        "buffer_B": buffer_levels(found),
        "streams": stream_levels(found),
        **(given or {}),
    }
    levels = {name: tuple(sorted({*some, start.level(name)})) for name, some in raced.items()}
    refused: dict[str, str] = {}
    for name in ENGINE_WORDS if engines == "all" else ("engine",):
        words, why = engine_levels(name)
        levels[name] = tuple(dict.fromkeys((start.level(name), *words)))
        refused |= why
    return levels, refused


def within(key: str, value: float | None, least: float, most: float, *, code: str) -> None:
    """Refuse a number outside its range, also one that is not a number."""
    if value is not None and not least <= value <= most:
        raise BadInput(f"is from {least} to {most}", key=key, value=value, code=code)


def check_levels(given: Mapping[str, Sequence[int]]) -> None:
    for name, levels in given.items():
        option = core.options()[OPTION[name]]
        for level in levels:
            within(name, level, option.minimum, option.maximum, code="E-AUTOTUNE-001")


def buffer_levels(found: PathLimits) -> tuple[int, ...]:
    """0, then 64 KiB and multiples by 4 up to twice the bandwidth-delay product, if granted.

    Omit buffers that the link takes over a second to drain: they only delay every run.
    """
    most_B = max(USUAL_BUFFER_B, 2 * BUFFER_STEP * (found.bdp_B or 0))
    most_B = min(most_B, drained_B(found.rate_MBps), found.granted_B or MOST_BUFFER_B)
    sizes = (LEAST_BUFFER_B * BUFFER_STEP**step for step in count())
    levels = {0, *takewhile(lambda size_B: size_B <= most_B, sizes)}
    if found.granted_B and LEAST_BUFFER_B <= found.granted_B < MOST_BUFFER_B:
        levels.add(found.granted_B)
    return tuple(sorted(levels))


def drained_B(rate_MBps: float | None) -> int:
    """Largest useful buffer: one second of the link rate, within the overall limits."""
    if rate_MBps is None:
        return MOST_BUFFER_B
    return min(MOST_BUFFER_B, max(BUFFER_STEP * LEAST_BUFFER_B, int(rate_MBps * 1e6)))


def stream_levels(found: PathLimits) -> tuple[int, ...]:
    """Powers of two up to four per CPU, at least 8, within the limit of open files."""
    most = min(MOST_STREAMS, max(8, 4 * found.cpus))
    if found.open_files is not None:
        most = min(most, max(1, found.open_files - FILES_SPARE))
    return tuple(1 << step for step in range(most.bit_length()))


def engine_levels(name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Words of an option that the core accepts, and the reasons for the others."""
    run: dict[str, Any] = {"run": 1, "token": "0" * 32, "streams": 1, "window_ms": 100}
    refused: dict[str, str] = {}
    for word in ENGINE_WORDS[name]:
        try:
            for role in core.options()[name].roles:
                core.check_options(role, **run, **_REQUIRED[role], record_B=65536, **{name: word})
        except CoreError as error:
            refused[f"{name}={word}"] = str(error)
    words = (word for word in ENGINE_WORDS[name] if f"{name}={word}" not in refused)
    return tuple(words), refused


def thinned(levels: Sequence, present: object, most: int) -> tuple:
    """At most `most` even levels, two or more for a race; the current one replaces its nearest."""
    most = max(2, most)
    if len(levels) <= most:
        return tuple(levels)
    at = {round(step * (len(levels) - 1) / (most - 1)) for step in range(most)}
    here = levels.index(present)
    if here not in at:
        at.remove(min(at, key=lambda index: abs(index - here)))
        at.add(here)
    return tuple(levels[index] for index in sorted(at))


def neighbours(levels: Sequence, present: object, most: int) -> tuple:
    """The current level and at most `most` within two steps; all words, which have no order."""
    if any(isinstance(level, str) for level in levels):
        return tuple(levels)
    here = levels.index(present)
    near = sorted(range(len(levels)), key=lambda index: abs(index - here))
    near = [index for index in near[: max(2, most)] if abs(index - here) <= REACH]
    return tuple(levels[index] for index in sorted(near))


# A search request: a path of a study, an objective and a time budget.

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
            return nearest.model_copy(update=without)
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
