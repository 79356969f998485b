"""Published files: the printed text, its description, its digest."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.errors import BadInput
from netlab.files.paths import data_dir


@dataclass(frozen=True)
class PublishedColumn:
    """One column: name, unit (empty for none) and content."""

    name: str
    unit: str
    description: str


@dataclass(frozen=True)
class Source:
    """Document and place in which a data set was printed."""

    document: str
    title: str
    author: str
    publisher: str
    date: str
    sections: tuple[str, ...]
    tables: tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """Content and origin of a published data set."""

    name: str
    title: str
    file: Path
    sha256: str
    raw_rows: int
    sources: tuple[Source, ...]
    columns: tuple[PublishedColumn, ...]
    tidy_columns: tuple[PublishedColumn, ...]
    notes: tuple[str, ...]


def names() -> list[str]:
    """Names of all published data sets, sorted."""
    return sorted(path.stem for path in _directory().glob("*.json"))


def describe(name: str) -> Description:
    """The description of a data set."""
    known = names()
    if name not in known:
        raise BadInput(
            f"no such published data set; there are {', '.join(known)}",
            value=name,
            code="E-PUBLISHED-017",
        )
    found: dict[str, Any] = json.loads((_directory() / f"{name}.json").read_text("utf-8"))
    return Description(
        name=found["name"],
        title=found["title"],
        file=_directory() / found["file"],
        sha256=found["sha256"],
        raw_rows=found["raw_rows"],
        sources=tuple(Source(**_with_tuples(source)) for source in found["sources"]),
        columns=tuple(PublishedColumn(**column) for column in found["columns"]),
        tidy_columns=tuple(PublishedColumn(**column) for column in found["tidy_columns"]),
        notes=tuple(found["notes"]),
    )


def read_raw(name: str) -> pd.DataFrame:
    """Read the CSV file of a data set, every cell as the printed text."""
    about = describe(name)
    try:
        content = about.file.read_bytes()
    except OSError as error:
        raise BadInput(
            f"cannot be read: {error.strerror}", where=str(about.file), code="E-PUBLISHED-018"
        ) from error
    if hashlib.sha256(content).hexdigest() != about.sha256:
        raise BadInput(
            f"differs from what {name}.json describes; published values are never edited",
            where=str(about.file),
            code="E-PUBLISHED-019",
        )
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def as_printed(raw: pd.DataFrame) -> pd.DataFrame:
    """The data unchanged: settings stay text."""
    return raw


def numbers(raw: pd.DataFrame) -> pd.DataFrame:
    """The data with every column of numbers as numbers, missing where nothing was printed."""
    found = {}
    for name in raw:
        texts = raw[name].str.strip()
        values = pd.to_numeric(texts.where(texts != ""), errors="coerce")
        numeric = bool(texts.ne("").any()) and bool(values[texts != ""].notna().all())
        found[name] = values.convert_dtypes() if numeric else raw[name]
    return pd.DataFrame(found)


def _directory() -> Path:
    path = data_dir() / "published"
    if not path.is_dir():
        raise BadInput("has no published/ directory", where=str(data_dir()), code="E-PUBLISHED-020")
    return path


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
