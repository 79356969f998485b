"""Claims of the documents, and the values that they are about."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from netlab.errors import BadInput, check
from netlab.openlab import published
from netlab.openlab.published.layout import HALF_SPEED_MBPS

# Values from the openlab report's tables, for the claims about them.

# The notes state fluctuations of a few per cent; smaller differences do not count.
FLUCTUATION = 0.03
# Largest over smallest value, less one, of a line called "almost constant" or "flat".
FLAT = 0.10
_LEVELS = ["tuning", "mtu_B", "streams"]


_load = cache(published.load)


def report() -> pd.DataFrame:
    """Tables 1 to 6."""
    return _load("openlab-2003")


def chart(table: int, tuning: str) -> pd.DataFrame:
    """Throughput in MB/s of a chart, a row an MTU and a column a stream count."""
    shown = report().query("table == @table and tuning == @tuning")
    return shown.pivot(index="mtu_B", columns="streams", values="throughput_MBps")


def curve(table: int, tuning: str, mtu_B: int) -> pd.Series:
    return chart(table, tuning).loc[mtu_B]


def best(table: int, tuning: str | None = None) -> float:
    """Largest throughput of a table or of one of its tunings, MB/s."""
    frame = report()
    chosen = (frame["table"] == table) & ((frame["tuning"] == tuning) | (tuning is None))
    return float(frame.loc[chosen, "throughput_MBps"].max())


def best_percent(table: int) -> float:
    """Largest per cent of the bus in a table."""
    return float(report().groupby("table")["percent_of_bus"].max()[table])


def ratios(table: int, other: int) -> np.ndarray:
    """Throughput of a table over that of another, for every cell that both have."""
    one, two = (
        report().query("table == @number").set_index(_LEVELS)["throughput_MBps"]
        for number in (table, other)
    )
    return (one / two).dropna().to_numpy()


def swings(table: int, tuning: str) -> pd.Series:
    """Largest over smallest value of every line of a chart, less one."""
    lines = chart(table, tuning)
    return lines.max(axis=1) / lines.min(axis=1) - 1


def peaks(table: int, tuning: str) -> list[int]:
    """Stream count of the largest value of every line of a chart."""
    return chart(table, tuning).idxmax(axis=1).tolist()


def mtus_that_gain(table: int, tuning: str) -> list[int]:
    """MTUs whose largest value is not the one of a single stream."""
    return [mtu_B for mtu_B, at in chart(table, tuning).idxmax(axis=1).items() if at != 1]


def rises(table: int, tuning: str) -> list[bool]:
    """True if throughput never falls with more streams, for every line of a chart."""
    return [line.is_monotonic_increasing for _, line in chart(table, tuning).iterrows()]


def listed(line: pd.Series) -> str:
    """Values of a line as text, in the order of streams."""
    return " ".join(f"{value:g}" for value in line)


def lines(table: int, tuning: str) -> str:
    """`listed` of every line of a chart."""
    return " | ".join(listed(line) for _, line in chart(table, tuning).iterrows())


def same_as_notes() -> int:
    """Number of cells of table 1 that equal the preliminary notes' sets 1 to 3."""
    notes = _load("openlab-2003-preliminary").set_index(_LEVELS)["throughput_MBps"]
    table = report().query("table == 1").set_index(_LEVELS)["throughput_MBps"]
    return int((notes.reindex(table.index) == table).sum())


def outside(table: int) -> list[str]:
    """Cells of kernel tuning that do not lie between those of none and of full tuning."""
    names = []
    for mtu_B in (1500, 9000):
        cells = {tuning: curve(table, tuning, mtu_B) for tuning in ("none", "kernel", "full")}
        for streams, none, kernel, full in pd.DataFrame(cells).itertuples():
            if not min(none, full) <= kernel <= max(none, full):
                against = f"{kernel:g} against {none:g} and {full:g}"
                names.append(f"{mtu_B} B, {streams} streams: {against}")
    return names


