"""Records: the common output of all parsers."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from statistics import fmean
from typing import Any, Literal

from netlab.errors import BadInput
from netlab.files.bounded_json import no_constant

MAX_COUNT = 2**53
MAX_SECONDS = 1e7
MAX_RATE_BPS = 1e18
MAX_STREAMS = 10_000
MAX_UNIX_S = 7_000_000_000
MAX_LINE = 4096
"""Characters of a line of text: patterns with several gaps take the square of it."""


End = Literal["sender", "receiver"]


def damaged(line: int, reason: str, *, code: str) -> BadInput:
    """Return the error of a parser for a line, from 1."""
    return BadInput(reason, where=f"line {line}", code=code)


def expect(condition: object, line: int, reason: str, code: str) -> None:
    if not condition:
        raise damaged(line, reason, code=code)


@dataclass(frozen=True)
class Sample:
    """Bytes of one stream in one interval; ``t_s`` is its end from the start, warm-up included."""

    stream: int
    t_s: float
    interval_s: float
    bytes: int
    in_window: bool = True


@dataclass(frozen=True)
class Datagrams:
    """Datagrams of a stream or of several; None is unknown.

    A receiver counts up to the last that it received: ``lost`` and ``received`` are those, and
    ``sent`` too where the sender's count is unknown.
    """

    sent: int | None = None
    received: int | None = None
    lost: int | None = None
    jitter_us: float | None = None
    reordered: int | None = None
    skipped: int | None = None

    def columns(self, *, whole: bool = True) -> dict[str, float | int | None]:
        """Columns of a run; counts of the whole run only; loss as the receiver saw it."""
        seen = (self.received or 0) + (self.lost or 0)
        counts = {
            "sent_datagrams": self.sent,
            "skipped_datagrams": self.skipped,
            "received_datagrams": self.received,
        }
        return {
            **(counts if whole else {}),
            "lost_percent": 100 * (self.lost or 0) / seen if seen else None,
            "reordered": self.reordered,
            "jitter_us": self.jitter_us,
        }

    @classmethod
    def total(cls, parts: Iterable[Datagrams | None]) -> Datagrams | None:
        """The sums of counts, and the mean of jitter; None if a part is of TCP."""
        each = list(parts)
        whole = [one for one in each if one]
        if not whole or len(whole) < len(each):
            return None
        names = ("sent", "received", "lost", "reordered", "skipped")
        jitters_us = [one.jitter_us for one in whole if one.jitter_us is not None]
        return cls(
            **{name: sum_of([getattr(one, name) for one in whole]) for name in names},
            jitter_us=fmean(jitters_us) if jitters_us else None,
        )


def datagrams_of(line: int, match: re.Match) -> Datagrams:
    """The counts that a receiver printed: lost datagrams of those sent, and jitter in ms."""
    lost, sent = int(match["lost"]), int(match["sent"])
    expect(lost <= sent, line, f"{lost} datagrams lost of {sent}", "E-IMPORT-028")
    jitter_ms = match.groupdict().get("jitter")
    return Datagrams(sent, sent - lost, lost, 1e3 * float(jitter_ms) if jitter_ms else None)


@dataclass(frozen=True)
class Flow:
    """One direction of a run: the bytes moved within the measured window of ``window_s``.

    ``sent_B`` and ``received_B`` are of the whole run and None if the tool does not print them;
    ``window_B`` is the count behind the goodput, at the end named by ``measured_at``. ``note`` says
    which figures contradict these and are left out.
    """

    streams: int
    window_s: float
    goodput_MBps: float
    measured_at: End | None
    window_B: int | None = None
    sent_B: int | None = None
    received_B: int | None = None
    samples: tuple[Sample, ...] = ()
    note: str = ""
    datagrams: Datagrams | None = None


@dataclass(frozen=True)
class Record:
    """One run as a tool reported it. None is unknown."""

    tool: str
    line: int
    forward: Flow
    reverse: Flow | None = None
    version: str | None = None
    client_sends: bool | None = None
    streams: int | None = None
    started_unix_s: float | None = None
    warmup_s: float = 0.0
    wall_s: float | None = None
    path_mtu_B: int | None = None
    mss_B: int | None = None
    record_length_B: int | None = None
    buffer_B: int | None = None
    congestion: str | None = None
    pacing_MBps: float | None = None
    retransmits: int | None = None
    rtt_us: float | None = None
    min_rtt_us: float | None = None
    cwnd_segments: float | None = None
    ping_ms: dict[str, tuple[float, ...]] = field(default_factory=dict)
    sndbuf_B: int | None = None
    rcvbuf_B: int | None = None
    rounded: bool = False
    extras: dict[str, object] = field(default_factory=dict)
    test_id: str | None = None
    """The tool's own id of the test, which both ends print."""

    @classmethod
    def of(cls, tool: str, line: int, flows: Sequence[Flow], **facts: Any) -> Record:
        """A run of one direction or of two, which begin and end together."""
        facts.setdefault("streams", flows[0].streams)
        wall_s = facts.get("warmup_s", 0.0) + max(flow.window_s for flow in flows)
        reverse = flows[1] if len(flows) > 1 else None
        return cls(tool, line, flows[0], reverse, wall_s=wall_s, **facts)

    @property
    def flows(self) -> tuple[Flow, ...]:
        return (self.forward,) if self.reverse is None else (self.forward, self.reverse)

    @property
    def datagrams(self) -> Datagrams | None:
        """Those of all directions; None of TCP."""
        return Datagrams.total(flow.datagrams for flow in self.flows)


