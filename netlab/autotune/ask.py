"""What a search is asked: a path of a study, an objective and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netlab.autotune.candidate import Candidate
from netlab.autotune.objective import objective
from netlab.autotune.space import check_levels, engine_options
from netlab.core import options
from netlab.errors import BadInput
from netlab.lab.queues import queue_a_cpu
from netlab.study import Group, Study

DEFAULT_PATH = "lab"
SENDER, RECEIVER = "gen", "sink"
LEAST_S, MOST_S = 10.0, 86_400.0
ENGINES = ("same", "all")
DIRECTIONS = ("->", "<->")
TAKEN_OVER = (
    *("sender", "direction", "record_length_B", "buffer_B", "receive_buffer_B"),
    *("congestion", "streams"),
)
"""What a group for another direction or sender takes over from the nearest."""


def default_study() -> Study:
    """Two lab hosts joined by one unshaped path: veth's offloads, a queue for each processor."""
    link = {
        "interrupt_delay_us": 0.0,
        "segmentation_offload": True,
        "checksum_offload": True,
        "queues": queue_a_cpu(),
    }
    return Study.model_validate(
        {
            "netlab": 1,
            "name": "autotune",
            "title": "A lab path to find the best setting of",
            "hosts": {name: {"kind": "lab"} for name in (SENDER, RECEIVER)},
            "paths": {DEFAULT_PATH: {"ends": [{"host": SENDER}, {"host": RECEIVER}], "link": link}},
            "groups": [{"name": "gen -> sink", "path": DEFAULT_PATH, "sender": SENDER}],
            "tunings": [{"name": "openlab-2003-normal", "mtus_B": [1500]}],
            "streams": [1],
        }
    )


@dataclass(frozen=True)
class Ask:
    """A search to be made.

    Parameters
    ----------
    study : Study
        Hosts, paths and the present settings.
    path : str
        Name of one of its paths.
    aim : {"goodput", "cpu"}
        Highest goodput, or least CPU time per byte.
    seconds : float
        Budget for everything, from :data:`LEAST_S` to :data:`MOST_S`.
    direction : {"->", "<->"}, optional
        One way or both; as the group has it when left out.
    sender : str, optional
        The end that sends; as the group has it when left out.
    tuning : str, optional
        A tuning of the study that both hosts are held at; as they are when left out.
    mtu_B : int, optional
        MTU that both ends are held at; the tuning's first, or as it is, when left out.
    engines : {"same", "all"}
        Whether ways to send and receive that do other work are tried.
    given : mapping of str to tuple of int
        Levels in place of netlab's own: ``record_length_B``, ``buffer_B``, ``streams``.
    seed : int, optional
        Of the order within rounds; the study's when left out.
    noisy : bool
        Count runs that met steal, foreign load or a late emulator.

    Raises
    ------
    BadInput
        Anything of it cannot be used.
    """

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
        study = self.study
        if self.path not in study.paths:
            there = f"no path is called that; {study.name} has {', '.join(study.paths)}"
            raise BadInput(there, key="PATH", value=self.path)
        if not LEAST_S <= self.seconds <= MOST_S:
            limits = f"is from {LEAST_S:g} to {MOST_S:g}"
            raise BadInput(limits, key="seconds", value=self.seconds)
        ends = tuple(end.host for end in study.paths[self.path].ends)
        tunings = tuple(level.name for level in study.tunings)
        for key, value, choices in (
            ("direction", self.direction, DIRECTIONS),
            ("sender", self.sender, ends),
            ("tuning", self.tuning, tunings),
            ("engines", self.engines, ENGINES),
        ):
            if value is not None and value not in choices:
                raise BadInput(f"is one of {', '.join(choices)}", key=key, value=value)
        check_levels(self.given)
        if self.mtu_B is not None and not 576 <= self.mtu_B <= 65535:
            raise BadInput("is from 576 to 65535", key="mtu", value=self.mtu_B)
        if self.group.generator != "netlab":
            only = f"{self.group.name} is measured with {self.group.generator}, not with netlab"
            raise BadInput(only, key="PATH", value=self.path)
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise BadInput("is from 0 to 2^63 - 1", key="seed", value=self.seed)

    @property
    def group(self) -> Group:
        """The group whose setting is the present one: the first on this path that fits.

        Where none has the direction and the sender asked for, a group of its own that has them, and
        else what the nearest has; without any on the path, the defaults.
        """
        on_path = [group for group in self.study.groups if group.path == self.path]
        wanted = {"direction": self.direction, "sender": self.sender}
        wanted = {key: value for key, value in wanted.items() if value is not None}
        if not on_path:
            first = self.study.paths[self.path].ends[0].host
            return Group(**{"name": self.path, "path": self.path, "sender": first, **wanted})
        wanted_of = {"generator": "netlab", **wanted}
        fits = [
            sum(getattr(group, key) == wanted_of[key] for key in wanted_of) for group in on_path
        ]
        nearest = on_path[fits.index(max(fits))]
        if max(fits) == len(wanted_of) or nearest.generator != "netlab":
            return nearest.model_copy(update={"force_loss_at_s": None})
        same = {name: getattr(nearest, name) for name in TAKEN_OVER}
        new = {**same, **wanted, "path": self.path}
        return Group(**new, name=f"tuned {self.path} {new['direction']}")

    @property
    def start(self) -> Candidate:
        """The present setting: the group's, with the first of its stream counts."""
        group = self.group
        words = {}
        for name in engine_options():
            own = getattr(group, name, None) or getattr(self.study, name, None)
            words[name] = str(own or options()[name].default)
        return Candidate(
            record_length_B=group.record_length_B,
            buffer_B=group.buffer_B,
            streams=self.study.levels(group)[0][2],
            words=tuple(sorted(words.items())),
            receive_buffer_B=group.receive_buffer_B,
        )

    @property
    def error(self) -> float:
        """Of each race: one less the study's confidence."""
        return 1 - self.study.confidence
