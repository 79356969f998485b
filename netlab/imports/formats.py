"""The table of formats; decoding of files and their text."""

from __future__ import annotations

import codecs
import hashlib
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netlab import wings
from netlab.errors import BadInput
from netlab.files.reading import open_regular
from netlab.imports import (
    flent,
    gensink_report,
    iperf2_csv,
    iperf3_text,
    kperf,
    neper,
    netperf,
    ntttcp,
    pscheduler,
    rapid,
)
from netlab.imports.refused import NAMED
from netlab.outputs.json_access import OBJECT, documents
from netlab.outputs.records import Record, damaged, expect, whole
from netlab.outputs.tools import IPERF2_TEXT, IPERF3_JSON, NUTTCP_LINES, Format, printed

MAX_FILE_B = 16 * 2**20
MAX_TEXT_B = 64 * 2**20
"""Maximum size of a file, compressed and decompressed; an hour at 0.1 s fits."""

_GZIP = b"\x1f\x8b"
_CRUSADER = bytes.fromhex("cb597cae82ab7253")


def _json_with(key: str) -> Callable[[str], bool]:
    return lambda text: OBJECT.match(text.lstrip()) is not None and key in text


def _one(name: str, fits: re.Pattern, record: Callable[[str], Record]) -> Format:
    return Format(name, fits.search, lambda text: [text], record)


FORMATS = (
    # before those whose lines they resemble, such as ethr's those of iperf 2
    *(_one(name, *each) for name, each in NAMED.items()),
    IPERF3_JSON,
    Format("pScheduler JSON", _json_with('"throughput-bits"'), documents, pscheduler.of_pscheduler),
    Format("flent data file", _json_with('"SERIES_META"'), documents, flent.of_flent),
    printed("iperf3 text", iperf3_text.IPERF3_TEXT, iperf3_text.Iperf3Run),
    IPERF2_TEXT,
    printed("iperf 2 CSV", iperf2_csv.IPERF2_CSV, iperf2_csv.CsvRun),
    Format("rapid statistics", rapid.RAPID.search, rapid.runs_of_rapid, rapid.RapidRun.record),
    printed("GenSink report", gensink_report.GENSINK, gensink_report.GenSinkRun),
    NUTTCP_LINES,
    Format(
        "netperf text",
        netperf.NETPERF.search,
        netperf.runs_of_netperf,
        netperf.of_netperf,
    ),
    _one("neper keys", neper.NEPER, neper.of_neper),
    printed("ntttcp text", ntttcp.NTTTCP, ntttcp.NtttcpRun),
    _one("kperf text", kperf.KPERF, kperf.of_kperf),
)


@dataclass(frozen=True)
class ReadFile:
    """A file, its digest, its runs, the name of its format, and why other runs are refused."""

    path: Path
    sha256: str
    records: tuple[Record, ...]
    kind: str = "unknown"
    refused: tuple[BadInput, ...] = ()


def text_of(content: bytes) -> str:
    """Text of a file's bytes: bounded, decompressed if gzip, UTF-8 or with a mark UTF-16."""
    if content.startswith(_GZIP):
        content = _decompressed(content)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16", "replace").encode()
    content = content.removeprefix(codecs.BOM_UTF8)
    crusader = content.startswith(_CRUSADER)
    expect(not crusader, 1, "raw data of crusader, which netlab does not read", "E-IMPORT-144")
    line = content.partition(b"\0")[0].count(b"\n") + 1
    expect(b"\0" not in content, line, "zero byte; the file must be text", "E-IMPORT-015")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise damaged(line, "is not UTF-8", code="E-IMPORT-016") from None


def _decompressed(content: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        text = inflate.decompress(content, MAX_TEXT_B)
    except zlib.error as error:
        raise damaged(1, f"damaged gzip: {error}", code="E-IMPORT-017") from None
    large, line = inflate.unconsumed_tail, text.count(b"\n") + 1
    expect(not large, 1, f"holds more than {MAX_TEXT_B} bytes of text", "E-IMPORT-018")
    expect(inflate.eof, line, "damaged gzip: unexpected end of file", "E-IMPORT-019")
    trailing = inflate.unused_data
    expect(not trailing, line, "data after the compressed text", "E-IMPORT-020")
    return text


def format_of(text: str) -> Format:
    known = (*FORMATS, *wings.formats())
    for form in known:
        if form.fits(text):
            return form
    names = ", ".join(form.name for form in known)
    raise damaged(1, f"unknown format; supported: {names}", code="E-IMPORT-021")


def parse(text: str) -> tuple[Record, ...]:
    """Records of a text in any known format, if no run is refused."""
    return whole(format_of(text).parse(text))


def _content(path: Path) -> bytes:
    where = str(path)
    try:
        with open_regular(path) as source:
            content = source.read(MAX_FILE_B + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise BadInput(reason, where=where, code="E-IMPORT-022") from None
    if len(content) > MAX_FILE_B:
        raise BadInput(f"is larger than {MAX_FILE_B} bytes", where=where, code="E-IMPORT-023")
    return content


def read_file(path: Path) -> ReadFile:
    content, where = _content(path), str(path)
    try:
        text = text_of(content)
        form = format_of(text)
        runs = form.parse(text)
        records = tuple(run for run in runs if isinstance(run, Record)) or whole(runs)
    except BadInput as error:
        raise BadInput(str(error), where=where, code=error.code) from None
    errors = (run for run in runs if isinstance(run, BadInput))
    refused = tuple(BadInput(str(error), where=where, code=error.code) for error in errors)
    return ReadFile(path, hashlib.sha256(content).hexdigest(), records, form.name, refused)


def kind_of(path: Path) -> str:
    try:
        return format_of(text_of(_content(path))).name
    except BadInput:
        return "unknown"
