"""Trust in results: precision, flags, empty cells, order effects; the quality gate.

The gate names what a reader must know before any figure: empty and disturbed cells, a share of
flagged runs above :data:`FLAGGED_LIMIT`, cells less precise than the study asks, and a short form.
Each concern comes with its counts, the reason and the command that mends it.
"""

from __future__ import annotations

import math
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.analysis import calibrated, conditions
from netlab.analysis.cells import empty, reached_percent
from netlab.analysis.factors import levels_of
from netlab.analysis.measured import Measured, computed_once
from netlab.errors import BadInput
from netlab.files import paths
from netlab.measure.flags import INTERFERENCE
from netlab.results.campaigns import read_log, study_file
from netlab.study import QUICK
from netlab.study.factors import level_text

FLAGGED_LIMIT = 0.05
"""Largest share of flagged runs that raises no concern."""

MOST_ROUNDS_FACTOR = 4
"""A proposed number of rounds is at most this many times the study's."""

EMPTY, DISTURBED, FLAGGED = "empty cells", "disturbed cells", "flagged runs"
IMPRECISE, SHORT = "precision", "short form"
KINDS = (EMPTY, DISTURBED, FLAGGED, IMPRECISE, SHORT)


@dataclass(frozen=True)
class Concern:
    """One reason for which a report does not pass the quality gate."""

    kind: str
    text: str
    reason: str
    command: str


@dataclass(frozen=True)
class PrecisionReached:
    """Half widths of the cells' intervals, in per cent of the mean."""

    asked_percent: float
    within: int
    wide: int
    none: int
    median_percent: float
    widest_percent: float


def precision(m: Measured) -> PrecisionReached:
    """Precision of the cells that have a valid run."""
    half = reached_percent(m.cells[m.cells["n_valid"] > 0])
    asked = math.nan if m.study.precision is None else m.study.precision.half_width_percent
    limit = math.inf if math.isnan(asked) else asked
    return PrecisionReached(
        asked_percent=asked,
        within=int((half <= limit).sum()),
        wide=int((half > limit).sum()),
        none=int(half.isna().sum()),
        median_percent=float(half.median()),
        widest_percent=float(half.max()),
    )


def less_precise(m: Measured) -> pd.DataFrame:
    """Cells with a valid run that are less precise over their rounds than the study asks."""
    cells, asked = m.cells[m.cells["n_valid"] > 0], m.study.precision
    if asked is None:
        return cells.head(0)
    return cells[~(reached_percent(cells) <= asked.half_width_percent)]


def counted(count: int, noun: str, verb: tuple[str, str] | None = None) -> str:
    """``1 cell``, ``1,120 runs``; with `verb` the form that agrees: ``1 cell is``."""
    text = f"{count:,} {noun}" + ("" if count == 1 else "s")
    return text if verb is None else f"{text} {verb[0] if count == 1 else verb[1]}"


def _of(part: int, whole: int, noun: str, verb: tuple[str, str]) -> str:
    return f"{part:,} of {counted(whole, noun)} {verb[0] if part == 1 else verb[1]}"


IS, HAS = ("is", "are"), ("has", "have")


@computed_once
def gate(m: Measured) -> tuple[Concern, ...]:
    """All concerns of a measured study, in the order of :data:`KINDS`; empty if it passes."""
    found = (_empty(m), _disturbed(m), _flagged(m), _imprecise(m), _short(m))
    return tuple(concern for concern in found if concern is not None)


def _empty(m: Measured) -> Concern | None:
    cells = m.cells[empty(m.cells)]
    if cells.empty:
        return None
    reasons = cells["missing_because"].str.replace(r"^\d+ runs?, ", "", regex=True)
    return Concern(
        EMPTY,
        _of(len(cells), len(m.cells), "cell", IS) + " empty",
        _counts(reasons),
        command(m, "study", *_outer(m, cells), quick=_is_short(m)),
    )


def _counts(texts: pd.Series) -> str:
    return "; ".join(f"{text}: {count}" for text, count in texts.value_counts().items())


def _disturbed(m: Measured) -> Concern | None:
    cells = m.cells[m.cells["disturbed"] != ""]
    if cells.empty:
        return None
    return Concern(
        DISTURBED,
        _of(len(cells), len(m.cells), "cell", HAS) + " only disturbed runs",
        f"{_counts(cells['disturbed'])}; shown hollow with their median, never ranked or compared; "
        "end what else uses the hosts, then measure these cells again",
        command(m, "study", *_outer(m, cells), quick=_is_short(m)),
    )


def _flagged(m: Measured) -> Concern | None:
    flagged = conditions.flagged(m.runs)
    if len(flagged) <= FLAGGED_LIMIT * len(m.runs):
        return None
    share, at = 100 * len(flagged) / len(m.runs), m.runs["run_id"].isin(flagged["run_id"])
    return Concern(
        FLAGGED,
        f"{_of(len(flagged), len(m.runs), 'run', IS)} flagged ({share:.0f} %)",
        f"{flags_in_words(m.runs)}{_foreign(m)}; quiet the hosts, then measure these runs again",
        command(m, "study", *_outer(m, m.runs[at]), quick=_is_short(m)),
    )


