"""Trust in results: precision, flags, empty cells, order effects; the quality gate.

The gate names what a reader must know before any figure: empty and flagged cells, a share of
flagged runs above :data:`FLAGGED_LIMIT`, cells less precise than the study asks, and a short form.
Each concern comes with its counts, the reason and the command that mends it.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from netlab.analysis import conditions
from netlab.analysis.any_factors import levels_of
from netlab.analysis.cells import empty, reached_percent
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.stored_calibrations import RATES, stored
from netlab.errors import BadInput
from netlab.files import paths
from netlab.results.campaign_files import read_log, study_file
from netlab.results.flags import CHANGE_STUDY, Flag, count_flags, counted_flags, remedies
from netlab.study import QUICK
from netlab.study.factors import level_text
from netlab.units import plain

FLAGGED_LIMIT = 0.05
"""Largest share of flagged runs that raises no concern."""

MOST_ROUNDS_FACTOR = 4
"""A proposed number of rounds is at most this many times the study's."""

CHANGE_OWN_FILE = (
    "; to change the study, change your own file and measure with that, not with its copy beside "
    "the results"
)
"""Place to change a study whose command names its stored copy."""

EMPTY, FLAGGED_CELLS, FLAGGED = "empty cells", "flagged cells", "flagged runs"
IMPRECISE, SHORT, DAMAGED = "precision", "short form", "damaged files"
KINDS = (DAMAGED, EMPTY, FLAGGED_CELLS, FLAGGED, IMPRECISE, SHORT)


@dataclass(frozen=True)
class Concern:
    """One reason for which a report does not pass the gate, with its remedy in a shell and here.

    `call` is what to do in a notebook: a call, or a sentence.
    """

    kind: str
    text: str
    reason: str
    command: str
    call: str
    copy: str = ""
    """The stored copy of the study, where `command` names it."""

    def with_own_file(self, words: Sequence[str]) -> Concern:
        """The concern for whom the study's own file is at hand: `words` in place of its copy."""
        argv = shlex.split(self.command)
        at = argv.index(self.copy)
        argv[at : at + 1] = words
        reason = self.reason.replace(CHANGE_OWN_FILE, "")
        return replace(self, command=shlex.join(argv), reason=reason, copy="")


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
    reasons = (_damaged(m), _empty(m), _flagged_cells(m), _flagged(m), _imprecise(m), _short(m))
    return tuple(filter(None, reasons))


def _damaged(m: Measured) -> Concern | None:
    if not m.damaged:
        return None
    repair = shlex.join(["netlab", "results", "repair", _short_path(m.results)])
    files = counted(len(m.damaged), "damaged file")
    text = f"{files} of the results: records or samples are missing here"
    return Concern(DAMAGED, text, "; ".join(m.damaged), repair, f"!{repair}")


def _empty(m: Measured) -> Concern | None:
    cells = m.cells[empty(m.cells)]
    reasons = cells["missing_because"].str.replace(r"^\d+ runs?, ", "", regex=True)
    text = _of(len(cells), len(m.cells), "cell", IS) + " empty"
    reason = f"{_counts(reasons)}; runs that are missing or failed are measured again"
    return _to_measure(m, cells, EMPTY, text, reason)


def _counts(texts: pd.Series) -> str:
    return "; ".join(f"{text}: {count}" for text, count in texts.value_counts().items())


def _to_measure(
    m: Measured, rows: pd.DataFrame, kind: str, text: str, reason: str, again: str = ""
) -> Concern | None:
    """The concern of cells or runs that another call of the study measures; None of none."""
    if rows.empty:
        return None
    if len(m.runs) and m.runs["run_id"].str.startswith("imported@").all():
        reason += "; import other reports of them"
        return Concern(kind, text, reason, "netlab import --help", "netlab.import_files(...)")
    reason += f"; {again}" if again else ""
    return Concern(kind, text, reason, *_remedy(m, rows, quick=_is_short(m)), _copy(m))


