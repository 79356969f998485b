"""Flags of runs: the meaning of each, whether the run counts, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum


class Validity(StrEnum):
    """Why a flagged run is left out of its cell."""

    DISTURBED = "disturbed"
    DOUBTED = "doubted"
    INVALID = "invalid"

    @property
    def meaning(self) -> str:
        return _VALIDITIES[self]


_VALIDITIES = {
    Validity.DISTURBED: (
        "The cause lies beside the run: other work on the hosts, a clock, a counter, a program "
        "that changes settings. Another run may be valid."
    ),
    Validity.DOUBTED: (
        "The run ended, but its figures contradict each other, or are not of one steady rate. "
        "Another run is likely to show the same: find the cause first."
    ),
    Validity.INVALID: "The run has no goodput of a whole window.",
}

NEXT_CALL = "by the next `netlab run`"
NEVER = "never"


class Flag(StrEnum):
    """A flag, as the column ``flags`` of a record has it; docs/flags.md is made from it."""

    validity: Validity
    meaning: str
    remedy: str
    detail: str
    """Limits and columns, for the documentation alone."""
    again: str
    """Condition under which the run is measured again."""

    def __new__(
        cls,
        name: str,
        validity: Validity,
        meaning: str,
        remedy: str,
        detail: str = "",
        again: str = NEXT_CALL,
    ) -> Flag:
        flag = str.__new__(cls, name)
        flag._value_ = name
        flag.validity, flag.meaning, flag.remedy = validity, meaning, remedy
        flag.detail, flag.again = detail, again
        return flag

    def as_markdown(self) -> str:
        """Section of docs/flags.md; `netlab guide` shows it alone."""
        first = f"{self.meaning[0].upper()}{self.meaning[1:]}."
        return (
            f"## `{self}`\n\n"
            f"{' '.join(filter(None, (first, self.detail)))}\n\n"
            f"- Its run is {self.validity}.\n"
            f"- What to do: {self.remedy}.\n"
            f"- Measured again: {self.again}.\n"
        )

    STALLED = (
        "stalled",
        Validity.DOUBTED,
        "no byte for longer than timeouts explain, or the streams ended early",
        "look for losses on the path: `retransmits`, `interface_drops`",
        "Timeouts explain 0.2 s and a loaded round trip, three times that where silences of a "
        "timeout recur, as behind a policer. Early is before the window ends.",
    )
    STARVED = (
        "starved",
        Validity.DOUBTED,
        "streams without a byte, in a window that is three timeouts long or more",
        "measure a longer window (`timing.seconds`) or fewer streams",
        "A timeout is 0.2 s and a loaded round trip. Other streams had bytes, and at their pace "
        "ten packets or more were due. See `jain_index`, `silent_streams`, and `retransmits` for "
        "losses.",
    )
    UNSTEADY = (
        "unsteady",
        Validity.DOUBTED,
        "a burst, then less: the rate fell at once within the window, and stayed",
        "measure with a warm-up longer than the burst (`timing.warmup_s`), or without the pauses "
        "between runs in which its credit fills (`timing.seconds`)",
        "It fell by half or more: a token bucket whose credit ended (*1,500 until 0.6 s, "
        "then 100 MB/s*). The columns `burst_MBps`, `burst_s` and `sustained_MBps` have both rates "
        "([test](precision.md#steadiness-within-a-window)).",
    )
    SENDER_ONLY = (
        "sender_only",
        Validity.INVALID,
        "only the sender counted, and its count is not goodput",
        "import the receiver's report",
        "An imported run, whose report is the sender's alone.",
        NEVER,
    )
    IMPLAUSIBLE = (
        "implausible",
        Validity.DOUBTED,
        "over the ceiling by more than late reading and data held after a loss explain",
        "check the rate of link and bus that the study states",
        "A further 1 % is allowed for errors of clocks and headers.",
        f"with `interference`, like it; else {NEXT_CALL}",
    )
    LEDGER_MISMATCH = (
        "ledger_mismatch",
        Validity.DOUBTED,
        "the byte counts of the run disagree",
        "see which counts the message names: one is wrong, or wrapped unseen; `ip -s link` shows "
        "an interface's own",
        "They differ by more than headers, acknowledgements and foreign traffic; or the receiver's "
        "window and its samples do; or the times of these run back.",
    )
    INTERFERENCE = (
        "interference",
        Validity.DISTURBED,
        "other load, other traffic or a slower CPU, above the limits of the study",
        "end what else uses the hosts; if it cannot end, set other limits under `noise`",
        "That is steal, foreign load or traffic, or a fall of the CPU's frequency above the limits "
        "of [`noise`](precision.md#noisy-hosts); or thermal throttling.",
        "after the rounds, while its cell has too few valid runs, `noise.retries` times at most; "
        f"{NEXT_CALL}",
    )
    TUNING_DRIFT = (
        "tuning_drift",
        Validity.DISTURBED,
        "a setting no longer had the value that was applied or found",
        "stop the program that changes the setting which the message names",
    )
    COUNTER_RESET = (
        "counter_reset",
        Validity.DISTURBED,
        "an interface counter went back, or the interface was replaced",
        "see in the kernel's log what reset or replaced the interface",
    )
    CLOCK_STEP = (
        "clock_step",
        Validity.DISTURBED,
        "the clock was set, or ran more than 1000 ppm off, during the run",
        "let NTP settle",
    )
    EMULATOR_LATE = (
        "emulator_late",
        Validity.DISTURBED,
        "the emulated path was late, short of a processor or out of memory",
        "state a lower rate or fewer streams, or take a machine with more processors",
    )
    LOST_HOST = (
        "lost_host",
        Validity.INVALID,
        "a host was lost during the run",
        "see that `netlab check` reaches the host again",
    )
    FAILED = (
        "failed",
        Validity.INVALID,
        "sender or sink ended with an error",
        "see the error in its message",
        "",
        "like a disturbed run where the sink got no CPU until its sender had stopped; else "
        f"{NEXT_CALL}",
    )


BROKEN = frozenset({Flag.FAILED, Flag.LOST_HOST})
"""Flags of a run that did not end; its goodput, if it has one, is of a part of its window."""

CHANGE_STUDY = frozenset(
    {Flag.STARVED, Flag.UNSTEADY, Flag.IMPLAUSIBLE, Flag.INTERFERENCE, Flag.EMULATOR_LATE}
)
"""Flags whose remedy may be a change of the study."""

MOST_NAMED = 3
"""Flags whose remedies one sentence has."""

PAGE = "netlab guide flags"
"""The command that shows the page of all flags."""

NOT_KNOWN = "not known to this version of netlab"


def split_flags(text: object) -> list[str]:
    """Flags of one value of the column ``flags``; empty where it is missing or the run valid."""
    return [flag for flag in text.split(",") if flag] if isinstance(text, str) else []


def count_flags(texts: Iterable[object]) -> Counter[str]:
    """Runs with each flag, from values of the column ``flags``."""
    return Counter(flag for text in texts for flag in split_flags(text))


def counted_flags(texts: Iterable[object]) -> str:
    """``interference 12, stalled 1`` of values of the column ``flags``; empty without a flag."""
    return ", ".join(f"{flag} {count}" for flag, count in count_flags(texts).most_common())


def join_flags(flags: Iterable[str]) -> str:
    """The value of the column ``flags`` for some flags."""
    return ",".join(flags)


def known_flag(name: str) -> Flag | None:
    """The flag of this name; None if a later version or another program gave it."""
    return next((flag for flag in Flag if flag == name), None)


def in_plain(text: str) -> str:
    """A text without the marks of Markdown's code."""
    return text.replace("`", "")


