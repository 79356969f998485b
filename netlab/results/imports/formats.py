"""The table of formats; decoding of files and their text."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import BadInput
from netlab.results.imports import flent, gensink, iperf2, iperf3, nuttcp, rapid
from netlab.results.imports.records import Record, damaged

MAX_FILE_B = 16 * 2**20
MAX_TEXT_B = 64 * 2**20
"""Maximum size of a file, compressed and decompressed; an hour at 0.1 s fits."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Format:
    """One tool's output format: its detector and its parser."""

    name: str
    detect: Callable[[str], bool]
    parse: Callable[[str], tuple[Record, ...]]


FORMATS = (
    Format("iperf3 JSON", iperf3.detect, iperf3.parse),
    Format("flent data file", flent.detect, flent.parse),
    Format("iperf 2 text", iperf2.detect, iperf2.parse),
    Format("rapid statistics", rapid.detect, rapid.parse),
    Format("GenSink report", gensink.detect, gensink.parse),
    Format("nuttcp or ttcp lines", nuttcp.detect, nuttcp.parse),
)


@dataclass(frozen=True)
class ReadFile:
    """A file, its digest and its runs."""

    path: Path
    sha256: str
    records: tuple[Record, ...]


def text_of(content: bytes) -> str:
    """Text of a file's bytes: bounded, decompressed if gzip, UTF-8."""
    if content.startswith(_GZIP):
        content = _decompressed(content)
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise damaged(line, "zero byte; the file must be text", code="E-IMPORT-015")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged(
            content[: error.start].count(b"\n") + 1, "is not UTF-8", code="E-IMPORT-016"
        ) from None


def _decompressed(content: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        text = inflate.decompress(content, MAX_TEXT_B)
    except zlib.error as error:
        raise damaged(1, f"damaged gzip: {error}", code="E-IMPORT-017") from None
    if inflate.unconsumed_tail:
        raise damaged(1, f"holds more than {MAX_TEXT_B} bytes of text", code="E-IMPORT-018")
    if not inflate.eof:
        raise damaged(
            text.count(b"\n") + 1, "damaged gzip: unexpected end of file", code="E-IMPORT-019"
        )
    if inflate.unused_data:
        raise damaged(text.count(b"\n") + 1, "data after the compressed text", code="E-IMPORT-020")
    return text


def parse(text: str) -> tuple[Record, ...]:
    """Records of a text in any known format."""
    for form in FORMATS:
        if form.detect(text):
            return form.parse(text)
    known = ", ".join(form.name for form in FORMATS)
    raise damaged(1, f"unknown format; supported: {known}", code="E-IMPORT-021")


def read_file(path: Path) -> ReadFile:
    """Read and parse one file."""
    try:
        with open(path, "rb") as source:
            content = source.read(MAX_FILE_B + 1)
    except OSError as error:
        raise BadInput(
            f"cannot be read: {error.strerror}", where=str(path), code="E-IMPORT-022"
        ) from None
    if len(content) > MAX_FILE_B:
        raise BadInput(f"is larger than {MAX_FILE_B} bytes", where=str(path), code="E-IMPORT-023")
    try:
        records = parse(text_of(content))
    except BadInput as error:
        raise BadInput(str(error), where=str(path), code=error.code) from None
    return ReadFile(path, hashlib.sha256(content).hexdigest(), records)