def one_flow(
    tool: str,
    line: int,
    window_s: float,
    goodput_MBps: float,
    measured_at: End | None,
    *,
    streams: int | None,
    window_B: int | None,
    sent_B: int | None = None,
    received_B: int | None = None,
    samples: tuple[Sample, ...] = (),
    datagrams: Datagrams | None = None,
    **facts: Any,
) -> Record:
    """A run of one direction without a warm-up."""
    bytes_ = (window_B, sent_B, received_B)
    flow = Flow(streams or 0, window_s, goodput_MBps, measured_at, *bytes_, samples, "", datagrams)
    return Record.of(tool, line, [flow], streams=streams, **facts)


Runs = tuple[Record | BadInput, ...]
"""The runs of a text in their order, each read or refused with its reason."""


def whole(runs: Runs) -> tuple[Record, ...]:
    """The records of a text, of which no run may be refused."""
    for run in runs:
        if isinstance(run, BadInput):
            raise run
    return tuple(run for run in runs if isinstance(run, Record))


def sum_of(amounts: Iterable[int | None]) -> int | None:
    """Sum of amounts; None if one is unknown or there is none."""
    numbers = list(amounts)
    return sum(n or 0 for n in numbers) if numbers and None not in numbers else None


def unix_s(text: str, form: str) -> float | None:
    """Seconds of a time in UTC; None if it is not one."""
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


# Checked access to JSON: each access checks the type, each error has a line and a key.

_NO_BLANK = re.compile(r"\S|\Z")


def _after_blanks(text: str, at: int) -> int:
    match = _NO_BLANK.search(text, at)
    return len(text) if match is None else match.start()


_NAN = re.compile(r"(?<=[:,\[\s])-?nan(?=[\s,}\]])")
"""What cJSON of old writes for a number that is none."""

OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_NOT_ECHO = re.compile(r"[\[\]{}\"]")
_OUTERMOST = re.compile(r"^\{", re.MULTILINE)
MAX_DAMAGED = 100
"""Damaged documents of a text; each costs the time of counting the lines before it."""