def largest_change(table: int, before: str, after: str) -> pd.Series:
    """Relative change between two tunings by stream count, of the MTU where it is largest."""
    changes = [abs(curve(table, after, m) / curve(table, before, m) - 1) for m in (1500, 9000)]
    return max(changes, key=lambda line: line.max())


def unchanged_or_better(table: int, mtu_B: int, tunings: Sequence[str]) -> CheckResult:
    """20 streams against 12: a loss within the fluctuation of the notes counts as unchanged."""
    lines = {tuning: curve(table, tuning, mtu_B) for tuning in tunings}
    changes = {tuning: line[20] / line[12] - 1 for tuning, line in lines.items()}
    text = ", ".join(f"{tuning} {100 * change:+.1f} %" for tuning, change in changes.items())
    why = "20 against 12 streams; within the few per cent of fluctuation counts as unchanged"
    worst = min(changes.values())
    verdict = Verdict.ROUNDS if worst >= -FLUCTUATION else Verdict.CONTRADICTED
    return CheckResult(text, Verdict.HOLDS if worst >= 0 else verdict, why)


# Values from the preliminary notes, and one claim for each stated total.

PRELIMINARY = "openlab-preliminary"
_SET_OF_TUNING = {"none": 1, "kernel": 2, "full": 3}
# A per-stream figure is cut or rounded to 1 MB/s, so each stream may be 1 MB/s off.
_PER_STREAM_TOLERANCE_MBPS = 1.0


def cells(tuning: str, mtus_B: int | list[int], streams: int | list[int]) -> np.ndarray:
    """Throughputs of one set, MB/s, for several MTUs or several stream counts."""
    frame = _load("openlab-2003-preliminary").set_index(_LEVELS)["throughput_MBps"]
    pairs = np.broadcast(np.array(mtus_B), np.array(streams))
    return np.array([float(frame[(tuning, *pair)]) for pair in pairs])


def cell(tuning: str, mtu_B: int, streams: int) -> float:
    """Throughput of one cell, MB/s."""
    return float(cells(tuning, [mtu_B], streams)[0])


def largest_total(tuning: str | None = None) -> float:
    """Largest total of several streams in all sets or in one, without the misprints, MB/s."""
    frame = _load("openlab-2003-preliminary").drop(misprints().index)
    chosen = (frame["streams"] > 1) & ((frame["tuning"] == tuning) | (tuning is None))
    return float(frame.loc[chosen, "throughput_MBps"].max())


def check_total(per_stream_MBps: float, streams: int, printed: PrintedValue) -> CheckResult:
    """Compare a stated total with streams times the per-stream figure."""
    each_MBps, tolerance = printed.number / streams, streams * _PER_STREAM_TOLERANCE_MBPS
    why = f"{streams} x {per_stream_MBps:g}; the total means {each_MBps:.2f} a stream"
    total_MBps = per_stream_MBps * streams
    result = printed.against(total_MBps, why, unit="MB/s", tolerance=tolerance)
    if result.verdict is not Verdict.CONTRADICTED:
        return result
    off = abs(each_MBps - per_stream_MBps)
    return replace(result, why=f"{why}, {off:.0f} MB/s off: a misprint in one of the two")


def totals() -> tuple[Claim, ...]:
    """One claim for each stated total, in the order of the notes."""
    return tuple(
        Claim(
            PRELIMINARY,
            f"Set {_SET_OF_TUNING[row.tuning]}, MTU {row.mtu_B}, {row.streams} streams",
            f"Total of {row.streams} streams of {row.per_stream_MBps:g} MB/s",
            PrintedValue(f"tot:{row.stated_total_MBps:g}"),
            NAMES,
            check=f"check_total({row.per_stream_MBps}, {row.streams}, printed)",
        )
        for row in _stated().itertuples(index=False)
    )


