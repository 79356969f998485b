"""Check a bundle: digests of its files, and its figures recomputed from its records."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import itertools
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from netlab.bundle import crate
from netlab.bundle.pack import CALIBRATION, RESULTS, SITE, versions
from netlab.bundle.unpacking import stated_versions
from netlab.errors import NetlabError, printable, why
from netlab.files import paths
from netlab.files.archive import names_in
from netlab.files.bounded_json import read_json
from netlab.files.reading import read_bytes
from netlab.lab import requirements, rootless
from netlab.report.cache import user_cache
from netlab.report.publishing import EXECUTED, Executions, ReportRequest, probably_executed, publish
from netlab.results.parquet import check_texts

TOLERANCE = 1e-9
"""Largest relative difference of two numbers that are the same: other processors and versions of
numerical libraries differ in the last digits."""

COMPUTED = ("figures", "tables", "downloads", "records")
"""Folders of a site whose files are figures of the report as data."""

COMPARED = (".csv", ".tex", ".json")
RECOMPUTE = """
import sys
from pathlib import Path
from netlab.bundle.verify import recompute
recompute(*map(Path, sys.argv[1:]))
"""
ABSENT = "absent"
SHOWN_CHARACTERS = 60
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Deviation:
    """A place of a bundle that is not as it was."""

    file: str
    place: str
    was: str
    now: str

    def __str__(self) -> str:
        where = ": ".join(filter(None, (self.file, self.place)))
        short = (
            text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."
            for text in (self.was, self.now)
        )
        return printable("{}: was {}, is {}".format(where, *short))


def _unlike(stated: Mapping[str, str], actual: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Names with other values, or only on one side, and both values."""
    for name in dict.fromkeys((*actual, *sorted(stated))):
        was, now = stated.get(name, ABSENT), actual.get(name, ABSENT)
        if was != now:
            yield name, was, now


def other_versions(directory: Path) -> list[Deviation]:
    """Versions that differ between an unpacked bundle and this netlab; netlab itself first."""
    return [Deviation("version", *one) for one in _unlike(stated_versions(directory), versions())]


def changed_files(directory: Path) -> list[Deviation]:
    """Files whose digest differs from the list, that it lacks, or that the bundle lacks.

    The list itself must be the one that its files give, and the metadata must state the same
    digests, so that a changed byte of either is found as well.
    """
    text = read_bytes(directory / crate.MANIFEST).decode("utf-8", "replace")
    listed = {found[2]: found[1] for found in map(_LINE.fullmatch, text.split("\n")) if found}
    names = [name for name in names_in(directory) if name != crate.MANIFEST]
    actual = {name: crate.digest_of(directory / name) for name in names}
    unlike = sorted(_unlike(listed, actual))
    if unlike:
        return [Deviation(name, "SHA-256", was, now) for name, was, now in unlike]
    if text != "".join(f"{digest}  {name}\n" for name, digest in actual.items()):
        return [Deviation(crate.MANIFEST, "", "one line a file", "other lines as well")]
    try:
        content = read_json(directory / crate.METADATA)
        files = [one for one in content["@graph"] if one.get("@type") == "File"]
        stated = {unquote(one["@id"]): str(one["sha256"]) for one in files if "sha256" in one}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        now = f"unreadable: {why(error)}"
        return [Deviation(crate.METADATA, "", "metadata of an RO-Crate", now)]
    del actual[crate.METADATA]
    return [Deviation(crate.METADATA, *one) for one in sorted(_unlike(stated, actual))]


def other_figures(
    directory: Path, work: Path, say: Callable[[str], None] = lambda text: None
) -> list[Deviation]:
    """Figures of an unpacked bundle that this netlab computes otherwise from its records.

    netlab's own notebooks compute them, in a process without network that can only read the bundle
    where this machine allows that.
    """
    wall = rootless.reading(directory)
    python = (sys.executable, "-P", "-c")
    tried = _run((*wall, *python, "import netlab"), work)
    if tried.returncode != 0:
        wall = ()
        cause, _ = requirements.refusal(" ".join(tried.stderr.split())[-SHOWN_CHARACTERS:])
        say(f"the figures are recomputed with network and write access: no namespaces, {cause}")
    done = _run((*wall, *python, RECOMPUTE, str(directory), str(work)), work)
    if done.returncode != 0:
        if os.strerror(errno.ENOSPC) in done.stderr:  # a lack of this machine, not of the bundle
            message = f"{work}: no space left; free some there, or name another directory in TMPDIR"
            raise NetlabError(message, code="E-REPORT-014")
        reason = done.stderr.strip().rpartition("\n")[2]
        return [Deviation(RESULTS, "", "records of a report", f"not publishable: {reason}")]
    for name in done.stdout.splitlines():
        say(f"netlab: left out {name}, a notebook of the bundle's own")
    return compare_sites(directory / SITE, work / SITE, str(directory / RESULTS))