def documents(text: str) -> list[View | BadInput]:
    """All JSON objects of a text, or what is wrong with one; an echo between them is left out."""
    decoder = json.JSONDecoder(parse_constant=no_constant)
    text = _NAN.sub("null", text)
    newlines = [newline.start() for newline in re.finditer("\n", text)]
    views: list[View | BadInput] = []
    first = OBJECT.search(text)
    at = first.end() if first else 0
    while (at := _after_blanks(text, at)) < len(text) or not views:
        end = text.find("\n", at) + 1 or len(text)
        if views and text[at] != "{" and not _NOT_ECHO.search(text, at, end):
            at = end
            continue
        line, end = 1 + bisect_left(newlines, at), -1
        bad = None
        try:
            value, end = decoder.raw_decode(text, at)
            if not isinstance(value, dict):
                bad = damaged(line, "expected a JSON object", code="E-IMPORT-057")
        except json.JSONDecodeError as error:
            bad = damaged(error.lineno, f"not JSON: {error.msg}", code="E-IMPORT-055")
        except (ValueError, RecursionError) as error:
            bad = damaged(line, f"cannot parse the JSON: {error}", code="E-IMPORT-056")
        views.append(bad or View(value, (), text[at:end], line))
        if bad and sum(isinstance(one, BadInput) for one in views) > MAX_DAMAGED:
            raise bad
        if end < 0:  # the next one may begin on a line of its own
            again = _OUTERMOST.search(text, at + 1)
            end = again.start() if again else len(text)
        at = end
    return views


@dataclass(frozen=True)
class View:
    """A part of a JSON document, with its place in the text."""

    value: object
    path: tuple[str | int, ...]
    text: str
    first_line: int

    @property
    def line(self) -> int:
        """Line of this part in the file, or of the nearest enclosing part that exists."""
        at = 0
        with suppress(RecursionError):  # nested nearly too deeply to be read
            at = _offset(self.text, self.path)
        return self.first_line + self.text.count("\n", 0, at)

    def bad(self, reason: str, *, code: str) -> BadInput:
        key = ".".join(str(part) for part in self.path)
        return damaged(self.line, f"{key}: {reason}" if key else reason, code=code)

    def expect(self, condition: object, reason: str, code: str) -> None:
        if not condition:
            raise self.bad(reason, code=code)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def at(self, *keys: str) -> View:
        view = self
        for key in keys:
            below = View(None, (*view.path, key), self.text, self.first_line)
            if not isinstance(view.value, dict):
                raise view.bad("is not an object", code="E-IMPORT-058")
            if view.value.get(key) is None:
                raise below.bad("is missing", code="E-IMPORT-059")
            view = View(view.value[key], below.path, self.text, self.first_line)
        return view

    def items(self) -> Iterator[View]:
        if not isinstance(self.value, list):
            raise self.bad("is not a list", code="E-IMPORT-060")
        for index, value in enumerate(self.value):
            yield View(value, (*self.path, index), self.text, self.first_line)

    def each(self, key: str, *below: str) -> Iterator[View]:
        """The parts of a list of this object, or of the lists in each of them."""
        for item in self.at(key).items():
            yield from item.each(*below) if below else (item,)

    def number(self, least: float = 0.0, most: float = float(MAX_COUNT)) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.bad("is not a number", code="E-IMPORT-061")
        if not least <= self.value <= most or not math.isfinite(self.value):
            raise self.bad(f"{str(self.value)[:40]} is out of bounds", code="E-IMPORT-062")
        return float(self.value)

    def count(self, least: int = 0, most: int = MAX_COUNT) -> int:
        number = self.number(least, most)
        self.expect(
            number == int(number), f"{self.value} is not a whole number", code="E-IMPORT-063"
        )
        return self.value if isinstance(self.value, int) else int(number)

    def known(self, key: str, most: int = MAX_COUNT) -> int | None:
        """A count that may be missing, or 0 where the tool does not know it."""
        return (self.at(key).count(0, most) or None) if key in self else None

    def words(self, limit: int = 200) -> str:
        if not isinstance(self.value, str) or len(self.value) > limit:
            raise self.bad(f"is not a text of at most {limit} characters", code="E-IMPORT-064")
        return self.value


