"""Base of the models of a study: strict, frozen; and the names that files go by."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from netlab import wings
from netlab.files.model_mistakes import pattern
from netlab.files.paths import QUICK as QUICK
from netlab.tuning.knobs import Frozen, key

MAX_NAME = 48
NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}$"
_NAME_WORDS = f"a letter or digit, then letters, digits, '.', '_' or '-', {MAX_NAME} in all"
Name = Annotated[str, Field(pattern=pattern(NAME, _NAME_WORDS))]
Direction = Literal["->", "<->"]
MTU = Annotated[int, Field(ge=576, le=65536)]
Streams = Annotated[int, Field(ge=1, le=10_000)]
_CONTROL = r"[a-z0-9_-]{1,31}"
_COUNT = r"([1-9]\d{0,3}\*)?"
_CONTROLS = rf"^({_CONTROL}|{_COUNT}{_CONTROL}(\+{_COUNT}{_CONTROL}){{1,7}})$"
Congestion = Annotated[
    str, Field(pattern=pattern(_CONTROLS, "a congestion control, or up to 8, such as bbr+16*cubic"))
]
"""A congestion control; several joined by ``+`` are dealt to the streams of a run in turn.

``bbr+16*cubic`` stands for 17 streams, one of them with ``bbr``.
"""


def controls(congestion: str) -> list[tuple[int, str]]:
    """Number of streams and name of each congestion control, as they are dealt."""
    parts = (part.rpartition("*") for part in congestion.split("+") if part)
    return [(int(count or 1), name) for count, _, name in parts]


def dealt(congestion: str) -> list[str]:
    """Congestion control of each stream until they are dealt anew."""
    return [name for count, name in controls(congestion) for _ in range(count)]


_STACK_WORDS = "at most 31 small letters, digits, '_' or '-'"
StackName = Annotated[str, Field(pattern=pattern(rf"^{_CONTROL}$", _STACK_WORDS))]
GENERATORS = (
    *("netlab", "udp", "iperf3", "iperf2", "nuttcp", "neper", "iperf3-udp", "iperf2-udp"),
)


class _Installed:
    """A generator of netlab's, or one that an installed wing offers."""

    @staticmethod
    def check(name: str) -> str:
        if name not in GENERATORS and name not in wings.generators(GENERATORS):
            known = ", ".join(map(repr, (*GENERATORS, *wings.generators())))
            raise ValueError(f"expected {known}, or one that an installed wing offers")
        return name

    def __get_pydantic_core_schema__(self, _type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(str))

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"enum": [*GENERATORS, *wings.generators(GENERATORS)], "type": "string"}


Generator = Annotated[str, _Installed()]
RecordLength = Annotated[int, Field(ge=0, le=64 * 1024 * 1024)]
CrossRate = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
CrossLength = Annotated[int, Field(ge=18, le=65_507)]
"""Payload of a datagram, as :class:`~netlab.study.factors.Udp` has it."""
Buffer = Annotated[int, Field(ge=0, le=2**30)]
T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Field(strict=False)]
Several = Annotated[tuple[T, ...], Field(strict=False, min_length=1)]
Megabytes = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
INTERFACE = re.compile(r"^(?!\.{1,2}$|-)[!-.0-9;-~]{1,15}$")


def _interface_name(text: str) -> str:
    if not INTERFACE.fullmatch(text):
        raise ValueError("is not the name of an interface")
    return text


InterfaceName = Annotated[str, AfterValidator(_interface_name)]
MAX_RUNS = 100_000
MAX_ROUNDS = 1000
ROUNDS = 3
"""Rounds of a study that gives neither rounds nor a precision."""


def slug(text: str) -> str:
    """A name for files and run ids: letters, digits, ``-``; arrows become ``to`` and ``both``."""
    text = text.replace("<->", " both ").replace("->", " to ")
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


class Model(Frozen):
    """Base of the models of a study: frozen, strict, no unknown keys."""

    model_config = ConfigDict(strict=True)

    @field_validator("*")
    @classmethod
    def _printable(cls, value: object) -> object:
        """Names reach terminals, files and pages: no line break, escape or mark of direction."""
        if isinstance(value, str) and not value.isprintable():
            raise ValueError("holds a character that is not printable")
        return value


def is_default(model: Model, name: str) -> bool:
    """True if a key of a model has its default."""
    return getattr(model, name) == type(model).model_fields[name].default


class Sparse(Model):
    """Base of the models that leave keys out of files, digests and the keys of runs.

    Those of studies without them are so as before there were such keys.
    """

    left_out: ClassVar[tuple[str, ...] | None] = None
    """Keys that are left out where they have their default; None: all."""

    @model_serializer(mode="wrap")
    def _only_given(self, serialize: SerializerFunctionWrapHandler) -> dict:
        fields, names = type(self).model_fields, self.left_out
        return {
            name: value
            for name, value in serialize(self).items()
            if (names is not None and name not in names) or value != fields[name].default
        }


