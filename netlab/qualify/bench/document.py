"""Output of a benchmark: tables, text and one JSON file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from netlab.files.json_file import write_json
from netlab.files.tables import Table
from netlab.lab.taskgroup import IN_WORDS
from netlab.qualify.bench.compare import CELL, ComparisonRule, summary
from netlab.qualify.bench.contenders import RECORD_LENGTH_B
from netlab.qualify.bench.path import CONGESTION
from netlab.qualify.bench.run import Bench

SCHEMA = 5
VARIANT_COLUMNS = (
    *("contender", "variant", "heats", "failed", "goodput_MBps", "chosen", "reason"),
)
"""Columns of the table of variants, after those of the cell."""

PLAIN_NOTE = (
    "plain: netlab's own engine of send() and recv() in a loop and nothing else; it is not a peer."
)
MODES = {"same": "same settings", "best": "each at its best"}


@dataclass(frozen=True, eq=False)
class Conclusions:
    """A benchmark with its medians, ratios and verdicts."""

    bench: Bench
    medians: pd.DataFrame
    ratios: pd.DataFrame
    variants: pd.DataFrame
    summary: pd.DataFrame
    rule: ComparisonRule

    @classmethod
    def of(cls, bench: Bench, comparison: ComparisonRule | None = None) -> Conclusions:
        """Compare the samples of a benchmark."""
        comparison = comparison or ComparisonRule()
        samples = pd.DataFrame.from_records(list(bench.samples))
        limits = bench.limits
        medians = comparison.medians(samples, limits.all_hot_MBps, limits.all_cold_MBps)
        ratios = comparison.ratios(samples)
        order = [*CELL]
        return cls(
            bench,
            medians.sort_values([*order, "contender"], kind="stable", ignore_index=True),
            ratios.sort_values(order, kind="stable", ignore_index=True),
            pd.DataFrame.from_records(
                [standing.as_dict() for standing in bench.standings],
                columns=[*CELL, *VARIANT_COLUMNS],
            ).sort_values([*order, "contender"], kind="stable", ignore_index=True),
            summary(ratios),
            comparison,
        )

    def medians_table(self) -> Table:
        """Goodput and cost of every contender in every cell."""
        frame = self.medians.set_index([*CELL, "contender"])
        return Table(
            frame,
            caption="Goodput and CPU cost, medians over the rounds",
            heads=_HEADS,
            formats={
                **dict.fromkeys(("goodput_MBps", "least_MBps", "most_MBps"), ".0f"),
                **dict.fromkeys(("cpu_s_per_GB",), ".3f"),
                **dict.fromkeys([c for c in frame if c.endswith(("percent", "_copy"))], ".1f"),
            },
            note=self.conditions(),
        )

    def ratios_table(self) -> Table:
        """gensink's ratio to every other contender, with the verdict of each cell."""
        frame = self.ratios.set_index([*CELL, "other"])
        return Table(
            frame,
            caption="Goodput of gensink over that of each other contender",
            heads=_HEADS,
            formats={
                **dict.fromkeys(("ratio", "low", "high", "cpu_ratio"), ".3f"),
                **dict.fromkeys(("cpu_low", "cpu_high"), ".3f"),
                "noise_percent": ".1f",
                "p_holm": ".3g",
            },
            note=f"{self.method()} {PLAIN_NOTE}",
        )

    def method(self) -> str:
        """Rules of the intervals and verdicts in a few sentences."""
        rule = self.rule
        return (
            "Ratio: geometric mean of the ratios within a round, Student's interval on their "
            f"logarithms; all intervals of a mode hold at once at {100 * rule.confidence:g} % "
            "(Bonferroni), those for plain among themselves. Faster or slower: by Holm's test of "
            "all of them. The same: the whole interval lies within "
            f"{rule.same_within_percent:g} % of 1. Cannot tell: neither, which is not the same. "
            "Rounds with steal or foreign load are left out; transfers that a study would flag for "
            "anything else, such as an open ledger, are failed ones."
        )

    def variants_table(self) -> Table:
        """The heats of every variant, and the chosen ones."""
        matrix = self.bench.matrix
        return Table(
            self.variants.set_index([*CELL, "contender", "variant"]),
            caption="Heats: goodput of each variant, median of those that succeeded",
            heads=_HEADS,
            formats={"goodput_MBps": ".0f"},
            note=f"Before the rounds of each environment, {matrix.heats} of {matrix.heat_s} s; "
            "they are in no median and no ratio.",
        )

    def conditions(self) -> str:
        """Machine, limits, steal and foreign load in a few sentences."""
        bench, limits = self.bench, self.bench.limits
        machine = bench.machine
        samples = pd.DataFrame.from_records(list(bench.samples))
        versions = "; ".join(f"{name}: {tool['version']}" for name, tool in bench.tools.items())
        parts = [
            f"{bench.started_at}, {machine.get('cpu_model')}, {machine.get('cpus')} CPUs, "
            f"Linux {machine.get('kernel')}; both ends on this machine, "
            f"{IN_WORDS[machine['task_group']]}.",
            f"{versions}.",
            f"{bench.matrix.rounds} rounds of {bench.matrix.seconds} s, seed {bench.matrix.seed}, "
            f"{CONGESTION}; {_queues(bench.matrix.queues, machine.get('cpus'))}; "
            f"same settings: records of {RECORD_LENGTH_B >> 10} KiB.",
            f"Memory copy, MB/s: one core {limits.one_hot_MBps:.0f} hot, "
            f"{limits.one_cold_MBps:.0f} cold; all {limits.cores} cores "
            f"{limits.all_hot_MBps:.0f} hot, {limits.all_cold_MBps:.0f} cold.",
            _load(samples),
            PLAIN_NOTE,
        ]
        if len(self.variants):
            parts.append(self._choices())
        parts += _failures(samples)
        if bench.left_out:
            reasons = {
                f"{out.contender} with {out.cell.streams} streams ({out.reason})"
                for out in bench.left_out
            }
            parts.append(f"Left out: {', '.join(sorted(reasons))}.")
        return " ".join(parts)

    def _choices(self) -> str:
        """The chosen variants of each contender by number of cells, and the failed heats."""
        matrix = self.bench.matrix
        chosen = self.variants[self.variants["chosen"]]
        said = []
        for contender, part in chosen.groupby("contender", sort=True):
            counts = part["variant"].value_counts().items()
            cells = ", ".join(f"{variant} in {count}" for variant, count in counts)
            said.append(f"{contender}: {cells} of {len(part)} cells")
        heats = f"{matrix.heats} of {matrix.heat_s} s"
        text = f"Each at its best as its heats say ({heats}): {'; '.join(said)}."
        failed = self.variants[self.variants["failed"] > 0]
        for (contender, variant), part in failed.groupby(["contender", "variant"], sort=True):
            reason = part["reason"].iloc[-1]
            text += f" {contender}, {variant}, failed heats: {part['failed'].sum()} ({reason})."
        return text

    def to_text(self) -> str:
        """The document for a terminal."""
        medians = self.medians.drop(columns=["least_MBps", "most_MBps"])
        short = self.ratios.drop(columns=["cpu_low", "cpu_high", "pairs", "disturbed"])
        lines = [self.conditions(), "", "Medians", _text(medians), ""]
        lines += [
            "gensink over each other contender: goodput and CPU time per GB",
            self.method(),
            _text(short),
            "",
        ]
        for row in self.summary.to_dict("records"):
            lines.append(
                f"{MODES[row['mode']]}, against the best peer of each of {row['cells']} cells: "
                f"median ratio {row['median_ratio']:.3f} "
                f"({row['lowest_ratio']:.3f} to {row['highest_ratio']:.3f}), "
                f"CPU per GB {row['median_cpu_ratio']:.3f}; {row['faster']} faster, "
                f"{row['slower']} slower, {row['the_same']} the same within "
                f"{self.rule.same_within_percent:g} %, {row['cannot_tell']} cannot tell"
            )
        return "\n".join(lines)

    def as_json(self) -> dict:
        """The document as JSON values, with every sample."""
        bench = self.bench
        return {
            "netlab_bench": SCHEMA,
            "started_at": bench.started_at,
            "machine": bench.machine,
            "tools": bench.tools,
            "settings": {
                **asdict(bench.matrix),
                "congestion": CONGESTION,
                "record_length_B": RECORD_LENGTH_B,
                "socket_buffers": "the kernel's own",
                **asdict(self.rule),
            },
            "memory_copy": asdict(bench.limits),
            "samples": list(bench.samples),
            "heats": list(bench.heats),
            "variants": self.variants.to_dict("records"),
            "left_out": [
                {**out.cell.as_dict(), "contender": out.contender, "reason": out.reason}
                for out in bench.left_out
            ],
            "medians": self.medians.to_dict("records"),
            "ratios": self.ratios.to_dict("records"),
            "summary": self.summary.to_dict("records"),
        }

    def save(self, directory: Path) -> Path:
        """Write ``bench.json`` and the tables as CSV and LaTeX; return the JSON file's path."""
        self.medians_table().export(directory / "bench-medians")
        self.ratios_table().export(directory / "bench-ratios")
        if len(self.variants):
            self.variants_table().export(directory / "bench-variants")
        return write_json(directory / "bench.json", self.as_json(), durable=True)


