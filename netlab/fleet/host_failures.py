"""Consecutive failures of a host in this pass: a byte each, in a file that only its jobs change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from netlab.files.reading import open_regular

HOSTS = "hosts"


def failures(folder: Path, host: str) -> int:
    try:
        return (folder / HOSTS / host).stat().st_size
    except FileNotFoundError:
        return 0


def note_failure(folder: Path, host: str) -> None:
    (folder / HOSTS).mkdir(exist_ok=True)
    with open_regular(folder / HOSTS / host, "ab") as file:
        file.write(b"x")


def clear_failures(folder: Path, hosts: Iterable[str]) -> None:
    for host in hosts:
        (folder / HOSTS / host).unlink(missing_ok=True)