def is_name(text: str) -> bool:
    """True if a text is a valid name in studies: letters, digits, ``.``, ``_`` and ``-``."""
    return re.fullmatch(NAME.strip("^$"), text) is not None


def misplaced(
    text: str, place: tuple[str | int, ...], value: object = None, *, code: str
) -> PydanticCustomError:
    """An error at a place below the model that is validated, for its line and key."""
    return PydanticCustomError(code, "{text}", {"text": text, "place": place, "value": value})


# Mistakes of a study that are found one by one, and reported together.


class SeveralMistakes(ValueError):
    """Mistakes of one model, which pydantic takes for one."""

    def __init__(self, mistakes: list[ValueError]):
        super().__init__(f"{len(mistakes)} mistakes")
        self.mistakes = mistakes


def tried(check: Callable[..., object], *arguments: object) -> Iterator[ValueError]:
    """The mistake that a check raises, if it does."""
    try:
        check(*arguments)
    except ValueError as mistake:
        yield mistake


def refuse(mistakes: Iterable[ValueError]) -> None:
    """Raise mistakes, several as one; each has a code."""
    if several := list(mistakes):
        raise several[0] if len(several) == 1 else SeveralMistakes(several)


# The precision that a study asks of its cells, and the rounds at which it is tested.

GROWTH = 1.4
"""Factor from one look to the next: few looks, and few rounds more than a cell needs."""

UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}


def duration_s(value: object) -> object:
    """Seconds of a text such as ``20min``, ``90 s`` or ``1.5h``; anything else as it is."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*", value)
    if match is None:
        raise ValueError("is not a duration; write a number and s, min or h, such as 20min")
    return float(match[1]) * UNITS_S[match[2]]


DurationText = Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?\s*(s|min|h)\s*$")]
_Seconds = Annotated[float, Field(ge=1, le=30 * 86400, allow_inf_nan=False)]
Duration = Annotated[
    _Seconds, BeforeValidator(duration_s, json_schema_input_type=_Seconds | DurationText)
]


class Precision(Model, title="`precision`"):
    """Required precision of every cell, and the limits of the attempt.

    The rounds up to ``min_rounds`` are measured whatever the budget.
    """

    half_width_percent: float = key(
        "Half the width of an interval, per cent of its mean.", 5.0, 5.0, gt=0, le=100
    )
    min_rounds: int = key("Rounds in which every cell is measured.", 3, 3, ge=2, le=MAX_ROUNDS)
    max_rounds: int = key("Most rounds of a cell.", 12, 12, ge=2, le=MAX_ROUNDS)
    budget: Duration | None = key("Time for the whole campaign.", "20min", None)

    @model_validator(mode="after")
    def _rounds_ascend(self) -> Self:
        if (most := self.max_rounds) < self.min_rounds:
            raise ValueError(f"max_rounds: {most} is below min_rounds, {self.min_rounds}")
        return self

    @property
    def looks(self) -> tuple[int, ...]:
        """Rounds after which the cells are tested, ascending; the last is `max_rounds`.

        Examples
        --------
        >>> Precision(min_rounds=3, max_rounds=12).looks
        (3, 5, 7, 10, 12)
        """
        looks = [self.min_rounds]
        while looks[-1] < self.max_rounds:
            looks.append(min(self.max_rounds, math.ceil(looks[-1] * GROWTH)))
        return tuple(looks)


# Limits of the disturbance of a host before its runs are flagged, and the number of retries.

Percent = Annotated[float, Field(ge=0, le=100)]
Wait = Annotated[float, Field(ge=0, le=86400, allow_inf_nan=False)]


class Noise(Sparse, title="`noise`"):
    """Limits of disturbance within the window of a run; beyond one it is flagged ``interference``.

    CPU time is in per cent of all cores, traffic in per cent of the run's own bytes or packets. A
    flagged run is measured again if its cell has fewer valid runs than an interval needs; its
    record stays. With a ``wait`` of 0 a campaign does not read the load of the hosts either.
    """

    left_out = ("foreign_traffic_percent", "frequency_drop_percent", "wait")

    steal_percent: Percent = key(
        "Limit of CPU time taken by the hypervisor, per cent of all CPUs.", 5.0, 5.0
    )
    foreign_cpu_percent: Percent = key(
        "Limit of CPU time of other processes, per cent of all CPUs.", 4.0, 4.0
    )
    foreign_traffic_percent: Percent = key(
        "Limit of others' bytes or packets on the data interface, per cent of the run's own.",
        1.0,
        1.0,
    )
    frequency_drop_percent: Percent = key(
        "Limit of the fall of a busy CPU's frequency within the window, per cent.", 10.0, 10.0
    )
    retries: int = key(
        "Times that a disturbed run of a cell with too few valid ones is measured again.",
        1,
        1,
        ge=0,
        le=100,
    )
    wait: Annotated[
        Wait, BeforeValidator(duration_s, json_schema_input_type=Wait | DurationText)
    ] = key("Longest wait of a campaign for quiet hosts, all waits together.", "5min", 20.0)