def _foreign(m: Measured) -> str:
    """How much of the CPUs other work took from the runs flagged for it; empty without one."""
    of_load = m.runs["flags"].fillna("").str.contains(INTERFERENCE)
    taken = m.runs.loc[of_load, "foreign_cpu_percent"].dropna()
    if taken.empty:
        return ""
    return f"; other work took {taken.median():.0f} % of the CPUs, at the median of those disturbed"


def flags_in_words(runs: pd.DataFrame) -> str:
    """``interference 12, stalled 1``; empty without a flag."""
    counts = conditions.flag_counts(runs)
    return ", ".join(f"{row.flag} {row.runs}" for row in counts.itertuples())


def _imprecise(m: Measured) -> Concern | None:
    seen, asked, wide = precision(m), m.study.precision, less_precise(m)
    if asked is None or wide.empty:
        return None
    reason = f"{asked.half_width_percent:g} % was asked"
    if not math.isnan(seen.widest_percent):
        reason += f", the widest cell reached {seen.widest_percent:.3g} %"
    if seen.none:
        reason += f"; {counted(seen.none, 'cell', HAS)} no interval over rounds"
    needed = wide["rounds_needed"].dropna()
    options = _outer(m, wide)
    if len(needed):  # else the study's own rounds are still to come
        finite, most = needed[needed != math.inf], MOST_ROUNDS_FACTOR * asked.max_rounds
        rounds = max(asked.max_rounds + 1, min(most, int(finite.max()) if len(finite) else most))
        if beyond := int((needed > most).sum()):
            scatter = counted(beyond, "cell", ("scatters", "scatter"))
            reason += f"; {scatter} too much for {most} rounds: quiet the hosts"
        options += ["--max-rounds", str(rounds)]
        if asked.budget is not None:
            options += ["--budget", _duration(asked.budget * rounds / asked.max_rounds)]
    return Concern(
        IMPRECISE,
        _of(len(wide), len(m.cells), "cell", IS) + " less precise than asked",
        reason,
        command(m, "study", *options),
    )


def _duration(seconds: float) -> str:
    return f"{math.ceil(seconds / 60)}min" if seconds >= 60 else f"{math.ceil(seconds)}s"


def _is_short(m: Measured) -> bool:
    return m.study.name.endswith(QUICK)


def _short(m: Measured) -> Concern | None:
    if not _is_short(m):
        return None
    timing, rounds = m.study.timing, int(m.runs["round"].max()) if len(m.runs) else 0
    return Concern(
        SHORT,
        "Short form of the study",
        f"{counted(rounds, 'round')} of {timing.seconds:g} s a run: a first look, not a result",
        _whole(m),
    )


def _outer(m: Measured, rows: pd.DataFrame) -> list[str]:
    """Options with levels of outer factors: of the latest run if a row has them, else of a row."""
    outer = sorted(m.study.outer)
    now, concerned = (
        [{name: levels_of(text)[name] for name in outer} for text in frame["factors"]]
        for frame in (m.runs.sort_values("started_at").tail(1), rows)
    )
    found = [*(one for one in now if one in concerned), *concerned, *now]
    pairs = [f"{name}={level_text(level)}" for one in found[:1] for name, level in one.items()]
    return [word for pair in pairs for word in ("--outer", pair)]


def _whole(m: Measured) -> str:
    """The command for the whole study of a short form; its results are not those of the form."""
    name = m.study.name.removesuffix(QUICK)
    words = ["netlab", "study", name if _is_known(name) else f"{name}.yml"]
    return shlex.join([*words, *_outer(m, m.runs)])


def _is_known(name: str) -> bool:
    """True if netlab finds the study by its name."""
    try:
        paths.study_file(name)
    except BadInput:
        return False
    return True


def command(m: Measured, verb: str, *options: str, quick: bool = False) -> str:
    """A netlab command for the study of these results, to paste into a shell."""
    name = m.study.name.removesuffix(QUICK)
    words = ["netlab", verb]
    if _is_known(name):
        words += [name, "--quick"] if quick else [name]
    else:
        # The copy of a short form is the short form itself.
        words.append(_short_path(study_file(m.results, m.campaign)) if m.results else f"{name}.yml")
    if m.results and m.results != paths.results_dir(m.study.name):
        words += ["--results", _short_path(m.results)]
    return shlex.join([*words, *options])


def _short_path(path: Path) -> str:
    """Relative to the directory that netlab works in where it lies there."""
    root = paths.root_dir()
    return os.path.relpath(path, root) if path.is_relative_to(root) else str(path)


def contradictions(m: Measured) -> tuple[str, ...]:
    """Buses that the study states and a host contradicted, as the campaign recorded them."""
    if not m.campaign:
        return ()
    found = read_log(m.results, m.campaign).contradictions
    return tuple(f"{host}: {text}" for host, text in found.items())


_NOT_CALIBRATED = "not calibrated here; netlab calibrate compares this machine with known rates"


def calibration(directory: Path | None = None) -> str:
    """State the calibrations stored beside the results, in a sentence."""
    parts = calibrated.stored(directory).parts.values()
    return "; ".join(map(_part_in_words, parts)) or _NOT_CALIBRATED


def _part_in_words(part: calibrated.CalibratedPart) -> str:
    within = part.verdicts.count("within")
    when = f"on {part.date} (netlab {part.version})"
    if part.name == calibrated.RATES:
        return f"{within} of {counted(len(part.verdicts), 'known rate')} met {when}"
    whole = counted(len(part.verdicts), "cell")
    return f"path emulator: {within} of {whole} within the bound {when}"
