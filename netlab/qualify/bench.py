"""A benchmark as two studies: heats of the variants of each tool, then rounds of the best ones.

Their runs become verdicts, tables and text.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from netlab.errors import BadInput, NetlabError, check
from netlab.generators.installed import missing
from netlab.generators.tools import TOOLS
from netlab.lab.link_queues import queue_a_cpu
from netlab.lab.pair import lab_pair
from netlab.results.campaign_files import ids, read_log
from netlab.study import OWN as NETLAB
from netlab.study import Study
from netlab.study.groups import sends_datagrams
from netlab.study.run_options import Engine, Receive, Send
from netlab.study.tool_limits import TOOL_LIMITS
from netlab.units import KIB, MIB, size

GENSINK, PLAIN = "gensink", "plain"
"""Contender names of netlab's own core: as it sends by itself, and its engine of that name."""

OWN_CONTENDERS = (GENSINK, PLAIN)
"""Contenders that are not peers: gensink is compared with plain, but plain is never the best peer.
It shows how much of a ratio comes from gensink's options rather than from the sockets and threads
that both have in common."""

CONGESTION = "cubic"
RECORD_LENGTH_B = 128 * KIB
"""Record length of all tools in mode ``same``: the default of iperf3 and iperf."""
OFFLOADS = {"all": "on", "none": "off"}

CELL = ("mode", "offloads", "mtu_B", "streams")

Mode = Literal["same", "best"]
"""``same``: one record length, every byte copied out. ``best``: the best variant of each tool."""


@dataclass(frozen=True)
class Variant:
    record_length_B: int
    send: Send = "copy"
    receive: Receive = "copy"
    engine: Engine = "auto"

    @property
    def label(self) -> str:
        engine = "" if self.engine == "auto" else f"{self.engine} "
        return f"{engine}{self.send}/{self.receive} {size(self.record_length_B)}"


LENGTHS_B = (MIB, RECORD_LENGTH_B)
VARIANTS = {
    GENSINK: [
        Variant(length_B, send, "discard")
        for length_B in (MIB, 256 * KIB)
        for send in ("copy", "splice")
    ],
    PLAIN: [Variant(length_B, engine="plain") for length_B in LENGTHS_B],
    "iperf3": [
        *(Variant(MIB, "sendfile"), Variant(RECORD_LENGTH_B)),
        *(Variant(RECORD_LENGTH_B, "sendfile"), Variant(MIB)),
    ],
    "iperf2": [Variant(length_B) for length_B in LENGTHS_B],
    "nuttcp": [Variant(length_B) for length_B in LENGTHS_B],
    "neper": [Variant(length_B, receive="discard") for length_B in LENGTHS_B],
}
"""Variants of each contender, the most likely best one first."""