def _flagged_cells(m: Measured) -> Concern | None:
    cells = m.cells[m.cells["disturbed"] != ""]
    text = _of(len(cells), len(m.cells), "cell", HAS) + " only flagged runs"
    shown = "shown hollow with their median, never ranked or compared"
    reason = f"{_counts(cells['disturbed'])}; {shown}"
    flags = cells["disturbed"].str.replace(", ", ",", regex=False)
    again = _remedies(m, flags, "measure these cells again")
    return _to_measure(m, cells, FLAGGED_CELLS, text, reason, again)


def _flagged(m: Measured) -> Concern | None:
    flagged = conditions.flagged(m.runs)
    if len(flagged) <= FLAGGED_LIMIT * len(m.runs):
        return None
    runs, share = m.runs[m.runs["run_id"].isin(flagged["run_id"])], len(flagged) / len(m.runs)
    text = f"{_of(len(flagged), len(m.runs), 'run', IS)} flagged ({100 * share:.0f} %)"
    again = _remedies(m, runs["flags"], "measure these runs again")
    return _to_measure(m, runs, FLAGGED, text, counted_flags(m.runs["flags"]) + _foreign(m), again)


def _remedies(m: Measured, flags: pd.Series, again: str) -> str:
    """Remedies of flags, and where to change a study whose command names its stored copy."""
    text = remedies(flags, again)
    if CHANGE_STUDY.isdisjoint(count_flags(flags)) or not _copy(m):
        return text
    return text + CHANGE_OWN_FILE


def _foreign(m: Measured) -> str:
    """Share of the CPUs that other work took from the runs flagged for it; empty without one."""
    of_load = m.runs["flags"].fillna("").str.contains(Flag.INTERFERENCE)
    percent = m.runs.loc[of_load, "foreign_cpu_percent"].median()
    if pd.isna(percent):
        return ""
    return f"; other work took {percent:.0f} % of the CPUs, at the median of those disturbed"


def _imprecise(m: Measured) -> Concern | None:
    seen, asked, wide = precision(m), m.study.precision, less_precise(m)
    if asked is None or wide.empty:
        return None
    reason = f"{asked.half_width_percent:g} % was asked"
    if not math.isnan(seen.widest_percent):
        reason += f", the widest cell reached {plain(seen.widest_percent, '.3g')} %"
    if seen.none:
        reason += f"; {counted(seen.none, 'cell', HAS)} no interval over rounds"
    needed = wide["rounds_needed"].dropna()
    timing: dict[str, int | str] = {}
    if needed.empty:
        reason += "; rounds of the study are still to come"
    else:
        most = MOST_ROUNDS_FACTOR * asked.max_rounds
        wanted = needed[needed != math.inf].max()
        rounds = most if math.isnan(wanted) else min(most, int(wanted))
        timing["max_rounds"] = rounds = max(asked.max_rounds + 1, rounds)
        if beyond := int((needed > most).sum()):
            scatter = counted(beyond, "cell", ("scatters", "scatter"))
            reason += f"; {scatter} too much for {most} rounds: quiet the hosts"
        if asked.budget is not None:
            budget_s = asked.budget * rounds / asked.max_rounds
            minutes, seconds = (math.ceil(budget_s / unit) for unit in (60, 1))
            timing["budget"] = f"{minutes}min" if budget_s >= 60 else f"{seconds}s"
    text = _of(len(wide), len(m.cells), "cell", IS) + " less precise than asked"
    return Concern(IMPRECISE, text, reason, *_remedy(m, wide, timing=timing), _copy(m))


def _is_short(m: Measured) -> bool:
    return m.study.name.endswith(QUICK)


def _short(m: Measured) -> Concern | None:
    if not _is_short(m):
        return None
    rounds = counted(int(m.runs["round"].max()) if len(m.runs) else 0, "round")
    reason = f"{rounds} of {m.study.timing.seconds:g} s a run: a first look, not a result"
    return Concern(SHORT, "Short form of the study", reason, *_remedy(m, m.runs, whole=True))


