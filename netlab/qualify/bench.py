"""A benchmark as two studies: heats of the variants of each tool, then rounds of the best ones.

Their runs become verdicts, tables and text.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from netlab.analysis.compare import (
    SAME_WITHIN_PERCENT,
    bonferroni,
    compare_pairs,
)
from netlab.analysis.effects import COMMON_ROUNDS, NO_INTERVAL, VERDICTS, paired_ratio
from netlab.errors import BadInput, NetlabError, check
from netlab.files.tables import Table
from netlab.generators.tools import TOOLS, missing
from netlab.lab.link import queue_a_cpu
from netlab.lab.sshd import IN_WORDS
from netlab.lab.topology import RECEIVER, lab_pair
from netlab.measure.flags import INTERFERENCE
from netlab.results.store import Store, ids, read_log
from netlab.study import OWN as NETLAB
from netlab.study import Study
from netlab.study.factors import Engine, Receive, Send
from netlab.study.groups import LIMITS, sends_datagrams
from netlab.units import KIB, MIB, size

GENSINK, PLAIN = "gensink", "plain"
"""Contender names of netlab's own core: as it sends by itself, and its engine of that name."""

OWN = (GENSINK, PLAIN)
"""Contenders that are not peers: gensink is compared with plain, but plain is never the best peer.
It shows how much of a ratio comes from gensink's options rather than from the sockets and threads
that both have in common."""