def misprints() -> pd.DataFrame:
    """Rows whose stated total cannot be the sum of their streams."""
    wrong = [claim.checked().verdict is Verdict.CONTRADICTED for claim in totals()]
    stated = _stated()[wrong]
    return stated.assign(streams_times_MBps=stated["per_stream_MBps"] * stated["streams"])


def _stated() -> pd.DataFrame:
    return _load("openlab-2003-preliminary").dropna(subset="stated_total_MBps")


# Values from the wide-area page: the transfer, the windows, the path.

# A single-sided single-layer 120 mm disc (type A): 4.7 Gbytes (Standard ECMA-267, 2001).
DVD_CAPACITY_B = 4.7e9


def rapid(quantity: str) -> float:
    """A number that rapid was given or printed."""
    return _load("slac-2003-rapid").set_index("quantity")["value"][quantity]


def elapsed_s() -> float:
    """Stop less start of the transfer, s."""
    # Printed to 1 ms at an epoch of 1e9 s; the difference of two floats is rounded back to that.
    return round(rapid("stop") - rapid("start"), 3)


def rate_Mbps() -> float:
    """Amount over time of the transfer, Mb/s."""
    return rapid("amount") * 8 / elapsed_s() / 1e6


def sndbufs_B() -> list[int]:
    """Every ``sndbuf`` of wad.conf, bytes."""
    return [int(size) for size in _load("slac-2003")["wad_sndbuf_B"].dropna()]


def receiver_setting(key: str) -> int:
    settings = _load("slac-2003-settings").query("host == 'receiver'")
    return int(settings.set_index("key")["value"][key])


def ping_ms(site: str, statistic: str) -> float:
    """A statistic that ping printed, ms."""
    shown = _load("slac-2003-path").query("tool == 'ping' and from_site == @site")
    return float(shown.set_index("statistic")["rtt_ms"][statistic])


def _hops_ms(site: str) -> pd.Series:
    """Least round-trip time of each hop, ms."""
    shown = _load("slac-2003-path").query("tool == 'traceroute' and from_site == @site")
    return shown.groupby("number")["rtt_ms"].min()


def hop_ms(site: str, hop: int) -> float:
    """Least round-trip time to one hop of the traceroute, ms."""
    return float(_hops_ms(site)[hop])


def routers(site: str) -> int:
    """Number of routers that the traceroute passes."""
    return int(_hops_ms(site).index.max()) - 1


def bigger_memory(printed: PrintedValue) -> CheckResult:
    """Compare the tcp memory settings of the left plot with those of the right one."""
    rows = _load("slac-2003").set_index("place")
    left, right = (
        rows.loc[f"tcp memory comparison, plot on the {side}", ["tcp_rmem", "tcp_wmem", "tcp_mem"]]
        for side in ("left", "right")
    )
    pairs = [
        (key, int(a), int(b))
        for key in left.index
        for a, b in zip(left[key].split(), right[key].split(), strict=True)
    ]
    smaller = [f"{key} {a} to {b}" for key, a, b in pairs if a < b]
    bigger = sum(a > b for _, a, b in pairs)
    return CheckResult(
        f"{bigger} of {len(pairs)} {printed.text}",
        Verdict.CONTRADICTED if smaller else Verdict.HOLDS,
        f"Smaller: {'; '.join(smaller)}" if smaller else "The rest are equal",
    )


def average_of_replies(site: str, printed: PrintedValue) -> CheckResult:
    """Compare a printed average with the mean of the replies, each cut to its last digit."""
    frame = _load("slac-2003-path")
    chosen = frame.query("tool == 'ping' and from_site == @site and statistic == 'sample'")
    mean = chosen["rtt_ms"].mean()
    texts = published.read_raw("slac-2003-path").loc[chosen.index, "rtt"]
    unit = 10.0 ** -max(len(text.partition(".")[2]) for text in texts)
    return CheckResult(
        f"{mean:g} to {mean + unit:g} ms",
        Verdict.HOLDS if mean <= printed.number < mean + unit else Verdict.CONTRADICTED,
        f"Mean of {len(chosen)} replies, each cut to {unit:g} ms",
    )