def _outer(m: Measured, rows: pd.DataFrame) -> Mapping[str, object]:
    """Levels of outer factors: of the latest run if a row has them, else of a row."""
    outer = sorted(m.study.outer)
    now, concerned = (
        [{name: levels_of(text)[name] for name in outer} for text in frame["factors"]]
        for frame in (m.runs.sort_values("started_at").tail(1), rows)
    )
    return next(iter([*(one for one in now if one in concerned), *concerned, *now]), {})


def _remedy(
    m: Measured,
    rows: pd.DataFrame,
    *,
    quick: bool = False,
    whole: bool = False,
    timing: Mapping[str, int | str] = {},
) -> tuple[str, str]:
    """Command and code of a notebook that measure these rows, or the `whole` study."""
    name, outer = m.study.name.removesuffix(QUICK), _outer(m, rows)
    pairs = [f"{key}={level_text(level)}" for key, level in outer.items()]
    options = [word for pair in pairs for word in ("--outer", pair)]
    for key, value in timing.items():
        options += [f"--{key.replace('_', '-')}", str(value)]
    words, place = command(m, *options, quick=quick), ""
    if whole:  # its results are not those of the short form
        file = name if _is_known(name) else f"{name}.yml"
        words = shlex.join(["netlab", "study", file, *options])
    elif not _is_own(m):
        place = _short_path(m.results, paths.given_path(""))
    if not _is_known(name):
        again = "Measure the study without quick=True."
        return words, again if whole else "Run the cell that measures again."
    chosen = {"quick": True, **timing} if quick else timing
    study = [repr(name), *(f"{key}={value!r}" for key, value in chosen.items())]
    run = [f"outer={dict(outer)!r}"] * bool(outer) + [f"results={place!r}"] * bool(place)
    return words, f"netlab.Study({', '.join(study)}).run({', '.join(run)})"


def _is_own(m: Measured) -> bool:
    """True where the study's results go by default, and for an example, which is never changed."""
    places = (None, paths.results_dir(m.study.name))
    return m.results in places or m.results.is_relative_to(paths.example(""))


def _is_known(name: str) -> bool:
    """True if netlab finds the study by its name."""
    try:
        paths.study_file(name)
    except BadInput:
        return False
    return True


def _copy(m: Measured) -> str:
    """The stored copy of a study that netlab does not find by its name; else empty."""
    if not m.results or _is_known(m.study.name.removesuffix(QUICK)):
        return ""
    return _short_path(study_file(m.results, m.campaign))


def command(m: Measured, *options: str, quick: bool = False) -> str:
    """The command that measures the study of these results, to paste into a shell."""
    words = ["netlab", "study", m.study.name.removesuffix(QUICK)]
    if _is_known(words[-1]):
        words += ["--quick"] * quick
    else:
        # The copy of a short form is the short form itself.
        words[-1] = _copy(m) or f"{words[-1]}.yml"
    if not _is_own(m):
        words += ["--results", _short_path(m.results)]
    return shlex.join([*words, *options])


def _short_path(path: Path, here: Path | None = None) -> str:
    """Relative to the current directory where it lies there."""
    here = here or Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def contradictions(m: Measured) -> tuple[str, ...]:
    """Buses that the study states and a host contradicted, as the campaign recorded them."""
    if not m.campaign:
        return ()
    texts = read_log(m.results, m.campaign).contradictions
    return tuple(f"{host}: {text}" for host, text in texts.items())


def calibration(directory: Path | None = None) -> str:
    """State the calibrations stored beside the results, in a sentence.

    Each with its machine: results move to other ones, and a kernel is replaced.
    """
    parts = []
    for part in stored(directory).parts.values():
        within, when = part.verdicts.count("within"), f"on {part.date} ({part.made_with})"
        if part.name == RATES:
            met = f"{within} of {counted(len(part.verdicts), 'known rate')} met"
        else:
            of = counted(len(part.verdicts), "cell")
            met = f"path emulator: {within} of {of} within the bound"
        parts.append(f"{met} {when}")
    nothing = "not calibrated here; netlab calibrate compares this machine with known rates"
    return "; ".join(parts) or nothing
