"""Endings of files that a search writes."""

from __future__ import annotations

from pathlib import Path

from netlab.errors import check

CHARTS, YAML = (".svg", ".png"), (".yml", ".yaml")


def check_ending(key: str, file: Path | None, endings: tuple[str, ...], *, code: str) -> None:
    fine = file is None or file.suffix.lower() in endings
    check(fine, key, str(file), f"must end in {' or '.join(endings)}", code)
