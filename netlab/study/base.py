"""Base of the models of a study: strict, frozen; and the names that files go by."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from netlab.tuning.knobs import Frozen

MAX_NAME = 48
QUICK = "-quick"
NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}$"
Name = Annotated[str, Field(pattern=NAME)]
Direction = Literal["->", "<->"]
MTU = Annotated[int, Field(ge=576, le=65535)]
Streams = Annotated[int, Field(ge=1, le=10_000)]
Congestion = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,31}(\+[a-z0-9_-]{1,31}){0,7}$")]
"""A congestion control; several joined by ``+`` are dealt to the streams of a run in turn."""
StackName = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,31}$")]
Generator = Literal["netlab", "iperf3", "iperf2", "nuttcp"]
RecordLength = Annotated[int, Field(ge=1, le=64 * 1024 * 1024)]
Buffer = Annotated[int, Field(ge=0, le=2**30)]
Megabytes = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
INTERFACE = re.compile(r"^(?!\.{1,2}$)[!-.0-9;-~]{1,15}$")


def _interface_name(text: str) -> str:
    if not INTERFACE.fullmatch(text):
        raise ValueError("the kernel refuses this interface name")
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


def is_name(text: str) -> bool:
    """True if a text is a valid name in studies: letters, digits, ``.``, ``_`` and ``-``."""
    return re.fullmatch(NAME.strip("^$"), text) is not None


def misplaced(
    text: str, place: tuple[str | int, ...], value: object = None, *, code: str
) -> PydanticCustomError:
    """An error at a place below the model that is validated, for its line and key."""
    return PydanticCustomError(code, "{text}", {"text": text, "place": place, "value": value})