def remedy_of(name: str) -> str:
    """Remedy for a flag, in plain words."""
    flag = known_flag(name)
    return f"see the message; the flag is {NOT_KNOWN}" if flag is None else in_plain(flag.remedy)


def remedies(texts: Iterable[object], again: str) -> str:
    """The remedies of the flags of some runs, and what follows: to measure `again`.

    `texts` are values of the column ``flags``. The most frequent flags come first.
    """
    counts = count_flags(texts)
    each = [(name, remedy_of(name)) for name, _ in counts.most_common(MOST_NAMED)]
    named = [remedy if len(counts) == 1 else f"{name}: {remedy}" for name, remedy in each]
    others = [f"others: {PAGE}"] * (len(counts) > MOST_NAMED)
    last = f"then {again}" if counts else again
    return "; ".join([*named, *others, last])


def meaning_of(name: str) -> str:
    flag = known_flag(name)
    return NOT_KNOWN if flag is None else in_plain(flag.meaning)


def as_markdown() -> str:
    """Reference of all flags: what follows the introduction of docs/flags.md."""
    rows = (f"| `{f}` | {f.meaning} | {f.validity} |" for f in Flag)
    table = ["| flag | meaning | its run is |", "|---|---|---|", *rows, ""]
    of_classes = (f"| {validity} | {validity.meaning} |" for validity in Validity)
    classes = ["| its run is | meaning |", "|---|---|", *of_classes, ""]
    return "\n".join([*table, *classes, *(flag.as_markdown() for flag in Flag)])