def _queues(queues: int, cpus: int | None) -> str:
    if queues == cpus:
        return "a pair of queues for each CPU"
    return f"{queues} pairs of queues" if queues > 1 else "one pair of queues"


def _failures(samples: pd.DataFrame) -> list[str]:
    """The number of failed transfers, and the last reason of each contender; empty without one."""
    failed = samples[samples["error"] != ""]
    if failed.empty:
        return []
    said = [
        f"{contender} {len(part)} ({part['error'].iloc[-1]})"
        for contender, part in failed.groupby("contender", sort=True)
    ]
    return [f"{len(failed)} of {len(samples)} transfers failed: {'; '.join(said)}."]


def _load(samples: pd.DataFrame) -> str:
    parts = []
    for name, label in (("steal_percent", "steal"), ("foreign_percent", "foreign load")):
        known = samples.get(name, pd.Series(dtype=float)).astype(float).dropna()
        if len(known):
            parts.append(f"{label} {known.median():.1f} % (at most {known.max():.1f} %)")
    return f"Of all CPU time: {', '.join(parts)}." if parts else "No meter readings."


def _text(frame: pd.DataFrame) -> str:
    """A frame as text, numbers to three or four digits."""

    def number(value: float) -> str:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"

    heads = {name: _HEADS.get(name, name) for name in frame}
    return frame.rename(columns=heads).to_string(index=False, float_format=number, na_rep="-")


_HEADS = {
    "mtu_B": "MTU",
    "goodput_MBps": "MB/s",
    "least_MBps": "least",
    "most_MBps": "most",
    "cpu_s_per_GB": "CPU s/GB",
    "steal_percent": "steal %",
    "foreign_percent": "foreign %",
    "percent_of_hot_copy": "% of hot copy",
    "percent_of_cold_copy": "% of cold copy",
    "noise_percent": "noise %",
    "p_holm": "p (Holm)",
    "cpu_ratio": "CPU ratio",
    "cpu_low": "CPU low",
    "cpu_high": "CPU high",
}