CONGESTION = "cubic"
RECORD_LENGTH_B = 128 * KIB
"""Record length of all tools in mode ``same``: the default of iperf3 and iperf."""
OFFLOADS = {"all": "on", "none": "off"}

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
        most = LIMITS[contender].streams if contender not in OWN else None
        return [count for count in self.streams if most is None or count <= most]

    def variants(self, contender: str, mode: Mode) -> list[Variant]:
        variants = VARIANTS[contender]
        if mode == "same":
            return [Variant(RECORD_LENGTH_B, engine=variants[0].engine)]
        return variants[: self.most_variants]

    def entries(self, peers: Iterable[str]) -> list[tuple[str, Mode, Variant]]:
        return [
            (name, mode, variant)
            for name in (*OWN, *peers)
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
        "generator": NETLAB if name in OWN else name,
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


# Turn the runs of a benchmark into medians, ratios and verdicts.
#
# The verdicts follow the rules of :mod:`netlab.analysis.compare`. A family is all pairs of a cell
# and a tool in one mode: intervals are simultaneous (Bonferroni) and differences tested by Holm's
# steps over all of them, so that the best peer of a cell can be chosen after the measurement.
# netlab's own engine ``plain`` is a family of its own in each mode. Rounds in which either transfer
# was flagged for interference, such as steal or foreign load, are left out.

CELL = ("mode", "offloads", "mtu_B", "streams")
BEST_PEER = "best peer"
"""Name for the peer with the highest median of a cell."""

MEDIAN_COLUMNS = (
    *CELL,
    *("contender", "variant", "n", "failed", "goodput_MBps", "least_MBps", "most_MBps"),
    *("cpu_s_per_GB", "steal_percent", "foreign_percent"),
)
RATIO_COLUMNS = (
    *CELL,
    *("other", "against", "pairs", "disturbed", "ratio", "low", "high", "p_holm"),
    *("noise_percent", "verdict", "reason"),
    *("cpu_ratio", "cpu_low", "cpu_high"),
)


CONFIDENCE = 0.95
"""Level at which all intervals of a family hold at once."""


def samples_of(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of a store by contender, mode and variant, which the name of their group has.

    A run with a flag other than that of interference failed, and has no goodput.
    """
    named = runs["group"].str.split(" ", n=2, expand=True)
    failed = runs["flags"].map(lambda flags: bool({*flags.split(",")} - {"", INTERFERENCE}))
    goodput_MBps = runs["goodput_MBps"].mask(failed)
    hosts = [json.loads(text)["hosts"] for text in runs["provenance"]]
    cpus = np.array([found[RECEIVER].get("cpus") or math.nan for found in hosts], dtype=float)
    # both ends are on one machine, whose busy time counts
    busy_cores = runs["receiver_cpu_percent"] / 100 * cpus
    return pd.DataFrame(
        {
            "mode": named[1],
            "offloads": [OFFLOADS[json.loads(text)["offloads"]] for text in runs["factors"]],
            **{name: runs[name] for name in ("mtu_B", "streams", "round", "flags")},
            "contender": named[0],
            "variant": named[2],
            "goodput_MBps": goodput_MBps,
            "cpu_s_per_GB": 1e3 * busy_cores / goodput_MBps,
            "steal_percent": runs["steal_percent"],
            "foreign_percent": runs["foreign_cpu_percent"],
            "error": runs["message"].where(failed, ""),
        }
    )


def medians(samples: pd.DataFrame) -> pd.DataFrame:
    rate, *others = "goodput_MBps", "cpu_s_per_GB", "steal_percent", "foreign_percent"
    frame = samples.astype(dict.fromkeys((rate, *others), float))
    frame.loc[frame[rate].isna(), others] = math.nan
    found = frame.groupby([*CELL, "contender"], sort=False, as_index=False).agg(
        variant=("variant", "first"),
        n=(rate, "count"),
        transfers=(rate, "size"),
        goodput_MBps=(rate, "median"),
        least_MBps=(rate, "min"),
        most_MBps=(rate, "max"),
        **{name: (name, "median") for name in others},
    )
    found["failed"] = found["transfers"] - found["n"]
    return found[list(MEDIAN_COLUMNS)]


def ratios(samples: pd.DataFrame) -> pd.DataFrame:
    """Compare gensink with every other contender, and with the best peer, in every cell.

    Transfers of the same round are compared, so that a slow drift of the machine cancels. The
    ratio is the geometric mean of the ratios within a round, with Student's interval on their
    logarithms, simultaneous over the family.
    """
    families: dict[tuple[str, bool], list[tuple]] = defaultdict(list)
    rows: list[tuple[dict, str]] = []
    for key, part in samples.groupby([*CELL], sort=False):
        sides = {name: side.set_index("round") for name, side in part.groupby("contender")}
        own = sides.pop(GENSINK, None)
        peers = []
        for name, other in sides.items() if own is not None else ():
            row = {**dict(zip(CELL, key, strict=True)), "against": name}
            pair = _undisturbed(own, other, row)
            rows.append((row, name))
            if row["pairs"]:
                families[key[0], name in OWN].append((row, *pair))
            median_MBps = other["goodput_MBps"].astype(float).median()
            if name not in OWN and median_MBps > 0:
                peers.append((median_MBps, row))
        if peers:
            rows.append((max(peers, key=lambda peer: peer[0])[1], BEST_PEER))
    for family in families.values():
        figures = compare_pairs(
            [(other["goodput_MBps"], own["goodput_MBps"]) for _, own, other in family],
            level=CONFIDENCE,
            same_within_percent=SAME_WITHIN_PERCENT,
        )
        level = bonferroni(CONFIDENCE, len(family))
        for (row, own, other), figure in zip(family, figures, strict=True):
            kept = ["ratio", "low", "high", "p_holm", "verdict"]
            kept += ["reason"] if len(own) >= COMMON_ROUNDS else []
            logs = np.log((own / other)["goodput_MBps"])
            row |= {name: figure[name] for name in kept} | _cpu(own, other, level)
            row["noise_percent"] = 100 * math.expm1(logs.std())
    return pd.DataFrame.from_records(
        [row | {"other": name} for row, name in rows], columns=list(RATIO_COLUMNS)
    )


def _undisturbed(
    own: pd.DataFrame, other: pd.DataFrame, row: dict
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sides in the undisturbed rounds that both have; the row gets their numbers."""
    good = [side[side["goodput_MBps"].notna()] for side in (own, other)]
    common = good[0].index.intersection(good[1].index)
    own, other = (side.loc[common] for side in good)
    load = pd.concat([side["flags"].str.split(",") for side in (own, other)], axis=1)
    disturbed = load.map(lambda flags: INTERFERENCE in flags).any(axis=1)
    columns = ["goodput_MBps", "cpu_s_per_GB"]
    own, other = (side.loc[~disturbed, columns].astype(float) for side in (own, other))
    reason = f"{len(own)} undisturbed rounds in common, {COMMON_ROUNDS} needed"
    if disturbed.any():
        reason += f" (steal or foreign load in {disturbed.sum()})"
    row |= {"pairs": len(own), "disturbed": int(disturbed.sum())}
    row |= {"verdict": NO_INTERVAL, "reason": reason}
    return own, other


def _cpu(own: pd.DataFrame, other: pd.DataFrame, level: float) -> dict:
    """Ratio of the CPU time for a byte, with an interval unless the rounds are too few."""
    mine, others = own["cpu_s_per_GB"], other["cpu_s_per_GB"]
    good = (mine > 0) & (others > 0)
    if not good.any():
        return {}
    found = paired_ratio(others[good], mine[good], level)
    interval = {"cpu_low": found.low, "cpu_high": found.high}
    return {"cpu_ratio": found.ratio} | (interval if good.sum() >= COMMON_ROUNDS else {})


def summary(ratios: pd.DataFrame) -> pd.DataFrame:
    by_mode = ratios[ratios["other"] == BEST_PEER].groupby("mode", sort=False)
    found = by_mode.agg(
        cells=("ratio", "size"),
        median_ratio=("ratio", "median"),
        lowest_ratio=("ratio", "min"),
        highest_ratio=("ratio", "max"),
        median_cpu_ratio=("cpu_ratio", "median"),
    )
    for verdict in VERDICTS:
        found[verdict.replace(" ", "_")] = (
            by_mode["verdict"].agg(list).map(lambda verdicts, one=verdict: verdicts.count(one))
        )
    return found.reset_index()


# Output of a benchmark: tables and text.

_HEADS = {
    "mtu_B": "MTU",
    "goodput_MBps": "MB/s",
    "least_MBps": "least",
    "most_MBps": "most",
    "cpu_s_per_GB": "CPU s/GB",
    "steal_percent": "steal %",
    "foreign_percent": "foreign %",
    "noise_percent": "noise %",
    "p_holm": "p (Holm)",
    "cpu_ratio": "CPU ratio",
    "cpu_low": "CPU low",
    "cpu_high": "CPU high",
}
_FORMATS = {
    **dict.fromkeys(("goodput_MBps", "least_MBps", "most_MBps"), ".0f"),
    **dict.fromkeys([name for name in MEDIAN_COLUMNS if "percent" in name], ".1f"),
    **dict.fromkeys(("cpu_s_per_GB", "ratio", "low", "high"), ".3f"),
    **dict.fromkeys(("cpu_ratio", "cpu_low", "cpu_high"), ".3f"),
    **{"noise_percent": ".1f", "p_holm": ".3g"},
}

PLAIN_NOTE = (
    "plain: netlab's own engine of send() and recv() in a loop and nothing else; it is not a peer."
)
MODES = {"same": "same settings", "best": "each at its best"}


@dataclass(frozen=True, eq=False)
class Conclusions:
    study: Study
    samples: pd.DataFrame
    provenance: dict
    versions: dict[str, str]
    started_at: str
    medians: pd.DataFrame
    ratios: pd.DataFrame
    summary: pd.DataFrame

    @classmethod
    def of(cls, study: Study, directory: Path) -> Conclusions:
        runs = Store(directory).runs()
        samples, provenance = samples_of(runs), json.loads(runs["provenance"].iloc[0])
        own = samples.loc[samples["contender"] == GENSINK, "error"]
        if (own != "").all():
            message = f"all transfers of gensink failed: {own.iloc[-1]}"
            raise NetlabError(message, code="E-BENCH-017")
        compared = ratios(samples)
        return cls(
            study,
            samples,
            provenance,
            {"netlab": provenance["netlab"]}
            | dict(runs[["generator", "generator_version"]].dropna().to_numpy().tolist()),
            f"{runs['started_at'].min():%Y-%m-%dT%H:%M:%SZ}",
            _sorted(medians(samples)),
            _sorted(compared),
            summary(compared),
        )

    def tables(self) -> dict[str, Table]:
        captions = {
            "medians": "Goodput and CPU cost, medians over the rounds",
            "ratios": "Goodput of gensink over that of each other contender",
        }
        notes = {"medians": self.conditions(), "ratios": f"{self.method()} {PLAIN_NOTE}"}
        tables = {}
        for name, caption in captions.items():
            keys = [*CELL, "contender" if name == "medians" else "other"]
            frame = getattr(self, name).set_index(keys)
            formats = {column: form for column, form in _FORMATS.items() if column in frame}
            tables[f"bench-{name}"] = Table(frame, caption, _HEADS, formats, notes[name])
        return tables

    def method(self) -> str:
        return (
            "Ratio: geometric mean of the ratios within a round, Student's interval on their "
            f"logarithms; all intervals of a mode hold at once at {100 * CONFIDENCE:g} % "
            "(Bonferroni), those for plain among themselves. Faster or slower: by Holm's test of "
            "all of them. The same: the whole interval lies within "
            f"{SAME_WITHIN_PERCENT:g} % of 1. Cannot tell: neither, which is not the same; "
            f"no interval: fewer than {COMMON_ROUNDS} rounds in common. "
            "Rounds with steal or foreign load are left out; transfers that a study would flag for "
            "anything else, such as an open ledger, are failed ones."
        )

    def conditions(self) -> str:
        machine, samples = self.provenance["hosts"][RECEIVER], self.samples
        versions = "; ".join(f"{name}: {version}" for name, version in self.versions.items())
        link, timing = self.study.path("bench").link, self.study.timing
        assert link is not None  # every path of a lab has one
        parts = [
            f"{self.started_at}, {machine.get('cpu_model')}, {machine.get('cpus')} CPUs, "
            f"Linux {machine.get('kernel')}; both ends on this machine, "
            f"{IN_WORDS[self.provenance['task_group']]}.",
            f"{versions}.",
            f"{timing.rounds} rounds of {timing.text()}, seed {self.study.seed}, {CONGESTION}; "
            f"{_queues(link.queues, machine.get('cpus'))}; "
            f"same settings: records of {RECORD_LENGTH_B >> 10} KiB.",
            _load(samples),
            PLAIN_NOTE,
        ]
        failed = samples[samples["error"] != ""]
        if len(failed):
            counts = [
                f"{contender} {len(part)} ({part['error'].iloc[-1]})"
                for contender, part in failed.groupby("contender")
            ]
            parts.append(f"{len(failed)} of {len(samples)} transfers failed: {'; '.join(counts)}.")
        for name in sorted(self.versions.keys() & LIMITS.keys()):
            most = LIMITS[name].streams
            if most is not None and max(self.study.streams) > most:
                parts.append(f"Left out: {name} with more than {most} streams.")
        return " ".join(parts)

    def to_text(self) -> str:
        short = self.ratios.drop(columns=["cpu_low", "cpu_high", "pairs", "disturbed"])
        lines = [
            *(self.conditions(), "", "Medians"),
            *(_text(self.medians.drop(columns=["least_MBps", "most_MBps"])), ""),
            *("gensink over each other contender: goodput and CPU time per GB", self.method()),
            *(_text(short), ""),
        ]
        for row in self.summary.to_dict("records"):
            lines.append(
                f"{MODES[row['mode']]}, against the best peer of each of {row['cells']} cells: "
                f"median ratio {row['median_ratio']:.3f} "
                f"({row['lowest_ratio']:.3f} to {row['highest_ratio']:.3f}), "
                f"CPU per GB {row['median_cpu_ratio']:.3f}; {row['faster']} faster, "
                f"{row['slower']} slower, {row['the_same']} the same within "
                f"{SAME_WITHIN_PERCENT:g} %, {row['cannot_tell']} cannot tell, "
                f"{row['no_interval']} no interval"
            )
        return "\n".join(lines)

    def save(self, directory: Path) -> None:
        for name, table in self.tables().items():
            table.export(directory / name)


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    keys = [*CELL, "contender"] if "contender" in frame else [*CELL]
    return frame.sort_values(keys, kind="stable", ignore_index=True)


def _queues(queues: int, cpus: int | None) -> str:
    if queues == cpus:
        return "a pair of queues for each CPU"
    return f"{queues} pairs of queues" if queues > 1 else "one pair of queues"


def _load(samples: pd.DataFrame) -> str:
    parts = []
    for name, label in (("steal_percent", "steal"), ("foreign_percent", "foreign load")):
        known = samples.get(name, pd.Series(dtype=float)).astype(float).dropna()
        if len(known):
            parts.append(f"{label} {known.median():.1f} % (at most {known.max():.1f} %)")
    return f"Of all CPU time: {', '.join(parts)}." if parts else "No meter readings."


def _text(frame: pd.DataFrame) -> str:
    def number(value: float) -> str:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"

    return frame.rename(columns=_HEADS).to_string(index=False, float_format=number, na_rep="-")
