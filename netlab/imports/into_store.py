"""Import files into a results directory: parse all of them, then write one block."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.errors import BadInput, NetlabError, printable
from netlab.files.bounded_json import parse_json
from netlab.files.locks import take
from netlab.files.reading import open_regular
from netlab.imports.formats import ReadFile, kind_of, read_file
from netlab.imports.rows import (
    Facts,
    completeness_of,
    groups_of,
    identity_of,
    interval_rows_of,
    key_of,
    row_of,
)
from netlab.outputs.records import Record
from netlab.results.campaign_files import IMPORTED
from netlab.results.columns import INTERVAL_COLUMNS
from netlab.results.frames import frame_of
from netlab.results.store import Store


@dataclass(frozen=True)
class Outcome:
    """Result of a file: its new runs, and the reasons why others are refused."""

    path: Path
    kind: str
    run_ids: tuple[str, ...] = ()
    errors: tuple[BadInput, ...] = ()
    sha256: str = ""
    before: bool = False

    @property
    def reasons(self) -> list[str]:
        """Why the file or some of its runs are refused, each with its line."""
        place = printable(f"{self.path}: ")
        return [str(error).removeprefix(place) for error in self.errors]

    @property
    def imported(self) -> str:
        """Number of new runs, or that they were imported before; empty if there are none."""
        return str(len(self.run_ids)) if self.run_ids else "imported before" * self.before


@dataclass(frozen=True)
class Imported:
    block_id: str | None
    files: tuple[Outcome, ...]

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(run_id for one in self.files for run_id in one.run_ids)

    def refused(self) -> list[BadInput]:
        """Why files or runs were refused; raise the first if nothing is imported."""
        errors = [error for one in self.files for error in one.errors]
        if not any(one.imported for one in self.files):
            raise errors[0]
        return errors


def below(files: Iterable[Path]) -> Iterator[Path]:
    """Files, and all files below directories but hidden ones."""
    for path in files:
        if not path.is_dir():
            yield path
            continue
        inside = [
            one
            for one in sorted(path.rglob("*"))
            if one.is_file() and not any(p.startswith(".") for p in one.relative_to(path).parts)
        ]
        if not inside:
            reason = "the directory has no files to import"
            raise BadInput(reason, where=str(path), code="E-IMPORT-098")
        yield from inside


def import_files(
    files: Iterable[Path],
    facts: Facts,
    directory: Path,
    *,
    strict: bool = False,
    check: Callable[[pd.DataFrame], object] = lambda runs: None,
) -> Imported:
    """Import what can be read of files into the results in `directory`; `strict`: all or none.

    `check` gets all runs that the results would have. Nothing is written if it raises.
    """
    outcomes: dict[Path, Outcome] = {}

    def done(outcome: Outcome) -> None:
        if strict and outcome.errors:
            raise outcome.errors[0]
        outcomes[outcome.path] = outcome

    sources: list[ReadFile] = []
    seen: dict[str, Path] = {}
    for path in dict.fromkeys(files):
        outcomes[path] = Outcome(path, "unknown")
        try:
            source = read_file(path)
            if (first := seen.setdefault(source.sha256, path)) != path:
                reason = f"has the same content as {printable(str(first))}"
                raise BadInput(reason, where=str(path), code="E-IMPORT-001")
            sources.append(source)
        except BadInput as error:
            done(Outcome(path, kind_of(path), errors=(error,)))
    if not sources:
        return Imported(None, tuple(outcomes.values()))
    with _locked(directory):
        store = Store(directory)
        before = store.runs()
        keys = set(before["provenance_key"])
        order = int(before["order"].max()) + 1 if len(before) else 0
        round_of = _rounds(before["run_id"])
        groups = groups_of(before)
        rows: list[dict] = []
        intervals: list[dict] = []
        ways: dict[bool, Path] = {}
        tests = _tests(before)
        ids: dict[Path, list[str]] = {source.path: [] for source in sources}
        errors = {source.path: list(source.refused) for source in sources}
        for source, record in _in_order(sources):
            if key_of(source, record) in keys:
                continue
            test = identity_of(record)
            try:
                if test in tests:
                    reason = f"the same test as in {printable(tests[test])}, which counts once"
                    where = f"{source.path}: line {record.line}"
                    raise BadInput(reason, where=where, code="E-IMPORT-170")
                given = facts
                known = (one.client_sends for one in source.records)
                first_way = next((way for way in known if way is not None), None)
                if record.client_sends in (None, first_way):
                    _check_way(record, source, ways)
                else:  # such as the second run of iperf 2's -r
                    given = facts.turned
                rows.append(row_of(record, source, given, round_of, groups))
            except BadInput as error:
                errors[source.path].append(error)
                continue
            if test:
                tests[test] = f"{source.path}: line {record.line}"
            ids[source.path].append(rows[-1]["run_id"])
            intervals += interval_rows_of(ids[source.path][-1], record)
        for source in sources:
            old = any(key_of(source, record) in keys for record in source.records)
            new, refused = tuple(ids[source.path]), tuple(errors[source.path])
            done(Outcome(source.path, source.kind, new, refused, source.sha256, old))
        block_id = None
        if rows:
            names = "".join(sorted(row["provenance_key"] for row in rows))
            block_id = f"imported@{hashlib.sha256(names.encode()).hexdigest()[:16]}"
            for at, row in enumerate(rows, start=order):
                row |= {"block_id": block_id, "order": at}
            runs = frame_of(rows)
            new = runs.assign(campaign=None)
            check(pd.concat([before, new], ignore_index=True) if len(before) else new)
            store.write(block_id, runs, intervals=frame_of(intervals, INTERVAL_COLUMNS))
    return Imported(block_id, tuple(outcomes.values()))


def _tests(runs: pd.DataFrame) -> dict[str | None, str]:
    """Files of the imported tests of runs by their identity."""
    texts = runs["provenance"][runs["run_id"].str.startswith(IMPORTED)]
    imported = (parse_json(text, "provenance")["imported"] for text in texts)
    return {one["test"]: f"{one['file']}: line {one['line']}" for one in imported if "test" in one}


def _in_order(sources: Iterable[ReadFile]) -> list[tuple[ReadFile, Record]]:
    """All records as they are in the files, then those of tests that another has more of."""
    each = [(source, record) for source in sources for record in source.records]
    best: dict[str, Record] = {}
    for _, record in each:
        if test := identity_of(record):
            best[test] = min(best.get(test, record), record, key=completeness_of)

    def second(one: tuple[ReadFile, Record]) -> bool:
        test = identity_of(one[1])
        return test is not None and best[test] is not one[1]

    return sorted(each, key=second)


def _check_way(record: Record, source: ReadFile, ways: dict[bool, Path]) -> None:
    """Check that a file has the sender of those before it: --sender is that of its first run."""
    if record.client_sends is None:
        return
    if other := ways.get(not record.client_sends):
        remedy = "import the two separately, with --sender and --receiver swapped"
        reason = f"the direction of the data differs from {printable(str(other))}; {remedy}"
        raise BadInput(reason, where=f"{source.path}: line {record.line}", code="E-IMPORT-002")
    ways[record.client_sends] = source.path


def _rounds(run_ids: Iterable[str]) -> dict[str, int]:
    rounds: dict[str, int] = {}
    for run_id in run_ids:
        if run_id.startswith("imported@"):
            cell, _, number = run_id.removeprefix("imported@").rpartition("@")
            rounds[cell] = max(rounds.get(cell, 0), int(number))
    return rounds


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lock the results directory against another import or a campaign.

    Directories made for it go again where nothing is stored.
    """
    made = [place for place in (directory, *directory.parents) if not place.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open_regular(directory / ".lock", "a+b")
    except OSError as error:
        reason = f"cannot write {directory}: {error.strerror}"
        raise NetlabError(reason, code="E-IMPORT-003") from None
    with lock:
        if (holder := take(lock.fileno())) is not None:
            reason = f"another netlab is writing into {directory}: {holder}"
            raise NetlabError(reason, code="E-IMPORT-004")
        try:
            yield
        finally:
            if made and [entry.name for entry in directory.iterdir()] == [".lock"]:
                (directory / ".lock").unlink()
                with suppress(OSError):  # another program's file is in it by now
                    for place in made:
                        place.rmdir()