def find_tools(
    wanted: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> list[str]:
    """Names of the external tools that are installed on this machine."""
    environment = os.environ if environment is None else environment
    tools = [tool for tool in TOOLS if not sends_datagrams(tool.name)]
    names = [tool.name for tool in tools]
    for name in wanted:
        check(name in names, "peer", name, f"there are {', '.join(names)}", "E-BENCH-002")
    found = []
    for tool in tools:
        if wanted and tool.name not in wanted:
            continue
        given = environment.get(tool.variable)
        if shutil.which(given or tool.program, path=environment.get("PATH")):
            found.append(tool.name)
        elif given:
            raise BadInput("is not a program", where=tool.variable, value=given, code="E-BENCH-003")
        elif wanted:
            message = f"{missing(tool.name)}, and {tool.variable} does not name it"
            raise BadInput(message, key="peer", value=tool.name, code="E-BENCH-004")
    if not found:
        raise NetlabError("no tool to compare with is installed", code="E-BENCH-016")
    return found


@dataclass(frozen=True)
class Matrix:
    offloads: tuple[str, ...] = ("on", "off")
    mtus_B: tuple[int, ...] = (1500, 9000)
    streams: tuple[int, ...] = (1, 4, 20, 200)
    modes: tuple[Mode, ...] = ("same", "best")
    rounds: int = 7
    seconds: int = 2
    heats: int = 2
    most_variants: int = 100
    queues: int = field(default_factory=queue_a_cpu)
    seed: int = 2003

    def streams_of(self, contender: str) -> list[int]:
        most = TOOL_LIMITS[contender].streams if contender not in OWN_CONTENDERS else None
        return [count for count in self.streams if most is None or count <= most]

    def variants(self, contender: str, mode: Mode) -> list[Variant]:
        variants = VARIANTS[contender]
        if mode == "same":
            return [Variant(RECORD_LENGTH_B, engine=variants[0].engine)]
        return variants[: self.most_variants]

    def entries(self, peers: Iterable[str]) -> list[tuple[str, Mode, Variant]]:
        return [
            (name, mode, variant)
            for name in (*OWN_CONTENDERS, *peers)
            if self.streams_of(name)
            for mode in self.modes
            for variant in self.variants(name, mode)
        ]


QUICK = Matrix(mtus_B=(1500,), streams=(4,), rounds=3, seconds=1, heats=1, most_variants=2)
HEAT_S = 1

Chosen = Mapping[tuple, str]
"""Label of the variant of each contender in each cell."""


def heats_study(matrix: Matrix, peers: Iterable[str]) -> Study | None:
    """Heats of contenders with several variants, each in every cell; None without any."""
    groups = [_group(matrix, *entry) for entry in matrix.entries(peers) if entry[1] == "best"]
    heats = {"rounds": matrix.heats, "seconds": HEAT_S}
    return _study(matrix, groups, heats, noise={"retries": 0, "wait": 0}) if groups else None


def rounds_study(matrix: Matrix, peers: Iterable[str], chosen: Chosen) -> Study:
    """Rounds of every contender in every cell, at its best in the variant that was chosen."""
    groups = []
    for name, mode, variant in matrix.entries(peers):
        cells = itertools.product(matrix.offloads, matrix.mtus_B, matrix.streams_of(name))
        others = [
            {"offloads": LEVELS[offloads], "mtu_B": mtu_B, "streams": streams}
            for offloads, mtu_B, streams in cells
            if chosen.get((mode, offloads, mtu_B, streams, name), variant.label) != variant.label
        ]
        all_cells = len(matrix.offloads) * len(matrix.mtus_B) * len(matrix.streams_of(name))
        if len(others) < all_cells:
            groups.append(_group(matrix, name, mode, variant, others))
    return _study(matrix, groups, {"rounds": matrix.rounds, "seconds": matrix.seconds})


NAME = "bench"
"""Name of the study of the heats and of that of the rounds."""

LEVELS = {name: level for level, name in OFFLOADS.items()}


def _study(matrix: Matrix, groups: list[dict], timing: dict, **keys: object) -> Study:
    return lab_pair(
        NAME,
        "netlab beside other tools",
        {"bench": {"interrupt_delay_us": 0.0, "queues": matrix.queues}},
        groups,
        mtus_B=matrix.mtus_B,
        streams=list(matrix.streams),
        factors={"offloads": [LEVELS[level] for level in matrix.offloads]},
        congestion=CONGESTION,
        timing=timing,
        seed=matrix.seed,
        **keys,
    )


def _group(
    matrix: Matrix, name: str, mode: Mode, variant: Variant, exclude: Sequence[dict] = ()
) -> dict:
    options = {key: [getattr(variant, key)] for key in ("send", "receive", "engine")}
    return {
        "name": f"{name} {mode} {variant.label}",
        "path": "bench",
        "generator": NETLAB if name in OWN_CONTENDERS else name,
        "record_length_B": variant.record_length_B,
        "streams": matrix.streams_of(name),
        "factors": options,
        "exclude": list(exclude),
    }


def choose(heats: pd.DataFrame) -> Chosen:
    """Choose the variant with the highest median of its heats; the first if every heat failed."""
    keys = [*CELL, "contender"]
    medians = heats.groupby([*keys, "variant"])["goodput_MBps"].median()
    chosen = {}
    for key, part in heats.groupby(keys):
        labels = [variant.label for variant in VARIANTS[key[-1]]]
        tried = [label for label in labels if label in set(part["variant"])]
        reached = np.nan_to_num([medians[*key, label] for label in tried], nan=-1.0)
        chosen[key] = tried[int(np.argmax(reached))]
    return chosen


HEATS, RATIOS = "heats", "bench-ratios.csv"
OWN_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z(-\d+)?")


def _is_own(place: Path) -> bool:
    """True for the directory of a benchmark: by its name, and by the study that it holds."""
    if not OWN_NAME.fullmatch(place.name) or place.is_symlink() or not place.is_dir():
        return False
    if (place / RATIOS).is_file():
        return True
    stores = (place, place / HEATS)
    try:
        studies = {read_log(store, one).study for store in stores for one in ids(store)}
    except NetlabError:
        return False
    begun = {HEATS, ".lock"}  # and ended before the first campaign
    return studies == {NAME} if studies else all(e.name in begun for e in place.rglob("*"))


def directory_of(parent: Path) -> Path | None:
    """The latest benchmark, if it was ended early."""
    last = max((place for place in parent.glob("*") if _is_own(place)), default=None)
    return None if last is None or (last / RATIOS).exists() else last
