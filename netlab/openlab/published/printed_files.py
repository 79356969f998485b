"""Published files: the printed text, its description, its digest."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.errors import BadInput, check
from netlab.files.bounded_json import read_json
from netlab.files.paths import data_dir
from netlab.files.reading import read_bytes


def names() -> list[str]:
    """Names of all published data sets, sorted."""
    return sorted(path.stem for path in _directory().glob("*.json"))


def describe(name: str) -> dict[str, Any]:
    """Content and origin of a data set, with the path of its ``file``; see its JSON."""
    text = f"no such published data set; there are {', '.join(names())}"
    check(name in names(), "", name, text, "E-PUBLISHED-017")
    content = read_json(_directory() / f"{name}.json")
    return content | {"file": _directory() / content["file"]}


def read_raw(name: str) -> pd.DataFrame:
    """Read the CSV file of a data set, every cell as the printed text."""
    about = describe(name)
    file, where = about["file"], str(about["file"])
    try:
        content = read_bytes(file)
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise BadInput(text, where=where, code="E-PUBLISHED-018") from error
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        text = f"differs from what {name}.json describes; published values are never edited"
        raise BadInput(text, where=where, code="E-PUBLISHED-019")
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def numbers(raw: pd.DataFrame) -> pd.DataFrame:
    """The data with every column of numbers as numbers, missing where nothing was printed."""
    read = {}
    for name in raw:
        texts = raw[name].str.strip()
        values = pd.to_numeric(texts.where(texts != ""), errors="coerce")
        numeric = bool(texts.ne("").any()) and bool(values[texts != ""].notna().all())
        read[name] = values.convert_dtypes() if numeric else raw[name]
    return pd.DataFrame(read)


def _directory() -> Path:
    path = data_dir() / "published"
    if not path.is_dir():
        raise BadInput("has no published/ directory", where=str(data_dir()), code="E-PUBLISHED-020")
    return path