def _offset(text: str, path: tuple[str | int, ...]) -> int:
    """Offset of the value at `path`, or of the deepest part on the way to it."""
    decoder, at = json.JSONDecoder(), 0
    for wanted in path if text else ():
        child = _after_blanks(text, at + 1)
        for number in count():
            if text[at] not in "[{" or text[child] in "]}":
                return at
            key: str | int = number
            if text[at] == "{":
                key, child = decoder.raw_decode(text, child)
                child = _after_blanks(text, _after_blanks(text, child) + 1)
            if key == wanted:
                break
            _, child = decoder.raw_decode(text, child)
            child = _after_blanks(text, child)
            child = _after_blanks(text, child + 1) if text[child] == "," else child
        at = child
    return at


# Rounded numbers in the output of tools, with binary or decimal units.

NUMBER = r"[0-9]{1,19}(?:\.[0-9]{1,12})?"
BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Printed:
    """A number and half a unit of its last printed digit; of a sum, those of its parts."""

    value: float
    error: float

    @classmethod
    def read(cls, text: str, scale: float = 1.0) -> Printed:
        """Read a decimal number; its error follows from the digits that were printed."""
        decimals = len(text.partition(".")[2])
        return cls(float(text) * scale, 0.5 * 10.0**-decimals * scale)

    def __add__(self, other: Printed) -> Printed:
        return Printed(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Printed) -> Printed:
        return Printed(self.value - other.value, self.error + other.error)

    def scaled(self, scale: float) -> Printed:
        return Printed(self.value * scale, self.error * scale)

    def agrees(self, value: float, error: float = 0.0) -> bool:
        """True if another figure of the same quantity is within both errors (and 0.1 %)."""
        return abs(self.value - value) <= self.error + error + 1e-3 * abs(value)


NOTHING = Printed(0.0, 0.0)


def check_rate(line: int, amount_B: Printed, time_s: Printed, rate_Bps: Printed) -> None:
    """Refuse a line whose amount, time and rate disagree."""
    long = f"implausible time of {time_s.value} s"
    expect(0 < time_s.value <= MAX_SECONDS, line, long, "E-IMPORT-077")
    plausible = 0 <= amount_B.value < MAX_COUNT and rate_Bps.value < MAX_RATE_BPS
    expect(plausible, line, "implausible amount or rate", "E-IMPORT-078")
    # a time shorter than its rounding error does not bound the rate
    low = max(0.0, amount_B.value - amount_B.error) / (time_s.value + time_s.error)
    least_s = time_s.value - time_s.error
    high = (amount_B.value + amount_B.error) / least_s if least_s > 0 else math.inf
    slack = rate_Bps.error + 1e-3 * rate_Bps.value
    agree = low - slack <= rate_Bps.value <= high + slack
    expect(agree, line, "amount, time and rate do not agree", "E-IMPORT-079")


@dataclass
class PrintedRun(ABC):
    """One run of a tool that prints lines, while it is parsed."""

    first: int
    failed: BadInput | None = None
    """Why the run is refused; lines up to its end are still its own."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Fields of its record that are known so far."""

    def next(self, number: int) -> PrintedRun:
        return type(self)(number)

    @abstractmethod
    def is_over_at(self, line: str) -> bool:
        """True if a line is the first of another run."""

    @abstractmethod
    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it."""

    @abstractmethod
    def record(self) -> Record: ...


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; blanks at the ends of lines and empty lines do not count."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if line := line.strip():
            yield number, line


def printed_runs(text: str, kind: type[PrintedRun]) -> list[PrintedRun | BadInput]:
    runs: list[PrintedRun] = []
    for number, line in numbered(text):
        expect(len(line) <= MAX_LINE, number, f"a line of {len(line)} characters", "E-IMPORT-146")
        if not runs or runs[-1].is_over_at(line):
            runs.append(runs[-1].next(number) if runs else kind(number))
        try:
            runs[-1].take(number, line)
        except BadInput as error:
            runs[-1].failed = runs[-1].failed or error
    expect(runs, 1, "nothing to import", "E-IMPORT-027")
    return [run.failed or run for run in runs]
