"""Output of a benchmark: tables and text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.analysis.compare import SAME_WITHIN_PERCENT
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.errors import NetlabError
from netlab.files.frame_text import frame_text
from netlab.files.recorded_facts import Provenance, provenance_of
from netlab.files.tables import Table
from netlab.lab.pair import RECEIVER
from netlab.lab.task_group import IN_WORDS
from netlab.qualify.bench import CELL, CONGESTION, GENSINK, RECORD_LENGTH_B
from netlab.qualify.bench_ratios import (
    CONFIDENCE,
    MEDIAN_COLUMNS,
    medians,
    ratios,
    samples_of,
    summary,
)
from netlab.results.store import Store
from netlab.study import Study
from netlab.study.tool_limits import TOOL_LIMITS

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
    provenance: Provenance
    versions: dict[str, str]
    started_at: str
    medians: pd.DataFrame
    ratios: pd.DataFrame
    summary: pd.DataFrame

    @classmethod
    def of(cls, study: Study, directory: Path) -> Conclusions:
        runs = Store(directory).runs()
        samples, provenance = samples_of(runs), provenance_of(runs["provenance"].iloc[0])
        own = samples.loc[samples["contender"] == GENSINK, "error"]
        if (own != "").all():
            message = f"all transfers of gensink failed: {own.iloc[-1]}"
            raise NetlabError(message, code="E-BENCH-017")
        compared = ratios(samples)
        return cls(
            study,
            samples,
            provenance,
            {"netlab": str(provenance["netlab"])}
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
            f"no interval: fewer than {LEAST_ROUNDS} rounds in common. "
            "Rounds with steal or foreign load are left out; transfers that a study would flag for "
            "anything else, such as an open ledger, are failed ones."
        )

    def conditions(self) -> str:
        machine, samples = self.provenance["hosts"][RECEIVER], self.samples
        versions = "; ".join(f"{name}: {version}" for name, version in self.versions.items())
        link, timing = self.study.path("bench").link, self.study.timing
        task_group = self.provenance["task_group"]
        assert link is not None and task_group is not None  # every path of a lab has both
        parts = [
            f"{self.started_at}, {machine['cpu_model']}, {machine['cpus']} CPUs, "
            f"Linux {machine['kernel']}; both ends on this machine, "
            f"{IN_WORDS[task_group]}.",
            f"{versions}.",
            f"{timing.rounds} rounds of {timing.text()}, seed {self.study.seed}, {CONGESTION}; "
            f"{_queues(link.queues, machine['cpus'])}; "
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
        for name in sorted(self.versions.keys() & TOOL_LIMITS.keys()):
            most = TOOL_LIMITS[name].streams
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

    return frame_text(frame.rename(columns=_HEADS), number=number, missing="-")
