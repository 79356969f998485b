"""The two sides of a comparison, how they differ besides goodput, and when a comparison fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from netlab import study as studies
from netlab.analysis import fact_words, printed
from netlab.analysis.cells import CELL_KEYS, nominal_level
from netlab.analysis.compare import (
    BASE,
    CANNOT_TELL,
    FASTER,
    MORE,
    NO_INTERVAL,
    SAME,
    SLOWER,
    UNKNOWN_SHIFT,
    Asked,
    Compared,
    OtherRuns,
    compare_all,
    shift_of,
)
from netlab.analysis.conditions import json_of
from netlab.analysis.measured import LoadedRuns, Measured, load_runs
from netlab.analysis.trust import FACTS
from netlab.errors import BadInput, NetlabError, check
from netlab.files import paths
from netlab.results import store
from netlab.results.store import Store
from netlab.study import QUICK, Study

# Differences between two sides of a comparison besides goodput: provenance and settings.

MEASURED_FACTS = {"memory_kB", "copy_MBps", "cpu_frequency", "thermal_throttling"}
"""Facts that differ from one campaign to the next on the same host."""

HOST_FACTS = {key: label for key, label in FACTS.items() if key not in MEASURED_FACTS}
TOP = {
    key: fact_words.LABELS[key]
    for key in ("netlab", "agent", "emulated_with", "task_group", "user_namespace", "socket")
}
COLUMNS = {
    "study": "study",
    "study_digest": "study digest",
    "congestion": "congestion control",
    "congestion_source": "congestion control in the kernel",
    "generator": "generator",
    "generator_version": "generator version",
    "engine": "engine",
    "record_length_B": "record length, B",
    "buffer_B": "socket buffer, B",
    "receive_buffer_B": "receive buffer, B",
    "warmup_s": "warm-up, s",
}
TIMING = {"seconds": "window, s", "interval_ms": "interval, ms", "drain_s": "drain, s"}

UNITS = {
    "rtt_ms": "RTT, ms",
    "delay_ms": "delay each way, ms",
    "rate_Mbps": "rate, Mb/s",
    "queue_B": "queue, B",
    "queue_packets": "queue, packets",
    "loss": "probability of loss",
    "jitter_ms": "jitter, ms",
    "link_MBps": "rate of the link, MB/s",
    "interrupt_delay_us": "deferral of interrupts, µs",
    "pacing_MBps": "pacing, MB/s",
}
DIGESTS = {"study digest", "agent digest"}
PROGRAMS = {"netlab version", "generator version", "study"}
"""Listed after what was asked for and what was found."""
DIGEST_CHARS = 12
ABSENT = "not recorded"
ALONE, PATHS_ALONE = "hosts of one side", "path of one side"
"""Names of hosts and paths that one side has alone."""
SHOWN = 4
"""Values that are listed of one item."""


def differences(
    a: pd.DataFrame,
    b: pd.DataFrame,
    studies: tuple[Study | None, Study | None] = (None, None),
    *,
    by: str = "",
) -> pd.DataFrame:
    """List the recorded conditions in which two sets of runs differ.

    Hosts and paths that one side has alone, under other names, are compared together.
    """
    both = _hosts(a) & _hosts(b)
    one, other = studies
    if one and other:
        both |= {f"path {name}" for name in one.paths.keys() & other.paths.keys()}
    of_a, of_b = (
        _items(runs, study, by, both) for runs, study in zip((a, b), studies, strict=True)
    )
    rows = [
        (item, _text(item, of_a.get(item)), _text(item, of_b.get(item)))
        for item in dict.fromkeys([*of_a, *of_b])
        if of_a.get(item) != of_b.get(item)
    ]
    # First what was asked of the paths: the RTT, before the warm-up that follows from it.
    rows.sort(
        key=lambda row: (row[0] in DIGESTS, row[0] in PROGRAMS, not row[0].startswith("path "))
    )
    return pd.DataFrame.from_records(rows, columns=["item", "a", "b"])


def _of_study(study: Study, both: set[str]) -> Iterator[tuple[str, object]]:
    """Settings that a study asks of its paths and of all its runs, by names with units."""
    for name, path in study.paths.items():
        path_name = f"path {name}"
        if path_name not in both:
            path_name = PATHS_ALONE
            yield path_name, name
        for words, value in _leaves(path.model_dump(mode="json", exclude={"ends", "also"})):
            yield f"{path_name}, {words}", value
        yield f"{path_name}, hosts", len(path.hosts)
    for part in ("socket", "policy", "latency", "udp"):
        for words, value in _leaves(getattr(study, part).model_dump(mode="json")):
            yield f"{part}, {words}", value


def _leaves(content: dict, inside: str = "") -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, name)
        elif value is not None:
            yield UNITS.get(name, name if name == inside else f"{inside} {name}".strip()), value


def _text(item: str, values: set[str] | None) -> str:
    if not values:
        return ABSENT
    shown = sorted(value[:DIGEST_CHARS] if item in DIGESTS else value for value in values)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return "; ".join(shown[:SHOWN]) + more


def _hosts(runs: pd.DataFrame) -> set[str]:
    """Names of all hosts of which something is recorded."""
    found = (content.get("hosts", {}) for content in _parsed(runs["provenance"], "provenance"))
    return {host for hosts in (*found, *_parsed(runs["knobs"], "knobs")) for host in hosts}


def _items(runs: pd.DataFrame, study: Study | None, by: str, both: set[str]) -> dict[str, set[str]]:
    items: dict[str, set[str]] = {}

    def add(item: str, value: object) -> None:
        items.setdefault(item, set()).add(ABSENT if value is None else str(value))

    for column, label in COLUMNS.items():
        for value in runs[column].dropna().unique() if column != by else ():
            add(label, value)
    if study is not None:
        for key, label in TIMING.items():
            add(label, getattr(study.timing, key))
        for label, value in _of_study(study, both):
            add(label, value)
    for content in _parsed(runs["provenance"], "provenance"):
        for item, value in _of_provenance(content, both):
            add(item, value)
    for host in _hosts(runs) - both:
        add(ALONE, host)
    by_tuning = runs.groupby("tuning", sort=False)["knobs"]
    for tuning, texts in by_tuning:
        where = "" if by == "tuning" or len(by_tuning) == 1 else f", tuning {tuning}"
        for content in _parsed(texts, "knobs"):
            for host, knobs in content.items():
                for knob, value in knobs.items():
                    add(f"{host if host in both else ALONE}, {knob}{where}", value)
    return items


def _parsed(texts: pd.Series, column: str) -> Iterator[dict]:
    for text in texts.drop_duplicates():
        content = json_of(text, column, code="E-ANALYSIS-024")
        if isinstance(content, dict):
            yield content


def _of_provenance(content: dict, both: set[str]) -> Iterator[tuple[str, object]]:
    agent = content.get("agent", content.get("agent_digest"))
    for key, label in TOP.items():
        value = agent if key == "agent" else content.get(key)
        if value is not None:
            yield label, json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
    for host, facts in content.get("hosts", {}).items():
        for key, label in HOST_FACTS.items():
            if facts.get(key) is not None:
                yield f"{host if host in both else ALONE}, {label}", facts[key]


# The two sides of a comparison: results, campaigns, or levels of a factor.

FACTORS = (*BASE, *MORE)


@dataclass(frozen=True, eq=False)
class ComparedSide:
    label: str
    study: Study
    runs: pd.DataFrame
    directory: Path
    campaign: str

    @property
    def given(self) -> str:
        """The side as an argument that means the same in any current directory."""
        place = str(self.directory.absolute())
        return f"{place}@{self.campaign}" if self.campaign else place

    @property
    def asked(self) -> Asked:
        """Level and precision that the study asks for."""
        precision = self.study.precision
        half = None if precision is None else precision.half_width_percent
        return Asked(nominal_level(self.study), half)


@dataclass(frozen=True, eq=False)
class SidesCompared:
    """Two sides with what differs between them, in conditions and in goodput."""

    a: ComparedSide
    b: ComparedSide
    by: str
    differences: pd.DataFrame
    compared: Compared


READ = (
    *(*CELL_KEYS, *BASE, *MORE, *COLUMNS),
    *("study", "campaign", "round", "started_at", "flags", "goodput_MBps"),
    *("provenance", "knobs"),
)
"""Columns of runs that a comparison reads."""


def side_of(given: str | Path | Measured) -> ComparedSide:
    text = str(given.results if isinstance(given, Measured) else given)
    if not isinstance(given, Measured) and (one := store.named_campaign(text)):
        return _campaign_of(text, *one)
    m = given if isinstance(given, Measured) else _loaded(text)
    return ComparedSide(text, m.study, m.runs, m.results, m.campaign or "")


def _campaign_of(label: str, directory: Path, campaign: str) -> ComparedSide:
    design = studies.load_stored(store.study_file(directory, campaign))
    runs = Store(directory).runs(campaign=campaign, only=READ)
    if runs.empty:
        raise NetlabError(f"campaign {campaign} in {directory} has no runs", code="E-ANALYSIS-026")
    return ComparedSide(label, design, runs, directory, campaign)


def _loaded(given: str) -> LoadedRuns:
    """Load results by their directory or by the name of their study."""
    named = "/" not in given and paths.results_dir(given).is_dir()
    if not named and paths.given_path(given).is_dir():
        return load_runs(given, only=READ)
    try:
        _ = named or paths.study_file(given.removesuffix(QUICK))
    except BadInput:
        text = f"no such directory of results, and no study of this name{store.names_here()}"
        raise BadInput(text, value=given, code="E-ANALYSIS-043") from None
    return load_runs("", given, only=READ)


def levels_of(text: str, runs: pd.DataFrame) -> tuple[str, tuple[object, object]]:
    """Parse ``COLUMN=a,b``: a factor and two of its levels, whose names may contain commas."""
    check(isinstance(text, str), "by", str(text), "write COLUMN=a,b", "E-ANALYSIS-049")
    column, equals, rest = text.partition("=")
    column = column.strip()
    further = [name for name in printed.names(runs) if name not in FACTORS]
    columns = (*FACTORS, *further)
    message = f"write COLUMN=a,b with a column of {', '.join(columns)}"
    check(equals and column in columns, "by", text, message, "E-ANALYSIS-027")
    values = printed.column(runs, column) if column in further else runs[column]
    level_of = {str(level): level for level in values.dropna().unique().tolist()}
    commas = [at for at, character in enumerate(rest) if character == ","]
    splits = [(rest[:at].strip(), rest[at + 1 :].strip()) for at in commas]
    pairs = [
        (level_of[a], level_of[b]) for a, b in splits if a in level_of and b in level_of and a != b
    ]
    message = f"write two levels, separated by a comma; the runs have {', '.join(sorted(level_of))}"
    message += "; this can be read in several ways" if pairs else ""
    check(len(pairs) == 1, f"by {column}", rest, message, "E-ANALYSIS-028")
    return column, pairs[0]


def split(side: ComparedSide, by: str) -> tuple[str, tuple[ComparedSide, ComparedSide]]:
    """Two sides of one: the runs with each of two levels of a factor."""
    column, levels = levels_of(by, side.runs)
    runs = side.runs
    if column in printed.names(runs):
        values = printed.column(runs, column)
        runs = runs.assign(**{column: values, "factors": printed.without(runs, column)})
    a, b = (
        replace(side, label=f"{column}={level}", runs=runs[runs[column] == level])
        for level in levels
    )
    return column, (a, b)


def comparison(
    given: Sequence[str | Path | Measured],
    *,
    by: str = "",
    same_within_percent: float = 5.0,
    repeats: Sequence[str | Path | Measured] = (),
) -> SidesCompared:
    names = [str(one) for one in given if not isinstance(one, Measured)]
    text = "name two results A and B, or one of them and --by COLUMN=a,b"
    check(len(given) == (1 if by else 2), "results", names, text, "E-ANALYSIS-029")
    column, sides = "", tuple(side_of(one) for one in given)
    if by:
        column, sides = split(sides[0], by)
    a, b = sides
    _check_apart(a, b, by)
    text = "are campaigns like A, beside another campaign; --by compares within one"
    check(not (by and repeats), "repeats", [str(one) for one in repeats], text, "E-ANALYSIS-045")
    (found,) = _compared_sides(a, [b], column, same_within_percent, repeats)
    return found


def comparisons(
    given: Sequence[str | Path | Measured],
    *,
    same_within_percent: float = 5.0,
    repeats: Sequence[str | Path | Measured] = (),
) -> list[SidesCompared]:
    """Compare all further results with the first ones, the reference, as one family."""
    names = [str(one) for one in given if not isinstance(one, Measured)]
    check(len(given) >= 2, "results", names, "name a reference and others", "E-ANALYSIS-048")
    reference, *others = (side_of(one) for one in given)
    for place, one in enumerate(others):
        for before in (reference, *others[:place]):
            _check_apart(before, one, "")
    return _compared_sides(reference, others, "", same_within_percent, repeats)


def _one_store(a: ComparedSide, b: ComparedSide) -> bool:
    return a.directory.resolve() == b.directory.resolve()


def _check_apart(a: ComparedSide, b: ComparedSide, by: str) -> None:
    apart = by or not _one_store(a, b) or a.campaign != b.campaign
    text = "A and B are the same results; name two campaigns as DIR@CAMPAIGN, or use --by"
    check(apart, "results", str(a.directory), text, "E-ANALYSIS-030")


def _compared_sides(
    a: ComparedSide,
    others: Sequence[ComparedSide],
    by: str,
    same_within_percent: float,
    repeats: Sequence[str | Path | Measured],
) -> list[SidesCompared]:
    shift = UNKNOWN_SHIFT
    if repeats:
        again = [side_of(one).runs for one in repeats]
        level = min(a.asked.level, *(b.asked.level for b in others))
        shift = shift_of([a.runs, *again], level)
    every = compare_all(
        *(a.runs, a.asked, [OtherRuns(b.runs, b.asked, _one_store(a, b), b.label) for b in others]),
        label=a.label,
        by=by,
        same_within_percent=same_within_percent,
        shift=shift,
    )
    return [
        SidesCompared(a, b, by, differences(a.runs, b.runs, (a.study, b.study), by=by), found)
        for b, found in zip(others, every, strict=True)
    ]


# Conditions under which a comparison fails, for continuous integration.

NOT_SAME, MISSING = f"not {SAME}", "missing"

_NUMBER = r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_FORMS = (
    re.compile(rf"(?P<word>{FASTER}|{SLOWER}|{CANNOT_TELL}|{NO_INTERVAL}|{NOT_SAME}|{MISSING})"),
    re.compile(rf"(?P<word>{FASTER}|{SLOWER}) > {_NUMBER} ?%"),
    re.compile(rf"ratio (?P<sign>[<>]) {_NUMBER}"),
)
GRAMMAR = (
    f"slower, faster, {CANNOT_TELL}, {NO_INTERVAL}, {NOT_SAME}, {MISSING}, slower > N %, "
    "faster > N %, ratio < X or ratio > X"
)


@dataclass(frozen=True)
class Condition:
    """A condition that any cell of a comparison may meet."""

    text: str
    word: str = ""
    sign: str = ""
    bound: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition, such as ``slower > 5 %``, a bound of 0.95 on the ratio."""
        words = " ".join(text.split())
        match = next(filter(None, (form.fullmatch(words) for form in _FORMS)), None)
        parts = match.groupdict() if match else {}
        number = float(parts.get("number") or 0)
        word, sign = parts.get("word", ""), parts.get("sign", "")
        # no ratio is below 0, and none that is slower by 100 % is above it
        fine = parts and not (word == SLOWER and number >= 100) and not (sign and number == 0)
        message = (
            f"is not a condition; write {GRAMMAR}, with N below 100 for slower and X above 0, "
            "such as --fail-if 'slower > 5 %'"
        )
        check(fine, "fail-if", text, message, "E-ANALYSIS-031")
        if "number" not in parts:
            return cls(words, word=word)
        if sign:
            return cls(words, sign=sign, bound=number)
        slower = word == SLOWER
        return cls(words, "", "<" if slower else ">", (100 + (-number if slower else number)) / 100)

    def met_by(self, compared: Compared) -> pd.DataFrame:
        """Cells with the word, or ranked ones whose whole interval lies beyond the bound."""
        frame = compared.frame
        if self.word == MISSING:
            return compared.only
        if self.word == CANNOT_TELL:  # a cell without an interval is not decided either
            return frame[frame["verdict"].isin((CANNOT_TELL, NO_INTERVAL))]
        if self.word == NOT_SAME:
            return frame[frame["verdict"] != SAME]
        if self.word:
            return frame[frame["verdict"] == self.word]
        beyond = frame["high"] < self.bound if self.sign == "<" else frame["low"] > self.bound
        return frame[frame["ranked"] & beyond]
