"""Base of the models of a study: strict, frozen; and the names that files go by."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from netlab import wings
from netlab.files.model_mistakes import pattern
from netlab.files.paths import QUICK as QUICK
from netlab.tuning.knobs import Frozen

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
"""Payload of a datagram, as :class:`~netlab.study.run_options.Udp` has it."""
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
