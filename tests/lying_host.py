"""A host whose processes give any answers: recorded real ones, or mutations of them."""

from __future__ import annotations

import copy
import json
from collections import deque
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from netlab.hosts.line_process import LineProcess

RECORDED = json.loads((Path(__file__).parent / "measure/recorded_answers.json").read_text())
"""Answers of gensink's agent and of its tune, of a run over TCP with both probes, and over UDP."""

DEEP = "[" * 500 + "]" * 500
NUMBERS = st.sampled_from(
    [*(sign * 2**bits + more for bits in (31, 32, 49, 53, 60, 62, 63, 64) for sign in (1, -1)
       for more in (-1, 0, 1)), 0, 1, -1, 10**400, 0.5, 1e308, -0.0]
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["", "\n", "\x1b[2J", "é²٣", "x" * 5000, "ok", "cubic"]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values),
    max_leaves=5,
)
LITERALS = ["9" * 5000, "1e999", "NaN", "-Infinity", DEEP, '"\\ud800"', "{", ""]
"""JSON, or what is none, that Python's encoder does not write."""
MARK = "literal of a lie"


class ReplayedPipe:
    """A process that answers each request with lines of its own."""

    def __init__(
        self,
        answer: Callable[[str], list[bytes]],
        passed: Callable[[float], None] = lambda seconds: None,
    ):
        self._answer, self._passed = answer, passed
        self._lines: deque[bytes] = deque()

    def write(self, data: bytes) -> None:
        self._lines.extend(self._answer(data.decode().split()[0]))

    def close_input(self) -> None:
        self._lines.clear()

    def read(self, _size: int, timeout_s: float) -> bytes:
        if not self._lines:
            self._passed(timeout_s)
            raise TimeoutError
        return self._lines.popleft() + b"\n"

    def stderr_text(self) -> str:
        return ""

    def exit_status(self, _timeout_s: float) -> int | None:
        return None

    def lost(self) -> str:
        return ""

    def kill(self) -> None:
        return


def replaying(
    host: str, passed: Callable[[float], None] = lambda seconds: None, **answers: list[bytes]
) -> LineProcess:
    """A process on a host that gives these answers to requests of these verbs.

    `passed` is called with the time for which an answer was waited for in vain.
    """
    pipe = ReplayedPipe(lambda verb: answers.get(verb, []), passed)
    return LineProcess(pipe, host=host, argv=("gensink",))


def encoded(answer: object) -> bytes:
    return json.dumps(answer).encode()


def places(value: object, place: tuple = ()) -> list[tuple]:
    """Every place in an answer; of a list its first two items and its last."""
    inner: list = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = [(n, value[n]) for n in sorted({0, 1, len(value) - 1}) if 0 <= n < len(value)]
    below = [deeper for key, one in inner for deeper in places(one, (*place, key))]
    return [*([place] if place else []), *below]


def inside(answer: dict, place: tuple) -> tuple[object, object]:
    inner: object = answer
    for key in place[:-1]:
        inner = inner[key]  # type: ignore[index]
    return inner, place[-1]


@st.composite
def lies(draw: st.DrawFn, answer: dict) -> bytes:
    """One line: the answer with one to three changes."""
    lie = copy.deepcopy(answer)
    literal = ""
    for _ in range(draw(st.integers(1, 3))):
        every = places(lie)
        if not every:
            break
        inner, key = inside(lie, draw(st.sampled_from(every)))
        match draw(st.sampled_from(["value", "value", "gone", "twice", "literal"])):
            case "value":
                inner[key] = draw(VALUES)
            case "gone":
                del inner[key]
            case "twice" if isinstance(inner, list):
                inner.append(inner[key])
            case "literal":
                inner[key], literal = MARK, draw(st.sampled_from(LITERALS))
    return encoded(lie).replace(encoded(MARK), literal.encode())