def _run(argv: Sequence[str], work: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, paths.HOME: str(work)}  # else it writes beside the user's results
    return subprocess.run(
        argv, cwd=work, env=environment, capture_output=True, text=True, check=False
    )


def recompute(directory: Path, work: Path) -> None:
    """Make the site of an unpacked bundle anew; end the process if its records give none.

    A notebook that was executed before with the same records and program is not executed again.
    """
    try:
        for part in (directory / RESULTS).rglob("*.parquet"):
            check_texts(part)
        cache = user_cache()
        with Executions(at_once=not probably_executed(directory / RESULTS, cache)) as running:
            made = publish(
                directory / RESULTS,
                work / SITE,
                request=ReportRequest(
                    executed=work / EXECUTED,
                    dated=False,
                    data_only=True,
                    calibrations=directory / CALIBRATION,
                ),
                running=running,
                cache=cache,
            )
    except NetlabError as error:
        sys.exit(" ".join(str(error).split()))
    print("".join(f"{name!r}\n" for name in made.left_out), end="")


def compare_sites(was: Path, now: Path, place: str = "") -> list[Deviation]:
    """Differences of the data of all figures and tables of two sites."""
    files = {
        f"{folder}/{name}"
        for site, folder in itertools.product((was, now), COMPUTED)
        for name in names_in(site / folder)
        if name.endswith(COMPARED)
    }
    found: list[Deviation] = []
    for name in sorted(files):
        texts = [
            read_bytes(file).decode("utf-8", "replace") if file.is_file() else None
            for file in (was / name, now / name)
        ]
        if place and texts[1] is not None:
            texts[1] = texts[1].replace(place, RESULTS)
        found += compare_texts(f"{SITE}/{name}", *texts)
    return found


def compare_texts(name: str, was: str | None, now: str | None) -> list[Deviation]:
    """Differences of one file: cell by cell in CSV, else line by line."""
    if was is None or now is None:
        states = ["the file" if text is not None else ABSENT for text in (was, now)]
        return [Deviation(name, "", *states)]
    if was == now:
        return []
    table = name.endswith(".csv")
    old, new = _rows(was, table), _rows(now, table)
    if len(old) != len(new):
        return _moved(name, old, new)
    heads = old[0] if old else ()
    found = []
    for line, rows in enumerate(zip(old, new, strict=True), start=1):
        for column, (a, b) in enumerate(itertools.zip_longest(*rows, fillvalue=ABSENT)):
            if a != b and not (table and _close(a, b)):
                head = heads[column] if column < len(heads) else f"column {column + 1}"
                at = f"line {line}, {head}" if table else f"line {line}"
                found.append(Deviation(name, at, a, b))
    return found


def _rows(text: str, table: bool) -> list[tuple[str, ...]]:
    """Rows of a table; lines of any other text, and of one that is not CSV."""
    with contextlib.suppress(csv.Error):
        if table:
            return list(map(tuple, csv.reader(io.StringIO(text))))
    return [(line,) for line in text.split("\n")]


def _moved(name: str, was: Sequence[tuple], now: Sequence[tuple]) -> list[Deviation]:
    """Rows that only one of two texts of different lengths has, by their line there."""
    found = []
    for rows, others, step in ((was, now, 1), (now, was, -1)):
        left = Counter(others)  # difflib would take hours for many rows that are alike
        for line, row in enumerate(rows, start=1):
            left[row] -= 1
            if left[row] < 0:
                sides = (",".join(row), ABSENT)[::step]
                found.append(Deviation(name, f"line {line}", *sides))
    return found


def _close(was: str, now: str) -> bool:
    """True for two numbers that are equal but for their last digits."""
    try:
        return math.isclose(float(was), float(now), rel_tol=TOLERANCE)
    except ValueError:
        return False
