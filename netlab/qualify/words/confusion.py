"""The words of runs beside their known limits: the confusion table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.files.frame_text import frame_text
from netlab.files.recorded_facts import StableFacts
from netlab.files.tables import Table
from netlab.files.writing import write_json
from netlab.measure import bottleneck as words
from netlab.qualify.words.truths import WordsPlan
from netlab.version import version

LEAST_RIGHT = 0.9

NOTE = (
    "A run that other programs disturbed, and that has the word foreign CPU, is left out: its "
    "limit may be theirs."
)


@dataclass(frozen=True, eq=False)
class KnownLimits:
    plan: WordsPlan
    samples: list[dict]
    machine: StableFacts

    @property
    def confusion(self) -> pd.DataFrame:
        """A row a truth: its word, its runs, those with that word, and the count of each word."""
        rows = []
        for truth in self.plan.truths:
            own = [sample for sample in self.samples if sample["truth"] == truth.name]
            given = [sample["word"] for sample in own if not sample["left_out"]]
            counts = {"right": given.count(truth.word), "runs": len(given)}
            counts["left_out"] = len(own) - len(given)
            rows.append(
                {"truth": truth.name, "word": truth.word, **counts}
                | {word: given.count(word) for word in words.VERDICTS}
            )
        frame = pd.DataFrame.from_records(rows)
        fixed = ["truth", "word", "right", "runs", "left_out"]
        return frame[[*fixed, *(word for word in words.VERDICTS if frame[word].any())]]

    @property
    def table(self) -> Table:
        heads = {"truth": "Limit", "word": "Its word", "right": "Right", "runs": "Runs"}
        frame = self.confusion.set_index("truth")
        return Table(
            frame, "Words of runs whose limit is known", heads | {"left_out": "Left out"}, note=NOTE
        )

    @property
    def complaint(self) -> str | None:
        frame = self.confusion
        wrong = frame[frame["right"] < LEAST_RIGHT * frame["runs"].clip(lower=1)]
        if wrong.empty:
            return None
        listed = ", ".join(f"{row.truth} ({row.right} of {row.runs})" for row in wrong.itertuples())
        return f"{len(wrong)} of {len(frame)} known limits are not named in 9 of 10 runs: {listed}"

    def to_text(self) -> str:
        frame = self.confusion.astype(object).where(self.confusion != 0, "-")
        shown = frame_text(frame.rename(columns=dict(self.table.heads)))
        return f"{self.table.title}\n{shown}\n\n{NOTE}"

    def save(self, directory: Path, started_at: str) -> Path:
        self.table.export(directory / "words")
        document = {
            "netlab_words": 1,
            "started_at": started_at,
            "netlab": version(),
            "machine": self.machine,
            "confusion": self.confusion.to_dict("records"),
            "samples": self.samples,
        }
        return write_json(directory / "words.json", document, durable=True)
