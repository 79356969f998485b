"""The reader of a survey of a host, as tests/any_input.py takes it."""

from __future__ import annotations

from pathlib import Path

from netlab.survey import probe

SURVEY = Path(__file__).parent / "recorded" / "virtual-machine.txt"
"""Texts of ip, ethtool, tc and others."""


def read_survey(file: Path) -> None:
    for interface in probe.parse("there", file.read_text("utf-8", "replace")).interfaces:
        interface.text()


READERS = {"survey": (read_survey, SURVEY.read_bytes)}