def date_shown() -> CheckResult:
    """Compare the date on the page with the stop time of the transfer."""
    shown = datetime(2003, 3, 3, 6, 11, 44, tzinfo=UTC)
    stop = datetime.fromtimestamp(rapid("stop"), UTC)
    minutes = (shown - stop).total_seconds() / 60
    return CheckResult(
        f"{stop:%Y-%m-%d %H:%M:%S} UTC",
        Verdict.HOLDS if 0 < minutes < 60 else Verdict.CONTRADICTED,
        f"rapid's stop time is {minutes:.1f} min before Sun Mar 2 22:11:44 PST 2003",
    )


# Values from the two articles on gigabit hosts.

# iperf prints its interval to 0.1 s.
_HALF_INTERVAL_UNIT_S = 0.05


def measured(document: str, phase: str, column: str) -> float:
    """A number printed before or after tuning, such as ``rate_Mbps``."""
    frame = _load("gigabit-tuning").set_index(["document", "phase"])
    return float(frame.loc[(document, phase), column])


def solaris_linux_setting(key: str) -> list[int]:
    """The numbers of a setting of that article."""
    frame = _load("gigabit-settings").query("document == 'solaris-linux'")
    return [int(part) for part in frame.set_index("key")["value"][key].split()]


def iperf_rate(phase: str, printed: PrintedValue) -> CheckResult:
    """Compare a bandwidth that iperf printed with its amount over its rounded interval."""
    moved_B, seconds = (
        measured("solaris-linux", phase, column) for column in ("transferred_B", "interval_s")
    )
    megabits = moved_B * 8 / 1e6
    least = megabits / (seconds + _HALF_INTERVAL_UNIT_S)
    most = megabits / (seconds - _HALF_INTERVAL_UNIT_S)
    low, high = printed.number - printed.half_unit, printed.number + printed.half_unit
    return CheckResult(
        f"{megabits / seconds:.1f} Mb/s",
        Verdict.ROUNDS if high >= least and low <= most else Verdict.CONTRADICTED,
        f"{moved_B / 2**20:g} x 2^20 B in {seconds:g} s, printed to 0.1 s, "
        f"is {least:.1f} to {most:.1f}",
    )


NAMES: dict[str, Any] = {
    name: value
    for name, value in globals().items()
    if not name.startswith("_") and getattr(value, "__module__", "") == __name__
} | {
    **{"FLAT": FLAT, "HALF_SPEED_MBPS": HALF_SPEED_MBPS, "DVD_CAPACITY_B": DVD_CAPACITY_B},
    "MTUS_B": [1500, 9000, 16114],
}
"""Names for the expressions of the claims: the functions above, and constants."""


# A claim quotes a statement of a document; its check recomputes the figure and gives a verdict.


# Expressions of the claims, in the language of jinja2: arithmetic over named values.

# sandboxed, since a claim is data
_LANGUAGE = SandboxedEnvironment(undefined=StrictUndefined)
_LANGUAGE.globals.clear()


def evaluate(expression: str | float, names: Mapping[str, Any]) -> Any:
    try:
        value = _compiled(str(expression))(**names)
        if isinstance(value, StrictUndefined):
            str(value)  # raises the error of an unknown name
        return value
    except TemplateError as error:
        text = f"not a usable expression: {error}"
        raise BadInput(text, value=expression, code="E-PUBLISHED-001") from None


@cache
def _compiled(expression: str) -> Callable[..., Any]:
    return _LANGUAGE.compile_expression(expression, undefined_to_none=False)


def fill(template: str, names: Mapping[str, Any]) -> str:
    """Fill in a text whose fields are expressions, such as ``{100 * share:.0f} %``."""
    text = []
    for literal, expression, spec, _ in string.Formatter().parse(template):
        text.append(literal)
        if expression is not None:
            text.append(format(evaluate(expression, names), spec or ""))
    return "".join(text)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
NOTHING_RECOMPUTED = "–"


class Verdict(StrEnum):
    """Outcome of comparing a claim with the recomputed value."""

    HOLDS = "holds"
    ROUNDS = "rounds"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: the recomputed value as text, the verdict, one line of reason."""

    recomputed: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class PrintedValue:
    """A claimed value as the document prints it, such as ``8512 Mb/s`` or ``about 73 %``."""

    text: str

    @property
    def number(self) -> float:
        return float(self._digits)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self._decimals

    @property
    def _decimals(self) -> int:
        return len(self._digits.partition(".")[2])

    @property
    def _digits(self) -> str:
        digits = [*_NUMBER.findall(self.text), ""][0]
        check(digits, "claimed", self.text, "contains no number", "E-PUBLISHED-005")
        return digits

    def against(
        self, recomputed: float, why: str, *, unit: str = "", tolerance: float = 0.0
    ) -> CheckResult:
        """Compare the printed number with a recomputed one."""
        off, within = abs(recomputed - self.number), max(self.half_unit, tolerance) * (1 + 1e-9)
        verdict = Verdict.ROUNDS if off <= within else Verdict.CONTRADICTED
        verdict = Verdict.HOLDS if off <= 1e-9 * abs(recomputed) else verdict
        text = f"{recomputed:.{self._decimals + 2}f}".rstrip("0").rstrip(".")
        return CheckResult(f"{text} {unit}".strip(), verdict, why)


@dataclass(frozen=True)
class Claim:
    """One quantitative statement and the rule that checks it.

    A rule is one of: ``value`` (compared with the printed number), ``holds`` (true or false) or
    ``check`` (a function of its own). A claim without a rule is not checkable. The texts
    ``shows`` and ``why`` may contain fields; see :func:`fill`.
    """

    document: str
    place: str
    statement: str
    claimed: PrintedValue
    names: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    value: str | float | None = None
    unit: str = ""
    tolerance: float = 0.0
    holds: str = ""
    check: str = ""
    shows: str = NOTHING_RECOMPUTED
    why: str = ""
    let: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        rules = [name for name in ("value", "holds", "check") if getattr(self, name)]
        text, where = f"has more than one rule: {', '.join(rules)}", self.document
        if len(rules) > 1:
            raise BadInput(text, where=where, key=self.place, code="E-PUBLISHED-006")

    def checked(self) -> CheckResult:
        names = {**self.names, "printed": self.claimed}
        if _NUMBER.search(self.claimed.text):
            names["claimed"] = self.claimed.number
        for name, expression in self.let.items():
            names[name] = evaluate(expression, names)
        if self.check:
            return evaluate(self.check, names)
        why = fill(self.why, names)
        if self.value is not None:
            number = evaluate(self.value, names)
            return self.claimed.against(number, why, unit=self.unit, tolerance=self.tolerance)
        shown = fill(self.shows, names)
        if not self.holds:
            return CheckResult(shown, Verdict.NOT_CHECKABLE, why)
        held = bool(evaluate(self.holds, names))
        return CheckResult(shown, Verdict.HOLDS if held else Verdict.CONTRADICTED, why)


def claims_of(content: Mapping[str, Any], names: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Build the claims of one document from its parsed file."""
    document, claims = content["document"], []
    for number, record in enumerate(content["claims"], start=1):
        rule = dict(record)
        try:
            place, statement, claimed = rule.pop("claim")
            printed = PrintedValue(str(claimed))
            claims.append(Claim(document, place, statement, printed, names, **rule))
        except (KeyError, TypeError, ValueError) as error:
            text = f"claim {number} is not usable: {error}"
            raise BadInput(text, where=document, key="claims", code="E-PUBLISHED-007") from None
    return tuple(claims)
